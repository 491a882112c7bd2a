//! `joulio twin grid`: every policy on every load.

use crate::common::{begin, ended, failed, json, refused, stdout, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use tempfile::TempDir;

const SMALL: &str = "twin grid --machine generic-server --device optane-p5800x --iodepth 1,2 --numjobs 1 --bs 4k --rwmixread 100 --load closed,open-40 --number_ios 1000 --ramp_time 1ms";

#[test]
fn every_cell_has_its_policies_and_the_one_that_is_best() {
    let report = json(&format!("{SMALL} --output json"));
    assert_eq!(report["grid"]["modelled"], true);
    let cells = report["cells"].as_array().unwrap();
    // Two depths, two loads, three mechanisms and three boundaries.
    assert_eq!(cells.len(), 2 * 2 * 9);
    for cell in cells {
        let policies = cell["policies"].as_array().unwrap();
        assert_eq!(policies[0]["policy"], "poll");
        let best = cell["best"].as_str().unwrap();
        let best = policies.iter().find(|one| one["policy"] == best).unwrap();
        assert_eq!(best["keeps"], true);
        let oracles = &cell["oracle_joules_per_io"];
        let [completions, spending, everything] =
            ["completions", "spending", "everything"].map(|knows| oracles[knows].as_f64().unwrap());
        assert!(completions <= best["joules_per_io"].as_f64().unwrap());
        assert!(spending <= completions && everything <= spending);
    }
}

#[test]
fn a_package_s_watts_say_nothing_of_the_wall() {
    let room = TempDir::new().unwrap();
    let line = SMALL.replace("generic-server", "xeon-8558");
    let text = stdout(room.path(), &line);
    assert!(
        text.contains("24 cells") && text.contains("Nothing at the wall"),
        "{text}"
    );
    assert!(!text.contains("energy at wall"), "{text}");
}

#[test]
fn cells_past_the_part_s_tdp_are_reported() {
    let room = TempDir::new().unwrap();
    let line = "twin grid --machine xeon-8558 --device optane-p5800x --iodepth 1 --numjobs 46 --bs 4k --rwmixread 100 --load closed --number_ios 2000 --ramp_time 1ms";
    let text = stdout(room.path(), line);
    assert!(
        text.contains("Past TDP in 6 cells") && text.contains("330 W"),
        "{text}"
    );
    let csv = stdout(room.path(), &format!("{line} --output csv"));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows = reader.deserialize().map(Result::unwrap);
    let rows: Vec<HashMap<String, String>> = rows.collect();
    let polls: Vec<_> = rows.iter().filter(|row| row["policy"] == "poll").collect();
    assert_eq!(polls.len(), 6);
    // The field is empty because the package stays below its TDP.
    assert!(
        polls.iter().all(|row| !row["past_tdp_watts"].is_empty()),
        "{csv}"
    );
    assert!(rows.iter().all(|row| row["modelled"] == "true"));
    let small = SMALL.replace("generic-server", "xeon-8558");
    assert!(!stdout(room.path(), &small).contains("TDP"));
}

#[test]
fn a_grid_that_was_ended_goes_on_where_it_was() {
    let room = TempDir::new().unwrap();
    let line = format!("{SMALL} --output csv");
    let whole = stdout(room.path(), &line);
    let line = format!("{line} --state grid.jsonl");
    assert!(stdout(room.path(), &line) == whole);
    let state = room.path().join("grid.jsonl");
    let kept = fs::read_to_string(&state).unwrap();
    // A header, and a line for each cell.
    assert_eq!(kept.lines().count(), 1 + 36);
    // The file is cut in the middle of a line of the third scenario, and then within the header.
    let third = kept
        .lines()
        .take(1 + 20)
        .map(|line| line.len() + 1)
        .sum::<usize>();
    for length in [third + 10, 40, 0] {
        fs::write(&state, &kept[..length]).unwrap();
        assert!(
            stdout(room.path(), &line) == whole,
            "other rows after {length} bytes"
        );
        assert!(fs::read_to_string(&state).unwrap() == kept);
    }
}

#[test]
fn what_is_done_is_not_played_again() {
    let room = TempDir::new().unwrap();
    let line = format!("{SMALL} --output json --state grid.jsonl");
    stdout(room.path(), &line);
    let state = room.path().join("grid.jsonl");
    let kept = fs::read_to_string(&state).unwrap();
    fs::write(&state, kept.replace("\"p99_noise\":", "\"p99_noise\":4")).unwrap();
    let report: Value = serde_json::from_str(&stdout(room.path(), &line)).unwrap();
    assert!(report["cells"][0]["p99_noise"].as_f64().unwrap() >= 4.0);
}

#[test]
fn a_policy_is_compared_at_each_boundary_and_under_each_load() {
    let room = TempDir::new().unwrap();
    // Polling keeps its own promise in every cell, and so does active-check by polling.
    let text = stdout(room.path(), &format!("{SMALL} --compare poll"));
    let (whole, parts) = text
        .split_once("\n poll over the best other")
        .expect("the parts");
    assert!(whole.contains("\n poll over  "), "{text}");
    let cells = |part: &str| -> u64 {
        let mut lines = parts.lines().map(str::trim);
        let line = lines.find_map(|line| line.strip_prefix(part));
        let first = line.and_then(|line| line.split_whitespace().next());
        first.expect("a line").parse().expect("a number of cells")
    };
    // Three mechanisms, two depths and two loads at each of three boundaries.
    let boundaries = ["at the wall", "at the package", "at the cores"];
    assert_eq!(boundaries.map(cells), [12; 3]);
    assert_eq!(["closed", "open-40"].map(cells), [18; 2]);
}

#[test]
fn the_maps_are_a_picture_of_every_tile() {
    let room = TempDir::new().unwrap();
    let text = stdout(room.path(), &format!("{SMALL} --svg maps.svg --threads 2"));
    assert!(text.contains("every figure modelled"), "{text}");
    for heading in [
        "keeps*",
        "best*",
        "regret %*",
        "to oracle %*",
        "poll*",
        "umwait*",
    ] {
        assert!(text.contains(heading), "{heading}: {text}");
    }
    assert!(text.contains("eventfd, energy at wall"), "{text}");
    let svg = fs::read_to_string(room.path().join("maps.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("modelled on generic-server"));
    // Nine maps with two lines and two depths each, and the background.
    assert_eq!(svg.matches("<rect").count(), 9 * 4 + 1);
}

#[test]
fn the_same_command_gives_the_same_bytes_with_any_number_of_threads() {
    let room = TempDir::new().unwrap();
    let line = format!("{SMALL} --output json");
    assert!(stdout(room.path(), &line) == stdout(room.path(), &format!("{line} --threads 3")));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let room = TempDir::new().unwrap();
    fs::write(room.path().join("other"), "something else\n").unwrap();
    for (line, hints) in [
        (
            format!("{SMALL} --slo 2us"),
            ["slo: p99 of 2 us", "optane-p5800x"],
        ),
        (
            format!("{SMALL} --slo p99=9us,p99.9=8us"),
            ["--slo", "shorter"],
        ),
        (format!("{SMALL} --slo p200=9us"), ["--slo", "p99.9"]),
        (format!("{SMALL} --slo 0"), ["--slo", "promise"]),
        (
            format!("{SMALL} --state other"),
            ["--state other", "another"],
        ),
        ("twin grid --device nothing".into(), ["nothing", "hdd-7200"]),
        (
            "twin grid --load sometimes".into(),
            ["sometimes", "open-10"],
        ),
        ("twin grid --number_ios 10".into(), ["--number_ios", "1000"]),
        ("twin grid --iodepth 0".into(), ["--iodepth", "0"]),
        ("twin grid --svg x.svg".into(), ["--svg x.svg", "243"]),
    ] {
        let said = refused(room.path(), &line);
        for hint in hints {
            assert!(said.contains(hint), "{line}: {said}");
        }
    }
}

#[test]
fn a_state_has_one_writer() {
    let room = TempDir::new().unwrap();
    stdout(room.path(), &format!("{SMALL} --state grid.jsonl"));
    let state = room.path().join("grid.jsonl");
    let kept = fs::read_to_string(&state).unwrap();
    let file = fs::File::open(&state).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let said = failed(room.path(), &format!("{SMALL} --state grid.jsonl"), 2);
    assert!(said.contains("another joulio"), "{said}");
    assert!(fs::read_to_string(&state).unwrap() == kept);
}

#[test]
fn a_device_by_the_same_name_is_another_one() {
    let room = TempDir::new().unwrap();
    let profile = |name| fs::read_to_string(format!("../../profiles/devices/{name}.toml")).unwrap();
    let line = SMALL.replace("optane-p5800x", "a.toml,b.toml");
    fs::write(room.path().join("a.toml"), profile("optane-p5800x")).unwrap();
    fs::write(room.path().join("b.toml"), profile("optane-900p")).unwrap();
    stdout(room.path(), &format!("{line} --state grid.jsonl"));
    fs::write(room.path().join("a.toml"), profile("optane-900p")).unwrap();
    let said = failed(room.path(), &format!("{line} --state grid.jsonl"), 2);
    assert!(said.contains("another grid"), "{said}");
}

#[test]
fn the_state_of_another_grid_is_left_alone() {
    let room = TempDir::new().unwrap();
    stdout(room.path(), &format!("{SMALL} --state grid.jsonl"));
    let said = failed(
        room.path(),
        &format!("{SMALL} --state grid.jsonl --seed 2"),
        2,
    );
    assert!(said.contains("another"), "{said}");
}

#[test]
fn a_part_is_taken_from_the_state_of_a_larger_grid() {
    let room = TempDir::new().unwrap();
    stdout(room.path(), &format!("{SMALL} --state grid.jsonl"));
    let state = room.path().join("grid.jsonl");
    let kept = fs::read_to_string(&state).unwrap();
    let part = SMALL.replace("--iodepth 1,2", "--iodepth 2");
    let alone = stdout(room.path(), &format!("{part} --output csv"));
    assert!(
        stdout(
            room.path(),
            &format!("{part} --output csv --state grid.jsonl")
        ) == alone
    );
    assert!(fs::read_to_string(&state).unwrap() == kept);
    // A scenario that the file lacks is simulated and added; a device that its header lacks is refused.
    let more = SMALL.replace("--iodepth 1,2", "--iodepth 4");
    stdout(room.path(), &format!("{more} --state grid.jsonl"));
    assert_eq!(
        fs::read_to_string(&state).unwrap().lines().count(),
        1 + 36 + 18
    );
    let other = SMALL.replace("optane-p5800x", "hdd-7200");
    let said = failed(room.path(), &format!("{other} --state grid.jsonl"), 2);
    assert!(said.contains("another"), "{said}");
}

/// Waits until `process` has a thread called `name`.
fn has_thread(process: u32, name: &str) {
    wait_for("thread", || {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
        let mut names = tasks.flatten().map(|task| {
            let name = fs::read_to_string(task.path().join("comm"));
            name.unwrap_or_default()
        });
        names.any(|found| found.trim() == name).then_some(())
    });
}

#[test]
fn a_signal_ends_a_cell_that_would_take_hours() {
    let line = "twin grid --machine generic-server --device optane-p5800x --iodepth 1 --numjobs 1 --bs 4k --rwmixread 100 --load closed --number_ios 1000000000000";
    let child = begin(line);
    has_thread(child.id(), "joulio-signals");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("sent");
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{said}");
    assert!(said.contains("ended by SIGTERM; 0 of 9 cells"), "{said}");
}

#[test]
fn the_picture_and_the_state_are_two_files_however_they_are_named() {
    let room = TempDir::new().unwrap();
    let line = format!("{SMALL} --state out --svg {}/out", room.path().display());
    let said = refused(room.path(), &line);
    assert!(
        said.contains("--svg and --state name the same file"),
        "{said}"
    );
    assert!(!room.path().join("out").exists());
}
