//! `joulio calibrate`: this machine's times, and runs of the twin with these times compared with real runs.

use crate::common::busy::Busy;
use crate::common::{joulio, refused, thorough};
use serde_json::Value;
use std::fs;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Lock that keeps these tests apart: beside a busy CPU, a calibration takes several times as long.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns the report of a calibration, checked with `ios` reads of a device whose service time is `us`.
fn checked(room: &TempDir, us: f64, ios: u32) -> Value {
    let profile = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../profiles/devices/samsung-960-evo.toml"
    );
    let mut profile: toml_edit::DocumentMut = fs::read_to_string(profile).unwrap().parse().unwrap();
    for size in 0..2 {
        let read = &mut profile["service"]["read"][size]["us"];
        read["value"] = toml_edit::value(us);
        read["band"] = toml_edit::value(toml_edit::Array::from_iter([0.9 * us, 1.1 * us]));
    }
    fs::write(room.path().join("slow.toml"), profile.to_string()).unwrap();
    let line = format!(
        "calibrate --write-profile here.toml --force --allow-busy --check --device ./slow.toml --number_ios {ios} --rounds 1 --output json"
    );
    let output = joulio(&line).current_dir(room).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // The status is 1 if a latency differs too much, which does not matter here.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    serde_json::from_slice(&output.stdout).expect(&said)
}

/// Times depend on the machine and are not checked; only counts are.
#[test]
fn real_runs_and_the_twin_count_the_same_for_each_io() {
    if !thorough() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let room = TempDir::new().unwrap();
    // Reads must take longer than the job is without a CPU, because completions that arrive meanwhile are found without
    // a wait. Mostly reads of 10 ms are long enough.
    let mut report = Value::Null;
    for (us, ios) in [(10_000.0, 40), (100_000.0, 20), (1_000_000.0, 10)] {
        report = checked(&room, us, ios);
        let starved = |mode: &Value| {
            mode["real"]["median_ns"].as_f64().unwrap() > 3e3 * us
                || mode["alike"].as_f64().unwrap() <= 0.5
        };
        if !report["check"].as_array().unwrap().iter().any(starved) {
            break;
        }
    }
    let modes = report["check"].as_array().unwrap();
    let each = ["interrupts", "sleeps", "wakes"];
    let (polls, sleeps, blocks) = ([0.0; 3], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]);
    // A read takes longer than ten of EHP's overheads, and longer than the break-even.
    let expected = [
        ("poll", polls),
        ("interrupt", blocks),
        ("hybrid", sleeps),
        ("uring-hybrid", sleeps),
        ("ehp", blocks),
        ("pas", sleeps),
        ("ski-rental", blocks),
        ("hybrid=", sleeps),
    ];
    for (name, expected) in expected {
        let named = |mode: &&Value| mode["completion"].as_str().unwrap().starts_with(name);
        let mode = modes
            .iter()
            .find(named)
            .unwrap_or_else(|| panic!("{name}: {report:#}"));
        assert!(mode["real"]["modelled"] == false && mode["twin"]["modelled"] == true);
        for (count, expected) in each.iter().zip(expected) {
            let [twin, real] = ["twin", "real"].map(|side| mode[side][count].as_f64().unwrap());
            assert_eq!([twin, real], [expected; 2], "{count} of {mode:#}");
        }
        // Other programs on this machine preempt a job now and then.
        assert!(mode["alike"].as_f64().unwrap() > 0.5, "{mode:#}");
    }
    // DPAS sleeps for a hundred I/Os and polls for a thousand: which of the two is seen depends on times.
    let dpas = modes
        .iter()
        .find(|mode| mode["completion"].as_str().unwrap().starts_with("dpas"));
    for side in ["real", "twin"] {
        assert_eq!(dpas.unwrap()[side]["interrupts"], 0.0, "{report:#}");
    }
    // `adaptive` does not spin for as long as these reads take; by which step it rests depends on the measured costs.
    let adaptive = modes.iter().find(|mode| mode["completion"] == "adaptive");
    for side in ["real", "twin"] {
        let counts = &adaptive.unwrap()[side];
        let rests = ["interrupts", "sleeps"].map(|count| counts[count].as_f64().unwrap());
        assert!(rests.iter().sum::<f64>() > 0.5, "{report:#}");
    }
    // Every completion mode of the driver is listed, compared or with a reason why not.
    let others = report["not_checked"].as_array().unwrap();
    assert_eq!(modes.len() + others.len(), 20, "{report:#}");
    for other in others {
        assert!(!other["why"].as_str().unwrap().is_empty(), "{other:#}");
    }
    assert_eq!(report["costs"]["crossing_ns"]["kind"], "measured");
    // The profile that was written can be simulated.
    let line =
        "bench --twin --machine here.toml --number_ios 100 --completion interrupt --output json";
    let output = joulio(line).current_dir(&room).assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(report["runs"][0]["wait"]["blocks"], 100);
}

