//! Runs that the machine or other programs disturbed are marked as spoiled.

use crate::common::busy::Busy;
use crate::common::machine::file;
use crate::common::running::{blocked, ran, threads, wait_for_work};
use crate::common::server::Server;
use crate::common::{begin, ended, interrupt, joulio, refused, thorough, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Output};
use std::time::Duration;

fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"))
}

/// Returns the names of what spoiled run `at`.
fn spoiled(report: &Value, at: usize) -> Vec<&str> {
    let all = report["runs"][at]["spoiled"].as_array().expect("a list");
    let by = all.iter().map(|one| one["by"].as_str().expect("a name"));
    by.collect()
}

fn why<'a>(report: &'a Value, by: &str) -> &'a str {
    let all = report["runs"][0]["spoiled"].as_array().expect("a list");
    let one = all.iter().find(|one| one["by"] == by).expect(by);
    one["why"].as_str().expect("a sentence")
}

#[test]
fn an_emulated_device_keeps_off_the_cpu_of_a_pinned_job() {
    let cpus = |status: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.expect("a list").trim().to_owned()
    };
    let own = cpus(&fs::read_to_string("/proc/self/status").unwrap());
    let (first, _) = own.split_once(['-', ',']).unwrap_or((&own, ""));
    let line = format!("bench --cpus_allowed {first} --runtime 600 --meter none");
    let child = begin(&line);
    wait_for_work(child.id());
    let list = |name: &str| {
        let folder = threads(child.id(), name).remove(0);
        cpus(&fs::read_to_string(folder.join("status")).unwrap())
    };
    let (job, device) = (list("joulio-job"), list("joulio-device"));
    interrupt(&child);
    ended(child);
    assert_eq!(job, first);
    match own == first {
        true => assert_eq!(device, own, "there is no other"),
        false => {
            let (begin, _) = device.split_once(['-', ',']).unwrap_or((&device, ""));
            assert_ne!(begin, first, "{device}");
        }
    }
}

#[test]
fn a_poller_that_shares_its_cpu_says_so_and_strictly_fails() {
    if !thorough() {
        return;
    }
    let busy = Busy::on_the_last_cpu(3);
    let line = format!(
        "bench --completion poll --runtime 1 --ramp_time 0 --cpus_allowed {} --strict",
        busy.cpu()
    );
    let output = joulio(&format!("{line} --output json")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("1 of 1 run(s) spoiled") && said.contains("poll!"),
        "{said}"
    );
    let reported = report(&output);
    assert!(spoiled(&reported, 0).contains(&"preempted"), "{reported:#}");
    let first = &reported["runs"][0]["spoiled"][0];
    // Three other threads use the CPU as well: with any scheduler they get more than half of it.
    let share = first["share"].as_f64().expect("a share");
    assert!((0.3..=1.0).contains(&share), "{first:#}");
    assert!(
        why(&reported, "preempted").contains("--cpus_allowed"),
        "{reported:#}"
    );
    // The table marks the row, and names the disturbance with its share; without --strict the command succeeds.
    let line = line.replace(" --strict", "");
    let table = joulio(&line).assert().success().get_output().stdout.clone();
    let table = String::from_utf8(table).expect("UTF-8");
    assert!(table.contains("\n poll!  "), "{table}");
    assert!(
        table.contains("\npoll: spoiled: its thread was ready to run"),
        "{table}"
    );
    assert!(table.contains("\n!: spoiled:"), "{table}");
}

#[test]
fn a_job_that_is_a_process_says_so_too() {
    if !thorough() {
        return;
    }
    let busy = Busy::on_the_last_cpu(3);
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("data"), vec![1; 1 << 20]).unwrap();
    // A job that sleeps gets its CPU as soon as it wakes, unless others have a higher priority.
    let program = assert_cmd::cargo::cargo_bin!("joulio");
    let line = format!(
        "bench --device ./data --process --engine psync --completion interrupt --bs 4k --runtime 1 \
         --ramp_time 0 --cpus_allowed {} --output json",
        busy.cpu()
    );
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(program);
    command.args(line.split_whitespace()).current_dir(&room);
    let reported = report(&command.output().unwrap());
    assert!(spoiled(&reported, 0).contains(&"preempted"), "{reported:#}");
}

