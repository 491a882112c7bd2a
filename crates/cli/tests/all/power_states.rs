//! `joulio power-states` and `joulio restore`: reports and changes, and that changes are restored, whatever ends the
//! command.

use crate::common::{joulio, json, refused, runs, wait_for};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use tempfile::{TempDir, tempdir};

const EVO: &str = "emulated:samsung-960-evo,size=1m";

/// A process, killed when this is dropped if it still runs.
struct Process(Child);

impl Process {
    fn start(room: &Path, line: &str) -> Process {
        let child = crate::common::program()
            .args(line.split_whitespace())
            .current_dir(room)
            .env("XDG_STATE_HOME", room)
            .stdout(Stdio::piped())
            .spawn();
        Process(child.expect("the command starts"))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it runs");
    }

    /// Returns its status, once it has ended by itself or by a signal.
    fn ended(&mut self) -> Option<i32> {
        crate::common::wait_for_end(&mut self.0);
        self.0.wait().expect("wait").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves a 960 EVO at `s` in `room`.
fn serve(room: &Path) -> Process {
    let mut server = Process::start(room, &format!("serve --device {EVO} --socket s"));
    let mut said = String::new();
    let out = server.0.stdout.as_mut().expect("piped");
    BufReader::new(out).read_line(&mut said).expect("a line");
    assert!(said.starts_with("serving "), "{said}");
    server
}

/// Runs a command in `room`; returns its output and status.
fn ran(room: &Path, line: &str) -> (String, Option<i32>) {
    let mut command = joulio(line);
    command.current_dir(room).env("XDG_STATE_HOME", room);
    let output = command.output().expect("it runs");
    (
        String::from_utf8(output.stdout).expect("UTF-8"),
        output.status.code(),
    )
}

fn ran_json(room: &Path, line: &str) -> Value {
    let (out, status) = ran(room, &format!("{line} -o json"));
    assert_eq!(status, Some(0), "{line}");
    serde_json::from_str(&out).expect("JSON")
}

fn entries(room: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(room.join("joulio/journal"));
    let files = files.into_iter().flatten().flatten();
    files.map(|file| file.path()).collect()
}

fn entry(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("an entry");
    serde_json::from_str(&text).expect("JSON")
}

/// Waits until the journal has `count` complete entries, which are written before the changes are made.
fn wait_for_entries(room: &Path, count: usize) -> Vec<PathBuf> {
    wait_for("entries of the journal", || {
        let mut found = entries(room);
        found.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        });
        (found.len() == count).then_some(found)
    })
}

/// Kills a client that has set power state 2 and enabled transitions; returns the journal's entries.
fn killed(room: &Path) -> Vec<PathBuf> {
    let line = "power-states vfio-user:s --set 2 --apst on --for 10m";
    let mut client = Process::start(room, line);
    let entries = wait_for_entries(room, 2);
    client.signal(Signal::KILL);
    assert_eq!(client.ended(), None);
    entries
}

#[test]
fn the_table_is_in_nvme_clis_words() {
    let text = joulio(&format!("power-states {EVO}")).assert().success();
    text.stdout(
        contains("ps      0 : mp:6.0400W operational enlat:0 exlat:0 rrt:0 rrl:0\n")
            .and(contains(
                "ps      4 : mp:0.0050W non-operational enlat:2200 exlat:6000",
            ))
            .and(contains("current           : ps 0, workload hint 0\n"))
            .and(contains("apst              : disabled; no transitions\n"))
            .and(contains("residency ps 0    : ")),
    );
}

#[test]
fn json_has_the_same_and_what_nvme_cli_has_of_a_state() {
    let found = json(&format!("power-states {EVO} --output json"));
    let own = json(&format!("id-ctrl {EVO} -o json"));
    assert_eq!(found["psds"], own["psds"]);
    assert_eq!(found["current"], json!({ "ps": 0, "workload_hint": 0 }));
    assert_eq!(
        found["apst"],
        json!({ "enabled": false, "transitions": [] })
    );
    assert_eq!(found["power_measurement"]["intervals"], 0);
    assert_eq!(found["power_measurement"]["average_watts"], Value::Null);
    assert_eq!(found["residency_seconds"].as_array().map(Vec::len), Some(5));
}

