//! Energy of `joulio bench`: meters on captured file trees, and the model beside them.

use crate::common::machine::file;
use crate::common::running::blocked;
use crate::common::{begin, ended, joulio, json, refused, wait_for};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use serde_json::Value;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use tempfile::{TempDir, tempdir};

/// Returns the tree of a server with two packages, whose counters do not change.
fn two_packages() -> TempDir {
    let tree = tempdir().expect("a temporary directory");
    file(&tree, "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
    file(
        &tree,
        "etc/machine-id",
        "3d1219c7c4c5404aaa1f6d2a48adfda4\n",
    );
    for package in 0..2 {
        let zone = format!("sys/class/powercap/intel-rapl:{package}");
        file(
            &tree,
            &format!("{zone}/name"),
            &format!("package-{package}\n"),
        );
        file(
            &tree,
            &format!("{zone}/max_energy_range_uj"),
            "262143328850\n",
        );
        file(&tree, &format!("{zone}/energy_uj"), "1000000\n");
    }
    tree
}

fn line(tree: &TempDir, more: &str) -> String {
    let root = tree.path().display();
    format!("bench --root {root} --device emulated:instant --completion interrupt {more}")
}

fn report(tree: &TempDir, more: &str) -> Value {
    json(&line(tree, &format!("--output json {more}")))
}

fn figures(report: &Value) -> &Vec<Value> {
    report["runs"][0]["energy"].as_array().expect("figures")
}

fn figure<'a>(report: &'a Value, zone: &str) -> &'a Value {
    let found = figures(report).iter().find(|figure| figure["zone"] == zone);
    found.unwrap_or_else(|| panic!("no {zone} in {report:#}"))
}

/// Returns the path of a package's counter.
fn counter(package: usize) -> String {
    format!("sys/class/powercap/intel-rapl:{package}/energy_uj")
}

/// Counter of how often the meters' files were opened since the last query.
struct Openings(OwnedFd);

impl Openings {
    fn of(tree: &TempDir) -> Openings {
        let events = inotify::init(CreateFlags::NONBLOCK).expect("inotify");
        for package in 0..2 {
            let path = tree.path().join(counter(package));
            inotify::add_watch(&events, path, WatchFlags::OPEN).expect("watched");
        }
        Openings(events)
    }

    fn since(&self) -> usize {
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut room);
        // Closing the watch gives an event as well.
        std::iter::from_fn(|| Some(events.next().ok()?.events()))
            .filter(|event| event.contains(ReadFlags::OPEN))
            .count()
    }
}

/// Returns the output of a run on `tree` whose counters `changed` between the readings at the start and at the end of
/// its window, with the seconds of that window. Longer windows are tried until there is enough time.
fn changed_in_the_window(
    tree: &TempDir,
    more: &str,
    changed: impl Fn(),
    unchanged: impl Fn(),
) -> (String, f64) {
    for seconds in [3, 12, 48] {
        unchanged();
        let openings = Openings::of(tree);
        let more = format!("{more} --rate_iops 1000 --number_ios 1000 --window {seconds}s");
        let mut child = begin(&line(tree, &more));
        // The window was opened before the job began.
        let ended_before = wait_for("I/O", || {
            let ended = child.try_wait().expect("waited").is_some();
            (ended || blocked(child.id()) > 50).then_some(ended)
        });
        openings.since();
        changed();
        // The counters have not been read again yet: the run was still within its window.
        let in_time = !ended_before && openings.since() == 0;
        let output = ended(child);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        // A job that had little CPU time may have outlasted its window.
        let fits = !text.contains("\"fits\":false") && !text.contains("\"fits\": false");
        if in_time && fits {
            return (text, f64::from(seconds));
        }
    }
    panic!("no time for it in any window");
}