/// Waits until the job has used its CPU; without a ramp that is in the measured part.
fn running(process: u32) {
    let works = || ran(process) > Duration::from_millis(30);
    wait_for("job that has run", || works().then_some(()));
}

/// Waits until the job has done some of its I/Os, which arrive at intervals and need little CPU time.
fn waiting(process: u32) {
    wait_for("job that has waited", || {
        (blocked(process) > 100).then_some(())
    });
}

/// Ends a run that is longer than the test, and returns its output.
fn cut_short(child: Child) -> Output {
    interrupt(&child);
    let output = ended(child);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    output
}

/// Waits until the process is in the given state (proc_pid_stat(5)).
fn in_state(process: u32, state: &str) {
    let stat = format!("/proc/{process}/stat");
    wait_for("process in that state", || {
        let stat = fs::read_to_string(&stat).expect("it runs");
        stat.contains(&format!(") {state} ")).then_some(())
    });
}

fn stop_and_continue(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a process");
    kill_process(pid, Signal::STOP).expect("sent");
    in_state(process, "T");
    kill_process(pid, Signal::CONT).expect("sent");
}

/// Returns the process that `child` starts, as soon as it exists.
fn started_by(child: &Child) -> u32 {
    let tasks = format!("/proc/{}/task", child.id());
    wait_for("process of a job", || {
        let mut tasks = fs::read_dir(&tasks).expect("it runs").flatten();
        tasks.find_map(|task| {
            let children = fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            let process = children.split_whitespace().next()?;
            Some(process.parse().expect("a number"))
        })
    })
}

#[test]
fn a_jobs_process_that_was_stopped_alone_says_so() {
    let room = tempfile::tempdir().unwrap();
    let data = room.path().join("data");
    fs::write(&data, vec![1; 1 << 20]).unwrap();
    let child = begin(&format!(
        "bench --device {} --process --engine psync --completion interrupt --rate_iops 1000 \
         --number_ios 3000 --ramp_time 0 --output json",
        data.display()
    ));
    let job = started_by(&child);
    // Signalling a stopped process to end also continues it, so it ends by itself here.
    waiting(job);
    stop_and_continue(job);
    let reported = report(&ended(child));
    assert!(spoiled(&reported, 0).contains(&"stopped"), "{reported:#}");
}

#[test]
fn a_run_that_was_stopped_and_continued_says_so() {
    let child = begin(
        "bench --completion interrupt --rate_iops 1000 --number_ios 3000 --ramp_time 0 --output json",
    );
    waiting(child.id());
    stop_and_continue(child.id());
    // An interrupt could overtake the signal to continue, so it ends by itself here.
    let reported = report(&ended(child));
    assert!(spoiled(&reported, 0).contains(&"stopped"), "{reported:#}");
    assert!(
        why(&reported, "stopped").contains("SIGSTOP"),
        "{reported:#}"
    );
}

#[test]
fn throttling_and_steal_time_in_a_run_spoil_it() {
    let tree = crate::common::machine::server();
    let count = "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";
    let stat = |steal| format!("cpu  1 1 1 1\ncpu0 100 0 100 100 0 0 0 {steal} 0 0\n");
    file(&tree, count, "7\n");
    file(&tree, "proc/stat", &stat(3));
    let line = format!(
        "bench --root {} --meter none --completion poll --runtime 600 --ramp_time 0 --output json",
        tree.path().display()
    );
    let child = begin(&line);
    running(child.id());
    file(&tree, count, "8\n");
    file(&tree, "proc/stat", &stat(103));
    let reported = report(&cut_short(child));
    let by = spoiled(&reported, 0);
    assert!(
        by.contains(&"throttled") && by.contains(&"stolen"),
        "{reported:#}"
    );
    assert!(why(&reported, "stolen").contains("CPU 0"), "{reported:#}");
    assert_eq!(reported["manifest"]["throttled"], "yes");
}