#[test]
fn beside_a_thread_that_computes_what_the_job_loses_is_compared_too() {
    if !thorough() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut calibrate = joulio(
        "calibrate --check --neighbours 1 --device samsung-960-evo --number_ios 400 --rounds 1 --output json",
    );
    let output = calibrate.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // The status is 1 if other programs ran, or a latency differs too much, which does not matter here.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect(&said);
    let modes = report["check"].as_array().unwrap();
    let of = |name: &str, side: &str| {
        let mode = modes.iter().find(|mode| mode["completion"] == name);
        mode.unwrap_or_else(|| panic!("{name}: {report:#}"))[side].clone()
    };
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
    for side in ["real", "twin"] {
        // A job that spins gives up its CPU only at ticks, and loses time to the other thread's turns.
        let poll = of("poll", side);
        assert!(number(&poll, "lost_ms_per_second") > 0.0, "{report:#}");
        assert!(number(&poll, "neighbour_percent") > 0.0, "{report:#}");
        // A job that blocks still does so for each I/O without preemption.
        let interrupt = of("interrupt", side);
        assert_eq!(
            [
                number(&interrupt, "interrupts"),
                number(&interrupt, "wakes")
            ],
            [1.0; 2]
        );
    }
    assert!(
        number(&of("poll", "twin"), "lost_ms_per_second") > 300.0,
        "{report:#}"
    );
    // What the neighbour gets depends on the costs that were measured, which a busy machine makes any.
    let lost = |mode: &str| number(&of(mode, "twin"), "lost_ms_per_second");
    assert!(lost("interrupt") < lost("poll"), "{report:#}");
    // Neighbours are only meaningful with --check.
    let room = TempDir::new().unwrap();
    let said = refused(room.path(), "calibrate --neighbours 1");
    assert!(said.contains("--check"), "{said}");
}

#[test]
fn a_busy_machine_is_not_calibrated() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let room = TempDir::new().unwrap();
    // A calibration's jobs run on the first CPU.
    let _busy = Busy::on_the_first_cpu(1);
    let output = joulio("calibrate --write-profile here.toml")
        .current_dir(&room)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("--write-profile here.toml: not written"),
        "{said}"
    );
    assert!(
        said.contains("ran other programs for") && said.contains("--allow-busy"),
        "{said}"
    );
    assert!(!room.path().join("here.toml").exists());
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let room = TempDir::new().unwrap();
    fs::write(room.path().join("here.toml"), "mine").unwrap();
    let said = refused(room.path(), "calibrate --write-profile here.toml");
    assert!(
        said.contains("here.toml") && said.contains("another"),
        "{said}"
    );
    let said = refused(room.path(), "calibrate --check --number_ios 10G");
    assert!(
        said.contains("--number_ios") && said.contains("1M"),
        "{said}"
    );
    let said = refused(room.path(), "calibrate --machine nothing");
    assert!(
        said.contains("nothing") && said.contains("generic-server"),
        "{said}"
    );
    let said = refused(room.path(), "calibrate --rounds 0");
    assert!(
        said.contains("--rounds") && said.contains("1..=100"),
        "{said}"
    );
    let said = refused(room.path(), "calibrate --number_ios 10");
    assert!(said.contains("--check"), "{said}");
}
