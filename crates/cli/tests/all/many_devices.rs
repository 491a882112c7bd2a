//! One job on several devices: figures of each device and their sums, and what is refused.

use crate::common::server::Server;
use crate::common::{json, refused, runs, thorough, thorough_or};
use serde_json::Value;
use tempfile::tempdir;

fn count(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("{pointer} is no count in {value:#}"))
}

/// Asserts that each of the `devices` devices of `run` did `ios` I/Os without errors, and that the totals are their
/// sums.
#[track_caller]
fn assert_each(run: &Value, devices: usize, ios: u64) {
    let each = run["per_device"].as_array().expect("devices");
    assert_eq!(each.len(), devices);
    for (device, name) in each.iter().zip(run["devices"].as_array().expect("names")) {
        assert_eq!(device["device"], *name);
        assert_eq!(count(device, "/all/ios"), ios, "{device:#}");
        assert_eq!(
            count(device, "/read/ios") + count(device, "/write/ios"),
            ios
        );
    }
    for side in ["read", "write", "all"] {
        let sum: u64 = each
            .iter()
            .map(|device| count(device, &format!("/{side}/ios")))
            .sum();
        assert_eq!(count(run, &format!("/{side}/ios")), sum);
    }
    assert_eq!(count(run, "/all/errors"), 0);
}

#[track_caller]
fn assert_verified(run: &Value) {
    assert_eq!(count(run, "/verify/errors"), 0, "{}", run["verify"]);
    assert!(count(run, "/verify/blocks") > 0, "{}", run["verify"]);
}

/// Completion modes that every machine supports.
const MODES: &str = "poll,poll-pause=0,interrupt,hybrid,hybrid=4us,uring-hybrid,ehp,pas,dpas,\
                     ski-rental=2us,adaptive";

#[test]
fn one_job_waits_for_seven_devices_by_every_completion_mode() {
    let ios = thorough_or(300, 40);
    let line = format!(
        "--device emulated:instant,size=1M,count=7 --completion {MODES} --number_ios {ios} \
         --ramp_time 0 --iodepth 2 --rw randrw --verify crc32c --meter none"
    );
    let all = runs(&line);
    assert_eq!(all.len(), MODES.split(',').count());
    for run in all {
        assert_each(&run, 7, ios);
        assert_verified(&run);
        let mode = run["completion"]["requested"].as_str().expect("a mode");
        assert_eq!(run["completion"]["effective"], mode);
        match mode {
            "interrupt" => assert!(count(&run, "/wait/interrupts") > 0),
            "adaptive" | "dpas" | "ehp" | "ski-rental=2us" => {}
            _ => assert_eq!(count(&run, "/wait/interrupts"), 0, "{mode}"),
        }
    }
}

#[test]
fn one_job_waits_for_seven_devices_in_virtual_time_too() {
    let modes = MODES.replace("poll-pause=0,", "");
    let line = format!(
        "--twin --machine generic-server --device emulated:optane-p5800x,count=7 --completion \
         {modes},tpause,uintr --number_ios 300 --iodepth 2"
    );
    for run in runs(&line) {
        assert_each(&run, 7, 300);
        assert_eq!(run["modelled"], true);
        assert!(run["useful_cpu_percent"].as_f64().is_some(), "{run:#}");
    }
}

#[test]
fn what_this_machine_lacks_it_lacks_for_several_devices_too() {
    let run = |devices: &str| {
        let line = format!(
            "bench --device emulated:instant,size=1M{devices} --completion tpause,umwait,uintr,poll \
             --number_ios 50 --meter none --output json"
        );
        let report = json(&line);
        let runs = report["runs"].as_array().expect("runs").iter();
        runs.map(|run| run["completion"]["effective"].is_null())
            .collect::<Vec<_>>()
    };
    // User interrupts of several devices cost more than those of one.
    let (one, two) = (run(""), run(",count=2"));
    assert_eq!((one[0], one[1], one[3]), (two[0], two[1], two[3]));
}

#[test]
fn fewer_jobs_than_devices_share_them_out() {
    let line = "--device emulated:instant,size=1M,count=5 --numjobs 2 --completion poll \
                --number_ios 100 --rw randwrite --verify crc32c --meter none";
    for run in runs(line) {
        assert_each(&run, 5, 100);
        assert_verified(&run);
    }
}

#[test]
fn an_open_loop_arrives_at_each_device() {
    let flags = "--completion poll --number_ios 100 --rate_iops 2000 --rate_process poisson --iodepth 4 \
                 --ramp_time 0";
    for run in runs(&format!(
        "--device emulated:instant,size=1M,count=3 --meter none {flags}"
    )) {
        assert_each(&run, 3, 100);
        assert_eq!(run["loop"], "open");
    }
    // A hundred I/Os at that rate take 50 ms on each device, in parallel. A real run takes less if the job's thread
    // begins late.
    for run in runs(&format!("--twin --device optane-900p,count=3 {flags}")) {
        assert_each(&run, 3, 100);
        let iops = run["all"]["iops"].as_f64().expect("a number");
        assert!((3_000.0..9_000.0).contains(&iops), "{iops}");
    }
}

#[test]
fn one_job_waits_for_controllers_of_several_servers() {
    if !thorough() {
        return;
    }
    let room = tempdir().expect("a temporary directory");
    let sockets = ["a", "b", "c"];
    let _servers = sockets.map(|socket| Server::start(room.path(), socket, "2m", &[]));
    let devices = sockets.map(|socket| {
        let path = room.path().join(socket);
        format!("--device vfio-user:{}", path.display())
    });
    let line = format!(
        "{} --completion poll,interrupt,hybrid,adaptive --number_ios 200 --ramp_time 0 --iodepth 4 \
         --rw randrw --size 1m --verify crc32c --allow-write --meter none",
        devices.join(" ")
    );
    for run in runs(&line) {
        assert_each(&run, 3, 200);
        assert_verified(&run);
        assert_eq!(
            run["completion"]["effective"],
            run["completion"]["requested"]
        );
    }
}

#[test]
fn what_one_job_cannot_wait_for_together_is_refused() {
    let room = tempdir().expect("a temporary directory");
    for file in ["disk", "other"] {
        std::fs::write(room.path().join(file), vec![1; 1 << 20]).expect("written");
    }
    let _server = Server::start(room.path(), "s", "2m", &[]);
    for (line, hints) in [
        (
            "--device ./disk --device ./other",
            ["1 job(s) for 2 devices", "--numjobs 2"],
        ),
        (
            "--device emulated:instant,size=1M --device vfio-user:s",
            ["of two kinds", "--numjobs 2"],
        ),
        (
            "--twin --engine psync --device emulated:instant,count=2",
            ["1 job(s) for 2 devices", "--numjobs 2"],
        ),
        ("--device emulated:instant,count=0", ["count=0", "1 to 256"]),
        (
            "--device emulated:instant,count=2,file=new",
            ["count=", "one by one"],
        ),
    ] {
        // The server's socket exists, but no file.
        let said = refused(room.path(), &format!("bench {line}"));
        for hint in hints {
            assert!(said.contains(hint), "{line}: no '{hint}' in: {said}");
        }
    }
}