#[test]
fn what_a_reset_took_from_the_device_spoils_the_run() {
    // A reset ends the measurement of the device's meter, and it is not restarted during a run.
    let line = "bench --device vfio-user:s --meter nvme:vfio-user:s --completion poll \
                --number_ios 2000 --ramp_time 0 --output json";
    for (faults, lost) in [("", false), ("cfs@#1000", true)] {
        let room = tempfile::tempdir().unwrap();
        let server = Server::start(room.path(), "s", "16m", &["--faults", faults]);
        assert!(server.said.starts_with("serving"), "{}", server.said);
        let output = joulio(line).current_dir(&room).output().unwrap();
        let found = report(&output);
        assert_eq!(
            spoiled(&found, 0).contains(&"settings-lost"),
            lost,
            "{found:#}"
        );
        if lost {
            let why = why(&found, "settings-lost");
            assert!(why.contains("ended by a reset"), "{why}");
            assert_eq!(found["runs"][0]["faults"]["resets"], 1, "{found:#}");
        }
    }
}

#[test]
fn a_learner_without_its_ramp_says_that_it_had_not_learnt() {
    let line = "bench --completion hybrid,poll --number_ios 5 --ramp_time 0 --output json";
    let reported = report(&joulio(line).output().unwrap());
    assert!(
        spoiled(&reported, 0).contains(&"not-learnt"),
        "{reported:#}"
    );
    assert!(
        why(&reported, "not-learnt").contains("--ramp_time"),
        "{reported:#}"
    );
    assert!(
        !spoiled(&reported, 1).contains(&"not-learnt"),
        "{reported:#}"
    );
}

#[test]
fn a_learner_has_its_ramp_where_none_was_requested() {
    // In virtual time, no other program delays its I/Os.
    let line = "bench --twin --completion hybrid,ehp --number_ios 300 --output json";
    let reported = report(&joulio(line).output().unwrap());
    for at in 0..2 {
        let run = &reported["runs"][at];
        let waits = [&run["wait"]["sleeps"], &run["wait"]["blocks"]];
        let waits = waits.map(|count| count.as_u64().expect("a count"));
        assert_eq!(waits[0] + waits[1], 300, "{run:#}");
        assert!(spoiled(&reported, at).is_empty());
    }
}

#[test]
fn a_trace_of_a_learner_without_its_ramp_says_so() {
    let output = joulio("trace --completion hybrid --number_ios 5 --ramp_time 0")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // If the job has no CPU for as long as it has to learn, it learns only before the last I/Os.
    let learnt = ["spoiled: it had not learnt", "spoiled: it learnt how long"];
    assert!(learnt.iter().any(|why| said.contains(why)), "{said}");
}

#[test]
fn nothing_spoils_a_run_in_virtual_time() {
    let room = tempfile::tempdir().unwrap();
    let said = refused(room.path(), "bench --twin --strict --number_ios 10");
    assert!(said.contains("--strict with --twin"), "{said}");
}

/// Returns the names of the files that a run of `ios` I/Os opens, with the number of times; numbers of threads and
/// processes are replaced by `N`.
fn opened_by_a_run_of(ios: u32) -> BTreeMap<String, usize> {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let bench = format!(
        "bench --device emulated:instant,size=16M --completion poll,interrupt --number_ios {ios} \
         --ramp_time 0 --meter none"
    );
    let output = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=openat,open", "-o"])
        .arg(&trace)
        .arg(joulio("").get_program())
        .args(bench.split_whitespace())
        .output()
        .expect("strace, which says what is opened: install it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = fs::read_to_string(trace).expect("a trace");
    let mut opened = BTreeMap::new();
    for line in text.lines() {
        let Some((_, path)) = line.split_once('"') else {
            continue;
        };
        let path = path.split('"').next().expect("a path");
        // The C library opens this file when it frees a thread's heap: once, at any time.
        if path == "/proc/sys/vm/overcommit_memory" {
            continue;
        }
        let anyones = path.split('/').map(|part| match part.parse::<u32>() {
            Ok(_) => "N",
            Err(_) => part,
        });
        *opened
            .entry(anyones.collect::<Vec<_>>().join("/"))
            .or_default() += 1;
    }
    opened
}

#[test]
fn what_a_run_is_judged_by_is_not_read_while_ios_are_measured() {
    let few = opened_by_a_run_of(200);
    let of_threads = few
        .keys()
        .filter(|path| path.starts_with("/proc/self/task/N/"));
    assert!(of_threads.count() > 0, "{few:#?}");
    assert_eq!(few, opened_by_a_run_of(20_000));
}
