//! Jobs as processes, and jobs with different block sizes.

use crate::common::{begin, ended, failed, joulio, refused, runs, wait_for};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Returns a folder on a disk with a file of 16 MiB that contains data.
fn room_with_file() -> (TempDir, String) {
    let room = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let path = room.path().join("disk.img");
    let mut file = File::create(&path).expect("created");
    file.write_all(&vec![0x5a; 16 << 20]).expect("written");
    file.sync_all().expect("synced");
    let name = path.display().to_string();
    (room, name)
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

/// Returns the processes of jobs that `parent` has started.
fn tenants_of(parent: u32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        // PID (NAME) STATE PARENT
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let named = stat.contains("(joulio-job-");
        let fields = stat.rsplit(')').next().unwrap_or_default();
        named && fields.split_whitespace().nth(1) == Some(parent.to_string().as_str())
    })
    .collect()
}

/// Waits until `child` has `count` processes that do I/O, and returns them.
fn working(child: &Child, count: usize) -> Vec<i32> {
    let tenants = wait_for("processes", || {
        let tenants = tenants_of(child.id());
        (tenants.len() == count).then_some(tenants)
    });
    // The kernel's I/O counters show that they read.
    wait_for("I/O of each", || {
        let read = |pid: &i32| {
            let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
            let calls = io
                .lines()
                .find_map(|line| line.strip_prefix("read_bytes: "));
            calls.and_then(|n| n.parse().ok()).unwrap_or(0_u64)
        };
        tenants
            .iter()
            .all(|pid| read(pid) > 100 * 4096)
            .then_some(())
    });
    tenants
}

/// Waits until none of these processes exists; a zombie that another process has to reap counts as gone.
fn gone(tenants: &[i32]) {
    wait_for("end of the processes", || {
        let left = |pid: &&i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains("(joulio-job-") && !stat.contains(") Z ")
        };
        tenants.iter().find(left).is_none().then_some(())
    });
}

fn signal(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a process");
    kill_process(pid, signal).expect("sent");
}

#[test]
fn processes_write_and_read_back_what_they_wrote() {
    let (_room, file) = room_with_file();
    let runs = runs(&format!(
        "--meter none --device {file} --engine psync,libaio,io_uring --process --numjobs 4 \
         --bs 4k:8k --rw randrw --verify crc32c --number_ios 100 --allow-write"
    ));
    assert_eq!(runs.len(), 3);
    for run in &runs {
        assert_eq!(run["job_kind"], "process");
        assert_eq!(run["bs"], serde_json::json!([4096, 8192]));
        assert_eq!(run["completion"]["effective"], "interrupt", "{run:#}");
        assert_eq!(run["all"]["ios"], 400);
        assert_eq!(run["all"]["errors"], 0);
        assert_eq!(run["verify"]["errors"], 0, "{run:#}");
        assert!(count(&run["verify"]["blocks"]) >= 400);
        // System calls and CPU time of each process.
        assert!(count(&run["system_calls"]) >= 400);
        let submitter = &run["threads"]["submitter"];
        assert_eq!(submitter["threads"], 4);
        let cpu = |mode: &str| submitter[mode].as_f64().expect("seconds");
        assert!(cpu("user_seconds") + cpu("system_seconds") > 0.0);
        assert!(run["all"]["latency_ns"]["p50"].as_u64() > Some(0));
    }
}

#[test]
fn processes_do_the_same_ios_as_threads() {
    let (_room, file) = room_with_file();
    let line = format!(
        "--meter none --device {file} --numjobs 3 --bs 4k:16k:512 --rw randrw --rwmixread 70 \
         --number_ios 200 --allow-write --seed 9"
    );
    let threads = &runs(&line)[0];
    let processes = &runs(&format!("{line} --process"))[0];
    assert_eq!(threads["job_kind"], "thread");
    for side in ["read", "write"] {
        assert!(count(&threads[side]["ios"]) > 0);
        assert_eq!(threads[side]["ios"], processes[side]["ios"], "{side}");
    }
}

#[test]
fn each_process_has_a_thread_of_the_kernels() {
    let (_room, file) = room_with_file();
    let runs = runs(&format!(
        "--meter none --device {file} --process --numjobs 2 --completion sqpoll --number_ios 50"
    ));
    assert_eq!(
        runs[0]["completion"]["effective"], "sqpoll",
        "{:#}",
        runs[0]
    );
    assert_eq!(runs[0]["threads"]["kernel"]["threads"], 2);
}

#[test]
fn what_processes_cannot_obtain_says_why() {
    let (room, file) = room_with_file();
    let said = failed(
        room.path(),
        &format!(
            "bench --device {file} --meter none --engine libaio --completion sqpoll --process \
             --numjobs 3 --number_ios 50 --output json"
        ),
        1,
    );
    assert!(said.contains("no completion mode"), "{said}");
}

