//! `joulio knobs` and `joulio restore`: settings are restored, whatever ends the command. On a file tree in a folder,
//! and on a loop device if one can be created.

use crate::common::settings::{Room, ended_by_many, error, full_pipe, out};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::{TempDir, tempdir};

const BOTH: &str = "d --set scheduler=kyber --set nr_requests=64";

#[test]
fn what_is_there_is_shown_and_what_is_not_says_why() {
    let room = Room::new();
    let text = out(&room.knobs("d"));
    assert!(
        text.contains("scheduler         : mq-deadline (none, mq-deadline, kyber)\n"),
        "{text}"
    );
    assert!(
        text.contains("wbt_lat_usec      : not here: its queue has no such file"),
        "{text}"
    );
    assert!(
        text.contains("scaling_governor  : not here: no cpufreq driver"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&out(&room.knobs("d -o json"))).expect("JSON");
    assert_eq!(json[1]["value"], "256");
    assert!(
        json[6]["value"].is_null() && json[6]["reason"].is_string(),
        "{json}"
    );
}

#[test]
fn a_partition_is_taken_for_its_disk() {
    let room = Room::new();
    let partition = room.root().join("sys/block/d/d1");
    fs::create_dir(&partition).expect("made");
    fs::write(partition.join("partition"), "1\n").expect("written");
    let output = room.knobs("d1");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("d1 is a partition") && said.contains("of its disk, d"),
        "{said}"
    );
    let text = out(&output);
    assert!(
        text.contains("scheduler         : mq-deadline (none"),
        "{text}"
    );
}

#[test]
fn what_is_set_is_restored_at_the_end() {
    let room = Room::new();
    let output = room.knobs(&format!("{BOTH} --for 1ms"));
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert!(
        out(&output).contains("scheduler         : kyber"),
        "{}",
        out(&output)
    );
    let values = ["scheduler", "nr_requests"].map(|file| room.value(file));
    assert_eq!(values, ["mq-deadline", "256"]);
    assert_eq!(room.entries(), 0);
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line_and_nothing_is_changed() {
    for (line, says) in [
        (
            "d --set scheduler=kyber --set nr_requests=1 --for 1ms",
            "4 to",
        ),
        (
            "d --set scheduler=kyber --set colour=1 --for 1ms",
            "no setting colour",
        ),
        (
            "d --set scheduler=cfq --for 1ms",
            "none, mq-deadline, kyber",
        ),
        (
            "d --set nomerges=1 --set nomerges=2 --for 1ms",
            "--set nomerges: given twice",
        ),
        ("d --set scheduler=kyber", "--for"),
        ("d --set scheduler --for 1ms", "NAME=VALUE"),
        ("--set scheduler=kyber --for 1ms", "name the disk"),
        (
            "e --set scheduler=kyber --for 1ms",
            "no disk 'e': there are d",
        ),
        (
            "d --set scaling_governor=performance --for 1ms",
            "no cpufreq driver",
        ),
    ] {
        let room = Room::new();
        let output = room.knobs(line);
        let said = error(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(
            said.contains(says) && said.lines().count() == 1,
            "{line}: {said}"
        );
        let values = ["scheduler", "nomerges"].map(|file| room.value(file));
        assert!(
            values[0].contains("mq-deadline") && values[1] == "0",
            "{line}"
        );
        assert_eq!(room.entries(), 0, "{line}");
    }
}

#[test]
fn a_signal_restores_it() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let room = Room::new();
        let holder = room.holding_on_tree(BOTH);
        assert_eq!(
            (room.value("nr_requests").as_str(), room.entries()),
            ("64", 2)
        );
        assert_eq!(holder.end(signal), Some(0));
        let values = ["scheduler", "nr_requests"].map(|file| room.value(file));
        assert_eq!(values, ["mq-deadline", "256"]);
        assert_eq!(room.entries(), 0);
    }
}

