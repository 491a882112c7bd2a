//! `joulio bench --scheduler` on a loop device in memory: every scheduler has its run, and the device gets its own
//! scheduler back, whatever ended the run. Needs root; without a loop device the tests print this and do nothing.

use crate::common::loop_device::Loop;
use crate::common::{refused, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Starts a long run with `scheduler`, and returns when it is doing I/O.
fn running(disk: &Loop, scheduler: &str) -> Child {
    let mut command = crate::common::program();
    let line = format!(
        "bench --device {} --scheduler {scheduler} --meter none --runtime 600 --output json",
        disk.device
    );
    command
        .args(line.split(' '))
        .env("XDG_STATE_HOME", disk.room.path());
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    wait_for("scheduler that is set", || {
        (disk.scheduler() == scheduler).then_some(())
    });
    child
}

/// Returns a scheduler other than `other`, if the kernel has two.
fn another(offered: &[String], other: &str) -> Option<String> {
    offered.iter().find(|name| *name != other).cloned()
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    kill_process(pid, signal).expect("signalled");
}

#[test]
fn every_scheduler_has_its_runs_and_is_restored() {
    let Some(disk) = Loop::new() else { return };
    let offered = disk.offered();
    let before = disk.scheduler();
    let list = offered.join(",");
    let line = format!(
        "bench --device {} --scheduler {list} --replicates 2 --set nr_requests=48 --number_ios 200 --meter none --output json",
        disk.device
    );
    let output = disk
        .command(&line)
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let report: Value = serde_json::from_slice(&output).expect("JSON");
    let runs = report["runs"].as_array().expect("runs");
    let reported: Vec<_> = runs
        .iter()
        .map(|run| run["settings"]["scheduler"].as_str())
        .collect();
    // Interleaved: all schedulers, and then all of them again.
    let twice: Vec<_> = offered
        .iter()
        .chain(&offered)
        .map(|name| Some(name.as_str()))
        .collect();
    assert_eq!(reported, twice);
    for run in runs {
        assert_eq!(
            (&run["all"]["ios"], &run["all"]["errors"]),
            (&200.into(), &0.into())
        );
        assert_eq!(run["settings"]["nr_requests"], "48");
    }
    let disk_before = &report["manifest"]["machine"]["disks"][0]["scheduler"]["value"];
    assert_eq!(*disk_before, before);
    assert_eq!(disk.scheduler(), before);
}

#[test]
fn what_a_killed_run_has_set_is_restored() {
    let Some(disk) = Loop::new() else { return };
    let before = disk.scheduler();
    let Some(other) = another(&disk.offered(), &before) else {
        return;
    };
    let mut child = running(&disk, &other);
    signal(&child, Signal::KILL);
    child.wait().expect("gone");
    assert_eq!(disk.scheduler(), other);
    let reported = disk.command("restore").assert().success();
    let reported = String::from_utf8(reported.get_output().stdout.clone()).expect("UTF-8");
    assert!(reported.contains("scheduler"), "{reported}");
    assert_eq!(disk.scheduler(), before);
    // There is nothing left to restore.
    disk.set(&other);
    disk.command("restore").assert().success();
    assert_eq!(disk.scheduler(), other);
}

#[test]
fn the_next_run_restores_what_a_killed_one_has_left() {
    let Some(disk) = Loop::new() else { return };
    let before = disk.scheduler();
    let Some(other) = another(&disk.offered(), &before) else {
        return;
    };
    let mut child = running(&disk, &other);
    signal(&child, Signal::KILL);
    child.wait().expect("gone");
    let line = format!(
        "bench --device {} --scheduler {other} --number_ios 50 --meter none",
        disk.device
    );
    disk.command(&line).assert().success();
    assert_eq!(disk.scheduler(), before);
}

#[test]
fn an_interrupted_run_restores_what_it_has_set() {
    let Some(disk) = Loop::new() else { return };
    let before = disk.scheduler();
    let Some(other) = another(&disk.offered(), &before) else {
        return;
    };
    let mut child = running(&disk, &other);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    assert_eq!(disk.scheduler(), before);
}

#[test]
fn a_setting_that_cannot_be_is_refused_before_anything_is_changed() {
    let Some(disk) = Loop::new() else { return };
    let before = disk.scheduler();
    let device = &disk.device;
    for (line, want) in [
        (format!("--device {device} --scheduler nope"), "it can be"),
        (format!("--device {device} --scheduler none,nope"), "nope"),
        (
            format!("--device {device} --set nr_requests=many"),
            "nr_requests",
        ),
        (
            format!("--device {device} --set nothing=1"),
            "no setting nothing",
        ),
        (format!("--device {device} --set nr_requests"), "NAME=VALUE"),
        ("--scheduler none".into(), "name a block device"),
        (format!("--device {device} --replicates 0"), "--replicates"),
    ] {
        let said = refused(disk.room.path(), &format!("bench --number_ios 50 {line}"));
        assert!(said.contains(want), "{line}: {said}");
        assert_eq!(disk.scheduler(), before);
    }
}

#[test]
fn devices_in_use_and_read_only_ones_are_not_written_to() {
    let write = "--rw randwrite --allow-write --number_ios 50";
    if let Some(disk) = Loop::with(8 << 20, &["--read-only"]) {
        let line = format!("bench --device {} {write}", disk.device);
        let said = refused(disk.room.path(), &line);
        assert!(said.contains("read-only"), "{said}");
    }
    let Some(disk) = Loop::new() else { return };
    let made = Command::new("mkfs.ext4")
        .args(["-q", &disk.device])
        .status();
    let mounted = disk.room.path().join("mounted");
    fs::create_dir(&mounted).expect("made");
    let mount = || {
        Command::new("mount")
            .arg(&disk.device)
            .arg(&mounted)
            .status()
    };
    if !made.is_ok_and(|made| made.success()) || !mount().is_ok_and(|made| made.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    // Outside of the room, because `refused` inspects its folder and there is a mount in the room.
    let room = TempDir::new().expect("a temporary directory");
    let said = refused(
        room.path(),
        &format!("bench --device {} {write}", disk.device),
    );
    let unmounted = Command::new("umount").arg(&mounted).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert!(said.contains("in use"), "{said}");
}

#[test]
fn what_is_advised_is_applied_and_stays_until_it_is_restored() {
    let Some(disk) = Loop::new() else { return };
    let before = disk.scheduler();
    let Some(other) = another(&disk.offered(), &before) else {
        return;
    };
    let line = format!(
        "advise --device {} --engine psync --completion interrupt --scheduler {other} --number_ios 200 --runtime 5 --replicates 2 --meter none",
        disk.device
    );
    let text = |line: &str| {
        let output = disk.command(line).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8")
    };
    assert!(!text(&line).contains("Applied"));
    assert_eq!(disk.scheduler(), before);
    let applied = text(&format!("{line} --apply"));
    assert_eq!(disk.scheduler(), other);
    for what in ["joulio restore restores the old values", "udev", &*other] {
        assert!(applied.contains(what), "{applied}");
    }
    assert!(text("restore").contains(&before));
    assert_eq!(disk.scheduler(), before);
    // For a program, standard output is one document.
    let document = text(&format!("{line} --apply --output json"));
    assert!(
        serde_json::from_str::<serde_json::Value>(&document).is_ok(),
        "{document}"
    );
    assert_eq!(disk.scheduler(), other);
    text("restore");
}

#[test]
fn a_setting_that_another_holds_fails_the_runs_of_a_lab_that_need_it_and_no_others() {
    let Some(disk) = Loop::new() else { return };
    let (offered, before) = (disk.offered(), disk.scheduler());
    let Some(held) = another(&offered, &before) else {
        return;
    };
    let text = format!(
        "name = \"two\"\ntitle = \"Two\"\n[run]\nnumber_ios = 100\nramp_time = \"0\"\nmeter = \"none\"\n\
         [[sweep]]\nname = \"with\"\nrw = \"randread\"\nengine = \"io_uring\"\ncompletion = \"interrupt\"\n\
         scheduler = \"{before}\"\n\
         [[sweep]]\nname = \"without\"\nrw = \"randread\"\nengine = \"io_uring\"\ncompletion = \"interrupt\"\n"
    );
    let room = TempDir::new().unwrap();
    let file = room.path().join("two.toml");
    fs::write(&file, text).unwrap();
    let out = room.path().join("out");
    let line = format!(
        "lab run {} --device {} --results {}",
        file.display(),
        disk.device,
        out.display()
    );
    let mut other = running(&disk, &held);
    let assert = disk.command(&line).assert().code(1);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    signal(&other, Signal::TERM);
    let _ = other.wait();
    assert!(
        said.contains("1 run(s) failed") && said.contains("has changed it and will restore it"),
        "{said}"
    );
    let sweeps = || {
        let text = fs::read_to_string(out.join("records.jsonl")).unwrap();
        let records = text.lines().skip(1).map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            (
                record["sweep"].to_string(),
                record["result"]["all"]["ios"].as_u64(),
            )
        });
        records.filter(|(_, ios)| *ios == Some(100)).count()
    };
    assert_eq!(sweeps(), 1);
    // The command succeeds once the other one has ended.
    crate::common::lab_ran(&mut disk.command(&line));
    assert_eq!(sweeps(), 2);
    assert_eq!(disk.scheduler(), before);
}