#[test]
fn a_killed_process_ends_the_others_with_an_error_of_one_line() {
    let (_room, file) = room_with_file();
    let child = begin(&format!(
        "bench --meter none --device {file} --process --numjobs 4 --runtime 600 --ramp_time 0 --output json"
    ));
    let tenants = working(&child, 4);
    signal(tenants[1], Signal::KILL);
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(&tenants[1].to_string()), "{said}");
    assert!(said.contains("signal: 9"), "{said}");
    assert!(output.stdout.is_empty());
    gone(&tenants);
}

#[test]
fn processes_end_with_the_one_that_started_them() {
    let (_room, file) = room_with_file();
    let child = begin(&format!(
        "bench --meter none --device {file} --process --numjobs 3 --runtime 600"
    ));
    let tenants = working(&child, 3);
    signal(child.id() as i32, Signal::KILL);
    assert!(!ended(child).status.success());
    gone(&tenants);
}

#[test]
fn ctrl_c_ends_processes_early_with_what_there_is() {
    let (_room, file) = room_with_file();
    let line = format!(
        "bench --meter none --device {file} --process --numjobs 3 --runtime 600 --ramp_time 0 --output json"
    );
    let mut command = crate::common::program();
    command.args(line.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).spawn().expect("it begins");
    let tenants = working(&child, 3);
    kill_process_group(Pid::from_child(&child), Signal::INT).expect("sent");
    // A second signal, to the job processes themselves, changes nothing.
    tenants.iter().for_each(|&pid| signal(pid, Signal::INT));
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert_eq!(
        said,
        "joulio: ended by SIGINT; cut short: io_uring interrupt\n"
    );
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let run = &report["runs"][0];
    assert_eq!(run["interrupted"], true);
    assert!(count(&run["all"]["ios"]) > 0);
    assert_eq!(run["threads"]["submitter"]["threads"], 3);
    gone(&tenants);
}

/// A loop device on a file, detached when it is dropped.
struct Loop(String);

impl Loop {
    /// Creates a loop device; `None` if there is no support, or without root.
    fn on(file: &str) -> Option<Loop> {
        let made = Command::new("losetup")
            .args(["--find", "--show", file])
            .output();
        let made = made.ok().filter(|output| output.status.success())?;
        let name = String::from_utf8(made.stdout).ok()?;
        Some(Loop(name.trim().into()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn processes_share_a_block_device_that_is_theirs_alone() {
    let (_room, file) = room_with_file();
    let Some(device) = Loop::on(&file) else {
        eprintln!("no loop device here: not tested");
        return;
    };
    let runs = runs(&format!(
        "--meter none --device {} --process --numjobs 2 --rw randrw --verify crc32c \
         --number_ios 100 --allow-write",
        device.0
    ));
    assert_eq!(runs[0]["all"]["ios"], 200);
    assert_eq!(runs[0]["all"]["errors"], 0);
    assert_eq!(runs[0]["verify"]["errors"], 0);
}

#[test]
fn reads_and_writes_are_distinguished_in_the_table() {
    let table = |rw: &str| {
        let line = format!("bench --device emulated:instant,size=1M --number_ios 200 --rw {rw}");
        let output = joulio(&line).assert().success().get_output().stdout.clone();
        String::from_utf8(output).expect("UTF-8")
    };
    let mixed = table("randrw");
    for direction in ["read", "write"] {
        for mode in ["poll", "interrupt"] {
            // On a busy machine the row is marked as spoiled.
            let apart = |line: &&str| {
                let mut words = line.split_whitespace();
                let named = words.next().map(|name| name.trim_end_matches('!'));
                (named, words.next()) == (Some(mode), Some(direction))
            };
            assert_eq!(mixed.lines().filter(apart).count(), 1, "{mixed}");
        }
    }
    assert!(!table("randread").contains("mixed"));
}

#[test]
fn bad_tenants_are_refused_and_nothing_is_changed() {
    let (room, file) = room_with_file();
    for (line, want) in [
        ("--device emulated:instant --process".into(), "--process"),
        (
            "--device emulated:instant,file=new.img,size=1M --process".into(),
            "--process",
        ),
        (
            format!("--device {file} --process --numjobs 0"),
            "--numjobs",
        ),
        (
            format!("--device {file} --process --rw randwrite"),
            "--allow-write",
        ),
        (
            format!("--device {file} --process --bs 4k:1000 --numjobs 2"),
            "--bs",
        ),
        (format!("--device {file} --bs 4k:8k"), "raise --numjobs"),
        (format!("--device {file} --bs 4k:0 --numjobs 2"), "--bs"),
        (format!("--device {file} --bs 4k: --numjobs 2"), "--bs"),
        (
            format!("--device {file} --bs 4k:12M --numjobs 2 --size 8M"),
            "hold no block of 12582912 bytes",
        ),
        (
            format!(
                "--device {file} --bs 4k:12M --numjobs 2 --rw randrw --verify crc32c --allow-write"
            ),
            "too few to verify",
        ),
    ] {
        let said = refused(room.path(), &format!("bench {line}"));
        assert!(said.contains(want), "{line}: {said}");
    }
    let said = failed(room.path(), "job-process", 2);
    assert!(said.contains("bench --process"), "{said}");
    let text = String::from_utf8(joulio("--help").output().expect("help").stdout);
    assert!(!text.expect("UTF-8").contains("job-process"));
}