#[test]
fn a_second_signal_restores_it_when_the_command_hangs() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let room = Room::new();
        // The output has no reader, and the pipe is full.
        let (reader, writer) = full_pipe();
        let line = format!("knobs {BOTH} --for 10m --root {}", room.root().display());
        let child = room.begin_into(&line, writer.into());
        crate::common::wait_for("setting", || {
            (room.value("nr_requests") == "64").then_some(())
        });
        let (status, said) = ended_by_many(child, signal);
        drop(reader);
        assert_eq!(status, Some(128 + signal.as_raw()), "{said}");
        let values = ["scheduler", "nr_requests"].map(|file| room.value(file));
        assert_eq!(values, ["mq-deadline", "256"], "{said}");
        assert_eq!(room.entries(), 0, "{said}");
        assert!(
            said.ends_with("joulio: scheduler of d: mq-deadline restored\n"),
            "{said}"
        );
    }
}

#[test]
fn it_is_restored_when_nobody_reads_what_is_printed() {
    for (out, status) in [("closed", 0), ("/dev/full", 1)] {
        let room = Room::new();
        let out = match out {
            "closed" => std::io::pipe().expect("a pipe").1.into(),
            full => fs::OpenOptions::new()
                .write(true)
                .open(full)
                .expect(full)
                .into(),
        };
        let line = format!("knobs {BOTH} --for 10m --root {}", room.root().display());
        let child = room.begin_into(&line, out);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(status), "{}", error(&output));
        let values = ["scheduler", "nr_requests"].map(|file| room.value(file));
        assert_eq!(values, ["mq-deadline", "256"]);
        assert_eq!(room.entries(), 0);
    }
}

#[test]
fn kept_entries_are_a_failure_also_if_nobody_reads_what_is_printed() {
    let room = Room::new();
    let holder = room.holding_on_tree(BOTH);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let child = room.begin_into("restore", writer.into());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", error(&output));
    assert!(
        error(&output).contains("2 of 2 entries kept"),
        "{}",
        error(&output)
    );
    assert_eq!(holder.end(Signal::INT), Some(0));
}

#[test]
fn after_kill_restore_begins_with_the_latest() {
    let room = Room::new();
    assert_eq!(room.holding_on_tree(BOTH).end(Signal::KILL), None);
    assert_eq!(
        (room.value("scheduler").as_str(), room.entries()),
        ("kyber", 2)
    );
    let output = room.ran("restore");
    let said = "nr_requests of d: 256 restored\nscheduler of d: mq-deadline restored\n";
    assert_eq!(
        (out(&output).as_str(), output.status.code()),
        (said, Some(0))
    );
    let values = ["scheduler", "nr_requests"].map(|file| room.value(file));
    assert_eq!(values, ["mq-deadline", "256"]);
    assert_eq!(out(&room.ran("restore")), "nothing to restore\n");
}

#[test]
fn the_next_run_restores_first_what_a_killed_one_has_left() {
    let room = Room::new();
    assert_eq!(room.holding_on_tree(BOTH).end(Signal::KILL), None);
    let output = room.knobs("d --set scheduler=kyber --for 1ms");
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert!(
        error(&output).contains("scheduler of d: mq-deadline restored"),
        "{}",
        error(&output)
    );
    assert_eq!(room.value("scheduler"), "mq-deadline");
    assert_eq!(room.entries(), 0);
}

#[test]
fn two_runs_do_not_set_the_same() {
    let room = Room::new();
    let holder = room.holding_on_tree("d --set scheduler=kyber");
    // The file of the tree lists only this scheduler now: mq-deadline may be a module.
    let output = room.knobs("d --set scheduler=mq-deadline --for 1ms");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error(&output).contains("another joulio"),
        "{}",
        error(&output)
    );
    let output = room.ran("restore");
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("is still running and will restore it; kept"));
    assert_eq!(room.value("scheduler"), "kyber");
    assert_eq!(
        room.knobs("d --set nomerges=2 --for 1ms").status.code(),
        Some(0)
    );
    assert_eq!(holder.end(Signal::INT), Some(0));
    assert_eq!(room.value("scheduler"), "mq-deadline");
}