#[test]
fn the_joules_of_a_run_are_those_of_the_counters() {
    let tree = two_packages();
    let show = |totals: [u32; 2]| {
        for (package, microjoules) in totals.iter().enumerate() {
            file(&tree, &counter(package), &format!("{microjoules}\n"));
        }
    };
    let (text, seconds) = changed_in_the_window(
        &tree,
        "--output json",
        || show([31_000_000, 13_000_000]),
        || show([1_000_000, 1_000_000]),
    );
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let all = &report["runs"][0]["window"]["seconds"];
    let all = all.as_f64().expect("seconds");
    let number = |figure: &Value, field: &str| figure[field].as_f64().expect(field);
    let packages = ["package-0", "package-1"].map(|zone| figure(&report, zone));
    let [spans, watts] =
        ["window_seconds", "watts"].map(|field| packages.map(|figure| number(figure, field)));
    // A sum uses mean watts over the shorter window, which may have ended one reading earlier.
    let shorter = spans[0].min(spans[1]);
    for (zone, joules) in [
        ("package-0", 30.0),
        ("package-1", 12.0),
        ("package-0 + package-1", (watts[0] + watts[1]) * shorter),
    ] {
        let figure = figure(&report, zone);
        let reported = number(figure, "joules");
        assert!((reported - joules).abs() <= 1e-6, "{figure:#}");
        assert_eq!(figure["modelled"], false);
        assert_eq!(figure["idle_subtracted"], false);
        assert_eq!(figure["band_joules"], Value::Null);
        assert!(number(figure, "error_joules") > 0.0);
        assert!(number(figure, "window_seconds") >= seconds - 0.1);
        // The work was done early: its cost includes the energy of the whole window.
        let per_io = number(figure, "joules_per_io");
        let energy = number(figure, "watts") * all;
        assert!((per_io * 1000.0 / energy - 1.0).abs() < 1e-6, "{figure:#}");
    }
    let run = &report["runs"][0];
    assert_eq!(run["window"]["fits"], true);
    assert_eq!(run["window"]["requested_seconds"], seconds);
    let worked = run["seconds"].as_f64().expect("seconds");
    let idle = run["window"]["idle_seconds"].as_f64().expect("seconds");
    assert!((worked + idle - all).abs() < 1e-6 && idle > 0.0 && all >= seconds);
    // The packages' meters measure the machine and no profile fits it, so there is no model.
    let modelled = figures(&report)
        .iter()
        .filter(|figure| figure["modelled"] == true);
    let sources: Vec<_> = modelled.map(|figure| &figure["source"]).collect();
    assert_eq!(sources, ["nvme:emulated:instant"]);
    assert_eq!(report["manifest"]["energy"]["machine_profile"], Value::Null);
    let meters = report["manifest"]["energy"]["meters"]
        .as_array()
        .expect("meters");
    assert_eq!(meters.len(), 3);
}

#[test]
fn one_package_of_two_does_not_stand_for_the_machine() {
    let tree = two_packages();
    let gone = tree.path().join(counter(1));
    let (text, _) = changed_in_the_window(
        &tree,
        "--meter package",
        || fs::remove_file(&gone).expect("removed"),
        || fs::write(&gone, "1000000\n").expect("written"),
    );
    let why = "package-0 + package-1: powercap:package-1 has no figure";
    assert!(text.contains(why), "{text}");
    // The watts of one package have a line of their own, and the run's row has none.
    assert!(text.contains("powercap:package-0  0.00"), "{text}");
    assert!(!text.contains("measured, package-0"), "{text}");
}

#[test]
fn the_idle_baseline_is_taken_off_and_kept_in_the_manifest() {
    let tree = two_packages();
    let root = tree.path().display().to_string();
    let baseline = tree.path().join("idle.json");
    let kept = baseline.display().to_string();
    joulio(&format!("power --root {root} --idle 1s --file {kept}"))
        .assert()
        .success();
    let text = fs::read_to_string(&baseline).expect("kept");
    // The packages drew nothing; pretends that they drew two watts.
    let two = text.replace("\"watts\": 0.0", "\"watts\": 2.0");
    assert_ne!(two, text);
    fs::write(&baseline, two).expect("written");
    let report = report(
        &tree,
        &format!("--runtime 1 --ramp_time 0 --rate_iops 1k --idle-baseline {kept}"),
    );
    let above: Vec<_> = figures(&report)
        .iter()
        .filter(|figure| figure["idle_subtracted"] == true)
        .collect();
    assert_eq!(above.len(), 3, "{report:#}");
    for figure in above {
        let watts = figure["watts"].as_f64().expect("watts");
        let idle = if figure["zone"] == "package-0 + package-1" {
            4.0
        } else {
            2.0
        };
        assert!((watts + idle).abs() < 0.1, "{figure:#}");
    }
    let note = &report["manifest"]["energy"]["idle_baseline"];
    assert_eq!(note["meters"].as_array().expect("meters").len(), 2);
    assert_eq!(note["differences"], Value::Array(Vec::new()));
    // The baseline of another machine is refused before any I/O.
    file(&tree, "etc/machine-id", "another\n");
    let bad = line(&tree, &format!("--runtime 1 --idle-baseline {kept}"));
    let reported = refused(tree.path(), &bad);
    assert!(reported.contains("another machine's"), "{reported}");
}