#[test]
fn it_measures_what_the_profile_says() {
    let awake = json(&format!("power-states {EVO} --for 2s -o json"));
    let log = &awake["power_measurement"];
    assert!(log["intervals"].as_u64() >= Some(2), "{log}");
    assert_eq!(
        (&log["average_watts"], &log["maximum_watts"]),
        (&json!(2.0), &json!(2.0))
    );
    assert_eq!(
        (&log["estimated"], &log["measuring"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (&log["generation"], &log["percent_error"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(awake["interval_power_watts"], 2.0);
    let energy = &awake["energy"];
    let (joules, seconds) = (energy["joules"].as_f64(), energy["window_seconds"].as_f64());
    assert_eq!(seconds.map(|seconds| seconds * 2.0), joules, "{energy}");
    assert_eq!(
        (&energy["boundary"], &energy["source"]),
        (&json!("device"), &json!(format!("nvme:{EVO}")))
    );
    let notes = energy["notes"].to_string();
    assert!(notes.contains("estimated by the device"), "{notes}");
    // The error includes what may belong to the seconds that are cut at the window's edges.
    assert!(energy["error_joules"].as_f64() >= Some(4.0), "{energy}");
}

#[test]
fn a_time_of_no_second_has_no_energy() {
    let short = json(&format!("power-states {EVO} --for 10ms -o json"));
    assert_eq!(short["energy"]["joules"], Value::Null);
    let why = short["energy"]["why"].to_string();
    assert!(
        why.contains("no new reading in the window") && why.contains("measure for longer"),
        "{why}"
    );
    assert_eq!(
        json(&format!("power-states {EVO} -o json"))["energy"],
        Value::Null
    );
}

#[test]
fn asleep_it_draws_less_and_the_time_is_counted_there() {
    let asleep = json(&format!("power-states {EVO} --set 4 --for 2s -o json"));
    assert_eq!(asleep["current"]["ps"], 4);
    let mean = asleep["power_measurement"]["average_watts"].as_f64();
    // 5 mW, plus the transition of 2.2 ms at 2 W in the first of two seconds.
    assert!(mean >= Some(0.005) && mean <= Some(0.0073), "{mean:?}");
    assert!(
        asleep["residency_seconds"][4].as_f64() > Some(1.9),
        "{asleep}"
    );
}

#[test]
fn transitions_are_made_as_linux_has_them_and_work() {
    let found = json(&format!("power-states {EVO} --apst on --for 2s -o json"));
    assert_eq!(found["apst"]["enabled"], true);
    let expected = [(0, 4, 100), (1, 4, 100), (2, 4, 100), (3, 4, 100)];
    let expected = expected.map(|(from, to, ms)| json!({ "from": from, "to": to, "after_ms": ms }));
    assert_eq!(found["apst"]["transitions"], json!(expected));
    assert_eq!(found["current"]["ps"], 4);
}

#[test]
fn coalescing_is_set_and_shown() {
    let off = json(&format!("power-states {EVO} -o json"));
    let none = json!({ "completions": 1, "microseconds": 0 });
    assert_eq!(off["interrupt_coalescing"], none);
    let line = format!("power-states {EVO} --coalescing 8,200 --for 10ms");
    let on = joulio(&line).assert().success();
    on.stdout(contains("coalescing        : 8 completions or 200 us\n"));
}

#[test]
fn a_bench_has_the_devices_gather_their_interrupts() {
    let line = "--device emulated:optane-900p,size=16M --completion interrupt --iodepth 8 --number_ios 2000 \
                --meter none --machine generic-server";
    let gathered = &runs(&format!("{line} --coalescing 8,25500"))[0];
    assert_eq!(
        gathered["settings"]["coalescing"],
        "8 completions or 25500 us"
    );
    let interrupts = gathered["wait"]["interrupts"].as_u64().expect("a count");
    assert!((1..500).contains(&interrupts), "{interrupts} of 2000 I/Os");
    let off = &runs(&format!("{line} --coalescing off"))[0];
    assert_eq!(off["settings"]["coalescing"], "off");
    let room = tempdir().expect("a room");
    fs::write(room.path().join("file"), [0; 1 << 20]).expect("a file");
    let said = refused(room.path(), "bench --device ./file --coalescing 8,200");
    assert!(said.contains("the kernel drives it"), "{said}");
}

#[test]
fn a_bench_has_the_devices_in_a_power_state() {
    let line = "--device emulated:samsung-960-evo,size=16M --completion poll --number_ios 200 --meter none \
                --machine generic-server";
    let run = &runs(&format!("{line} --power-state 2"))[0];
    assert_eq!(run["settings"]["power-state"], "2");
    let room = tempdir().expect("a room");
    fs::write(room.path().join("file"), [0; 1 << 20]).expect("a file");
    for (rest, says) in [
        (
            &*format!("{line} --power-state 3"),
            "does no I/O in it: it has 0, 1, 2",
        ),
        ("--device ./file --power-state 1", "the kernel drives it"),
        (
            "--twin --device emulated:samsung-960-evo --power-state 1",
            "cannot be used",
        ),
    ] {
        let said = refused(room.path(), &format!("bench {rest}"));
        assert!(said.contains(says), "{rest}: {said}");
    }
}

#[test]
fn a_bench_has_the_devices_sleep_by_themselves_or_not() {
    let line = "--device emulated:samsung-960-evo,size=16M --completion poll --number_ios 200 --meter none \
                --machine generic-server";
    for (flags, word, sleeps) in [
        ("--apst on", json!("on"), true),
        ("--apst off --power-state 1", json!("off"), false),
        ("", Value::Null, false),
    ] {
        let report = json(&format!("bench --output json {line} {flags}"));
        assert_eq!(report["runs"][0]["settings"]["apst"], word, "{flags}");
        assert_eq!(report["manifest"]["devices"][0]["apst"], sleeps, "{flags}");
    }
    let room = tempdir().expect("a room");
    fs::write(room.path().join("file"), [0; 1 << 20]).expect("a file");
    for (rest, says) in [
        ("--device ./file --apst on", "the kernel drives it"),
        (
            "--twin --device emulated:samsung-960-evo --apst on",
            "cannot be used",
        ),
    ] {
        let said = refused(room.path(), &format!("bench {rest}"));
        assert!(said.contains(says), "{rest}: {said}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let room = tempdir().expect("a room");
    for (rest, says) in [
        (
            "emulated:instant,size=1m --set 1 --for 1s",
            "no power state 1: it has 0 to 0",
        ),
        ("emulated:instant,size=1m --set 0", "--for 10s"),
        ("pcie:0000:01:00.0 --apst off", "--for 10s"),
        ("emulated:instant --set 32", "32"),
        ("emulated:instant --apst maybe", "maybe"),
        ("emulated:instant --coalescing 8,150", "steps of 100"),
        ("emulated:instant --for 5d", "5d"),
        ("nvme0", "/dev/nvme0"),
        ("/dev/null", "not an NVMe controller"),
        ("/dev/nvme-that-is-not-there", "no such device"),
        ("vfio-user:s", "no such socket"),
    ] {
        let said = refused(room.path(), &format!("power-states {rest}"));
        assert!(said.contains(says), "{rest}: {said}");
    }
}

#[test]
fn over_a_socket_it_is_the_same_and_the_journal_is_empty_after() {
    let room = tempdir().expect("a room");
    let _server = serve(room.path());
    let asleep = ran_json(room.path(), "power-states vfio-user:s --set 3 --for 2s");
    assert_eq!(asleep["model"], "joulio emulated Samsung 960 EVO");
    assert_eq!(asleep["current"]["ps"], 3);
    assert_eq!(asleep["residency_seconds"], Value::Null);
    let log = &asleep["power_measurement"];
    let mean = log["average_watts"].as_f64();
    // 40 mW, plus the transition of 210 us at 2 W.
    assert!(mean >= Some(0.04) && mean <= Some(0.0403), "{log}");
    assert_eq!(log["estimated"], true);
    assert_eq!(entries(room.path()), [] as [PathBuf; 0]);
    let (said, status) = ran(room.path(), "restore");
    assert_eq!((said.as_str(), status), ("nothing to restore\n", Some(0)));
}

#[test]
fn a_signal_ends_it_sooner_and_restores_it() {
    for signal in [Signal::INT, Signal::TERM] {
        let room = tempdir().expect("a room");
        let _server = serve(room.path());
        let line = "power-states vfio-user:s --set 2 --for 10m";
        let mut client = Process::start(room.path(), line);
        wait_for_entries(room.path(), 1);
        client.signal(signal);
        assert_eq!(client.ended(), Some(0));
        assert_eq!(entries(room.path()), [] as [PathBuf; 0]);
    }
}

#[test]
fn what_a_killed_run_has_changed_is_restored() {
    let room = tempdir().expect("a room");
    let _server = serve(room.path());
    // The entry can be restored from any directory.
    let device = format!("vfio-user:{}", room.path().join("s").display());
    for path in killed(room.path()) {
        let entry = &entry(&path)["what"]["feature"];
        assert_eq!(entry["device"], device);
        let apst = &entry["old"]["apst"];
        let state = &entry["old"]["power-state"];
        assert!(apst["enabled"] == false || state["value"] == 0, "{entry}");
    }
    let elsewhere = joulio("restore")
        .env("XDG_STATE_HOME", room.path())
        .output();
    let output = elsewhere.expect("it runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{said}");
    for back in ["power state 0", "apst off, with its table"] {
        assert!(
            said.contains(&format!("{device}: {back} restored\n")),
            "{said}"
        );
    }
    assert_eq!(entries(room.path()), [] as [PathBuf; 0]);
}

#[test]
fn an_older_value_outlives_a_newer_change() {
    let room = tempdir().expect("a room");
    let _server = serve(room.path());
    let old = |path: &PathBuf| {
        let entry = entry(path);
        let old = &entry["what"]["feature"]["old"];
        (entry["number"].to_string(), old.to_string())
    };
    let before: Vec<_> = killed(room.path()).iter().map(old).collect();
    ran_json(room.path(), "power-states vfio-user:s --set 1 --for 10ms");
    let paths = wait_for_entries(room.path(), 2);
    let after: Vec<_> = paths.iter().map(old).collect();
    for one in &before {
        assert!(after.contains(one), "{one:?} is not in {after:?}");
    }
    // Each value that was set is known as joulio's own.
    let states = json!([
        { "power-state": { "value": 2 } },
        { "power-state": { "value": 1 } },
    ]);
    let new = |path: &PathBuf| entry(path)["what"]["feature"]["new"].clone();
    assert!(paths.iter().any(|path| new(path) == states));
}

#[test]
fn entries_that_cannot_be_restored_are_reported_and_kept() {
    let room = tempdir().expect("a room");
    let server = serve(room.path());
    let paths = killed(room.path());
    drop(server);
    // The device is gone.
    let (said, status) = ran(room.path(), "restore");
    assert_eq!(status, Some(1));
    assert_eq!(said.matches("kept\n").count(), 2, "{said}");
    assert_eq!(entries(room.path()).len(), 2);
    // Another device with that name, and a file that is not an entry.
    let _server = serve(room.path());
    let text = fs::read_to_string(&paths[0]).expect("an entry");
    fs::write(&paths[0], text.replace("\"JOULIO", "\"OTHER")).expect("write");
    fs::write(&paths[1], "{}").expect("write");
    let (said, status) = ran(room.path(), "restore");
    assert_eq!(status, Some(1));
    assert!(said.contains("another device has that name now"), "{said}");
    assert!(said.contains("not an entry of joulio's journal"), "{said}");
    assert_eq!(entries(room.path()).len(), 2);
}

#[test]
fn an_entry_that_somebody_works_on_is_left_to_them() {
    let room: TempDir = tempdir().expect("a room");
    let _server = serve(room.path());
    let mut client = Process::start(room.path(), "power-states vfio-user:s --set 2 --for 10m");
    wait_for_entries(room.path(), 1);
    let (said, status) = ran(room.path(), "restore");
    assert_eq!(status, Some(1));
    assert!(
        said.contains("is still running and will restore it; kept"),
        "{said}"
    );
    client.signal(Signal::INT);
    assert_eq!(client.ended(), Some(0));
}

#[test]
fn measured_transitions_take_what_the_drive_was_told() {
    // The emulator itself keeps a power state's times to the nanosecond: a read waits for all of it, however busy the
    // machine is. The read itself and the machine add to these bounds.
    let found = json(&format!(
        "power-states {EVO} --measure --rounds 2 --for 1s -o json"
    ));
    let states = found["states"].as_array().expect("states");
    assert_eq!(states.len(), 5);
    let number = |ps: usize, key: &str| states[ps][key].as_f64().expect("a figure");
    for (ps, entry, exit) in [(3, 210.0, 1_500.0), (4, 2_200.0, 6_000.0)] {
        assert!(number(ps, "first_read_us") >= exit, "{found:#}");
        assert!(number(ps, "set_and_read_us") >= entry + exit, "{found:#}");
        let told = [&states[ps]["enlat_us"], &states[ps]["exlat_us"]];
        assert_eq!(told.map(Value::as_f64), [Some(entry), Some(exit)]);
        let woken = number(ps, "first_read_us") - number(0, "first_read_us");
        let exit = states[ps]["exit_us"][0].as_f64().expect("a figure");
        assert!((exit - woken.max(0.0)).abs() < 0.01, "{found:#}");
        assert_eq!(states[ps]["operational"], false);
    }
    assert_eq!(states[0]["entry_us"], Value::Null);
    // The profile's idle watts, but no more than the state's maximum power. The log rounds to 0.1 mW.
    for (ps, watts) in [(0, 2.0), (3, 0.04), (4, 0.005)] {
        let figure = &states[ps]["watts"][0];
        assert_eq!(figure["boundary"], "device");
        assert_eq!(figure["modelled"], true);
        let found = figure["watts"].as_f64().expect("watts");
        assert!((found - watts).abs() <= 0.0002, "ps {ps}: {figure}");
    }
}

#[test]
fn what_measuring_changes_is_restored_even_when_it_is_stopped() {
    let room = tempdir().expect("a room");
    let _server = serve(room.path());
    let line = "power-states vfio-user:s --measure --for 10m";
    let mut client = Process::start(room.path(), line);
    // One entry is of the autonomous transitions, the other of the power state.
    wait_for_entries(room.path(), 2);
    client.signal(Signal::INT);
    assert_eq!(client.ended(), Some(130));
    assert_eq!(entries(room.path()), [] as [PathBuf; 0]);
    let after = ran_json(room.path(), "power-states vfio-user:s");
    assert_eq!(after["current"]["ps"], 0);
}

#[test]
fn measuring_is_refused_beside_changes() {
    let room = tempdir().expect("a room");
    for (rest, says) in [
        ("--measure --set 1 --for 1s", "--set"),
        ("--rounds 3", "--measure"),
        ("--measure --rounds 0", "0"),
        ("--measure --meter nonsense", "nonsense"),
    ] {
        let said = refused(room.path(), &format!("power-states {EVO} {rest}"));
        assert!(said.contains(says), "{rest}: {said}");
    }
}