#[test]
fn a_disk_that_is_gone_is_reported_and_dropped_and_the_rest_is_restored() {
    let room = Room::new();
    let knobs = "d --set scheduler=kyber --set scaling_governor=performance";
    let policy = room.root().join("sys/devices/system/cpu/cpufreq/policy0");
    fs::create_dir_all(&policy).expect("created");
    fs::write(policy.join("scaling_governor"), "powersave").expect("written");
    let offered = policy.join("scaling_available_governors");
    fs::write(offered, "performance powersave").expect("written");
    assert_eq!(room.holding_on_tree(knobs).end(Signal::KILL), None);
    fs::remove_dir_all(room.root().join("sys/block/d")).expect("removed");
    let output = room.ran("restore");
    assert_eq!(output.status.code(), Some(0));
    let said = out(&output);
    assert!(
        said.contains("scheduler of d: /sys/block/d/queue/scheduler: its device was removed"),
        "{said}"
    );
    assert!(
        said.contains("scaling_governor: powersave restored"),
        "{said}"
    );
    let governor = fs::read_to_string(policy.join("scaling_governor")).expect("read");
    assert_eq!((governor.trim(), room.entries()), ("powersave", 0));
}

#[test]
fn what_somebody_else_has_changed_is_reported_and_left() {
    let room = Room::new();
    let holder = room.holding_on_tree("d --set scheduler=kyber");
    fs::write(room.queue("scheduler"), "[none] kyber").expect("written");
    assert_eq!(holder.end(Signal::KILL), None);
    let output = room.ran("restore");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        out(&output).contains("somebody else has changed it"),
        "{}",
        out(&output)
    );
    assert_eq!(
        (room.value("scheduler").as_str(), room.entries()),
        ("[none] kyber", 0)
    );
}

/// A loop device of this machine.
struct Loop {
    path: String,
    /// File of its nr_requests, whose value outlives the test.
    requests: String,
    _folder: TempDir,
}

impl Loop {
    fn new() -> Option<Loop> {
        let folder = tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, vec![0; 1 << 20]).expect("written");
        let made = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(&file)
            .output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            eprintln!("not here: a loop device needs root and losetup");
            return None;
        };
        let mut disk = Loop {
            path: out(&made).trim().into(),
            requests: String::new(),
            _folder: folder,
        };
        disk.requests = disk.read("nr_requests");
        Some(disk)
    }

    fn queue(&self, file: &str) -> PathBuf {
        let name = Path::new(&self.path).file_name().expect("a name");
        Path::new("/sys/block").join(name).join("queue").join(file)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.queue(file)).expect("read")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = fs::write(self.queue("nr_requests"), &self.requests);
        let _ = Command::new("losetup").args(["-d", &self.path]).status();
    }
}

#[test]
fn on_a_loop_device_every_scheduler_is_set_and_restored_also_after_kill() {
    let Some(disk) = Loop::new() else { return };
    let before = disk.read("scheduler");
    if fs::write(disk.queue("nr_requests"), "77").is_err() {
        eprintln!("not here: /sys cannot be written");
        return;
    }
    let room = Room::new();
    let is = |name: &str| disk.read("scheduler").contains(&format!("[{name}]"));
    for name in ["none", "mq-deadline", "kyber", "bfq"]
        .into_iter()
        .filter(|n| before.contains(n))
    {
        for signal in [Signal::INT, Signal::KILL] {
            let holder = room.holding(&format!("{} --set scheduler={name}", disk.path));
            assert!(is(name), "{}", disk.read("scheduler"));
            holder.end(signal);
            let output = room.ran("restore");
            assert_eq!(output.status.code(), Some(0), "{}", out(&output));
            assert_eq!(disk.read("scheduler"), before);
            // A change of the scheduler would reset this value.
            assert_eq!(disk.read("nr_requests"), "77\n", "{name}");
        }
    }
    let refused = room.ran(&format!("knobs {} --set io_poll=1 --for 1ms", disk.path));
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        error(&refused).contains("poll queues decide"),
        "{}",
        error(&refused)
    );
    assert_eq!(room.entries(), 0);
}