#[test]
fn a_kept_baseline_of_another_machine_is_no_reason_to_fail() {
    let (tree, room) = (two_packages(), TempDir::new().expect("a directory"));
    let root = tree.path().display().to_string();
    let with = |line: &str| {
        let mut joulio = joulio(line);
        joulio.env("XDG_STATE_HOME", room.path());
        joulio
    };
    with(&format!("power --root {root} --idle 1s"))
        .assert()
        .success();
    file(&tree, "etc/machine-id", "another\n");
    let line = line(&tree, "--output json --number_ios 10 --ramp_time 0");
    let output = with(&line).assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let note = &report["manifest"]["energy"];
    assert_eq!(note["idle_baseline"], Value::Null);
    let why = note["not_read"].as_array().expect("a list").iter();
    let mut why = why.filter(|one| one["meter"] == "idle baseline");
    let why = why.next().expect("a reason")["why"].as_str();
    assert!(
        why.is_some_and(|why| why.contains("another machine's")),
        "{note:#}"
    );
}

#[test]
fn meters_are_chosen_and_the_model_requested_by_name() {
    let tree = two_packages();
    let all = report(
        &tree,
        "--runtime 1 --ramp_time 0 --rate_iops 1k --meter powercap:package-1 --machine generic-server",
    );
    let reported: Vec<_> = figures(&all).iter().map(|figure| &figure["zone"]).collect();
    assert_eq!(reported, ["package-1", "wall", "package", "cores"]);
    for zone in ["wall", "package", "cores"] {
        let model = figure(&all, zone);
        assert_eq!(model["modelled"], true);
        let band = model["band_joules"].as_array().expect("a band");
        let joules = model["joules"].as_f64().expect("joules");
        let (low, high) = (band[0].as_f64().unwrap(), band[1].as_f64().unwrap());
        assert!(low < joules && joules < high, "{model:#}");
    }
    let device = report(&tree, "--number_ios 10 --meter nvme:emulated:instant");
    // The run is too short for a figure, and the result says so.
    let without = device["runs"][0]["unmetered"].as_array().expect("a list");
    assert_eq!(without[0]["meter"], "nvme:emulated:instant");
    let why = without[0]["why"].as_str().expect("why");
    assert!(why.contains("1 s apart: measure for longer"), "{why}");
    for wrong in ["--meter perf:package-9", "--meter nvme:pcie:00:00.0"] {
        let reported = refused(tree.path(), &line(&tree, wrong));
        assert!(reported.contains("there is no"), "{reported}");
    }
}

#[test]
fn a_window_goes_with_fixed_work() {
    let tree = two_packages();
    for (wrong, want) in [
        ("--window 3s", "--number_ios"),
        ("--window 3s --runtime 2", "--number_ios"),
        ("--window 900ms --number_ios 5", "at least 1 s"),
    ] {
        let error = refused(tree.path(), &line(&tree, wrong));
        assert!(
            error.contains("--window") && error.contains(want),
            "{error}"
        );
    }
    let report = report(&tree, "--rate_iops 4 --number_ios 8 --window 1s");
    assert_eq!(report["runs"][0]["window"]["fits"], false);
}

#[test]
fn without_a_meter_the_table_says_modelled() {
    let tree = tempdir().expect("a temporary directory");
    file(
        &tree,
        "proc/cpuinfo",
        "vendor_id\t: GenuineIntel\nflags\t: hypervisor\n",
    );
    let assert = joulio(&line(&tree, "--number_ios 100 --meter none"))
        .assert()
        .success();
    let table = String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8");
    assert!(
        table.contains("W*") && table.contains("modelled, not measured"),
        "{table}"
    );
    assert!(
        table.contains(" from ") && table.contains("ends of their bands"),
        "{table}"
    );
}

#[test]
fn the_watts_of_one_io_are_those_of_the_machine() {
    // The counters are read over a much longer time than the I/O takes.
    let line = "bench --device emulated:optane-900p,size=1M --number_ios 1 --ramp_time 0 --meter none \
                --machine generic-server --output json";
    for run in json(line)["runs"].as_array().expect("runs") {
        let energies = run["energy"].as_array().expect("energies");
        let wall = energies.iter().find(|one| one["boundary"] == "wall");
        let watts = wall.expect("modelled")["watts"].as_f64().expect("watts");
        assert!((50.0..200.0).contains(&watts), "{watts} W: {run:#}");
    }
}
