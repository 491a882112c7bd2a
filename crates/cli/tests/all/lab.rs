//! `joulio lab`: experiments from files.

use crate::common::{failed, joulio, killed_five_times, lab_ran, refused, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const SMALL: &str = r#"
name = "small"
title = "A small one"
[run]
runtime = "1s"
replicates = 2
[twin]
machine = "xeon-e3-1230v5"
device = "emulated:optane-900p"
number_ios = 20000
[emulated]
device = "emulated:instant,size=1M"
number_ios = 500
ramp_time = "0"
meter = "none"
[[sweep]]
name = "sizes"
rw = "randread"
bs = ["4k", "8k", "16k"]
completion = ["poll", "interrupt"]
[[figure]]
id = "F1"
title = "Rates"
kind = "lines"
sweep = "sizes"
x = "bs"
y = "iops"
"#;

fn room() -> TempDir {
    let room = TempDir::new().unwrap();
    fs::write(room.path().join("small.toml"), SMALL).unwrap();
    room
}

/// Returns the sweep, factors and repetition of each record in `folder`.
fn runs(folder: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.join("records.jsonl")).unwrap();
    let records = text.lines().skip(1).map(|line| {
        let record: Value = serde_json::from_str(line).expect("a whole line");
        format!(
            "{} {} {}",
            record["sweep"], record["point"], record["replicate"]
        )
    });
    records.collect()
}

#[test]
fn the_list_has_the_papers_and_our_own() {
    let text = stdout(room().path(), "lab list");
    for name in [
        "hotstorage20",
        "hotstorage22",
        "hotstorage23",
        "hotstorage25",
        "first-hour",
        "interfaces",
        "shared-core",
        "tiering",
    ] {
        assert!(
            text.lines()
                .any(|line| line.split_whitespace().next() == Some(name)),
            "{text}"
        );
    }
}

#[test]
fn every_experiment_can_be_planned_in_virtual_time_and_on_the_emulator() {
    let room = room();
    for name in [
        "hotstorage20",
        "hotstorage22",
        "hotstorage25",
        "first-hour",
        "interfaces",
        "tiering",
    ] {
        let plan = stdout(room.path(), &format!("lab plan {name} --twin --quick"));
        assert!(plan.contains("In all "), "{plan}");
    }
    let plan = stdout(room.path(), "lab plan small.toml --emulated");
    assert!(plan.contains("F1") && plan.contains("sizes"), "{plan}");
    // No file was created.
    assert_eq!(fs::read_dir(room.path()).unwrap().count(), 1);
}

#[test]
fn sizes_that_jobs_take_in_turn_can_be_planned() {
    let room = room();
    fs::write(room.path().join("disk.img"), vec![0_u8; 1 << 20]).unwrap();
    let text = SMALL.replace("\"poll\", ", "").replace(
        "bs = [\"4k\", \"8k\", \"16k\"]",
        "bs = \"4k:8k\"\nnumjobs = 2",
    );
    fs::write(room.path().join("small.toml"), text).unwrap();
    let plan = stdout(room.path(), "lab plan small.toml --device ./disk.img");
    assert!(!plan.contains("Unavailable"), "{plan}");
}

#[test]
fn an_experiment_runs_on_the_emulator_and_goes_on() {
    let room = room();
    let text = lab_ran(joulio("lab run small.toml --emulated --results out").current_dir(&room));
    assert!(
        text.contains("12 run(s), 12 of them now; 12 with figures"),
        "{text}"
    );
    let text = lab_ran(
        joulio("lab run small.toml --emulated --results out --replicates 3").current_dir(&room),
    );
    assert!(
        text.contains("18 run(s), 6 of them now; 18 with figures"),
        "{text}"
    );
    let folder = room.path().join("out");
    assert_eq!(runs(&folder).len(), 18);
    let manifests = fs::read_to_string(folder.join("manifests.jsonl")).unwrap();
    let manifest: Value = serde_json::from_str(manifests.lines().next().unwrap()).unwrap();
    assert_eq!(
        manifest["manifest"]["devices"][0]["name"],
        "emulated:instant,size=1M"
    );
    assert!(manifest["manifest"]["kernel"].is_string());
    // On another platform it is another campaign.
    let said = refused(room.path(), "lab run small.toml --twin --results out");
    assert!(said.contains("results of another experiment"), "{said}");
}

#[test]
fn killed_five_times_a_campaign_has_the_same_runs() {
    let room = room();
    let folder = room.path().join("out");
    let words = "lab run small.toml --emulated --results out";
    killed_five_times(room.path(), words, &folder.join("records.jsonl"));
    lab_ran(joulio(words).current_dir(&room));
    let whole = TempDir::new().unwrap();
    fs::copy(
        room.path().join("small.toml"),
        whole.path().join("small.toml"),
    )
    .unwrap();
    lab_ran(joulio(words).current_dir(&whole));
    assert_eq!(runs(&folder), runs(&whole.path().join("out")));
    assert_eq!(runs(&folder).len(), 12);
}

#[test]
fn shards_are_merged_to_the_same_bytes() {
    let room = room();
    for shard in 1..=4 {
        stdout(
            room.path(),
            &format!("lab run small.toml --twin --shard {shard}/4 --results s{shard}"),
        );
    }
    let merge = |order: &str, into: &str| {
        let text = stdout(room.path(), &format!("lab merge {order} --results {into}"));
        assert!(text.contains("12 record(s) of 4 folder(s)"), "{text}");
        fs::read(room.path().join(into).join("records.jsonl")).unwrap()
    };
    let one = merge("s1 s2 s3 s4", "one");
    assert_eq!(one, merge("s3 s1 s4 s2", "two"));
    let said = refused(room.path(), "lab merge s1 s2 --results one");
    assert!(said.contains("--force"), "{said}");
    stdout(room.path(), "lab merge s4 s2 s1 s3 --results one --force");
    assert_eq!(one, merge("one one s1 s2", "three"));
}

#[test]
fn shards_that_run_side_by_side_are_those_of_one_run() {
    let room = room();
    let joulio = assert_cmd::cargo::cargo_bin!("joulio")
        .display()
        .to_string();
    let parallel = Path::new("/usr/bin/parallel").exists();
    // The commands of docs/lab.md.
    let script = match parallel {
        true => {
            "parallel -j 3 \"$JOULIO\" lab run small.toml --twin --shard {}/3 --results s{} ::: 1 2 3"
        }
        false => {
            "for k in 1 2 3; do \"$JOULIO\" lab run small.toml --twin --shard $k/3 --results s$k & done; wait"
        }
    };
    let ended = std::process::Command::new("bash")
        .args(["-c", script])
        .env("JOULIO", joulio)
        .env("HOME", room.path())
        .current_dir(&room)
        .output()
        .unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    stdout(room.path(), "lab merge s2 s3 s1 --results merged");
    stdout(room.path(), "lab run small.toml --twin --results whole");
    let merged = runs(&room.path().join("merged"));
    assert_eq!(merged, runs(&room.path().join("whole")));
    assert_eq!(merged.len(), 12);
}

#[test]
fn measured_results_stand_beside_virtual_times_if_asked() {
    let room = room();
    let line = "lab run first-hour --quick --twin";
    stdout(room.path(), &format!("{line} --results model"));
    stdout(
        room.path(),
        &format!("{line} --machine xeon-e3-1230v5 --results here"),
    );
    // A modelled machine takes the place of a measured one, because its times do not depend on the load.
    let records = room.path().join("here/records.jsonl");
    let text = fs::read_to_string(&records).unwrap();
    assert!(text.contains("\"platform\":\"twin\""));
    let text = text.replace("\"platform\":\"twin\"", "\"platform\":\"real\"");
    fs::write(&records, text).unwrap();
    let said = refused(room.path(), "lab compare here model");
    assert!(said.contains("--model"), "{said}");
    let text = stdout(room.path(), "lab compare here model --model --all");
    assert!(text.contains("latency_us"), "{text}");
    // Modelled energy is not compared with modelled energy.
    assert!(!text.contains("ios_per_joule"), "{text}");
    let said = refused(room.path(), "lab compare nothing model --model");
    assert!(said.contains("no results"), "{said}");
}

#[test]
fn what_differs_between_two_folders_is_listed() {
    let room = room();
    stdout(
        room.path(),
        "lab run small.toml --twin --results one --replicates 3",
    );
    stdout(
        room.path(),
        "lab run small.toml --twin --results two --replicates 3 --machine xeon-6230",
    );
    let text = stdout(room.path(), "lab compare one two");
    assert!(
        text.contains("machine: xeon-e3-1230v5 and xeon-6230"),
        "{text}"
    );
    assert!(text.contains("latency_us"), "{text}");
    let same = stdout(room.path(), "lab compare one one");
    assert!(same.contains("0 of "), "{same}");
    lab_ran(joulio("lab run small.toml --emulated --results three").current_dir(&room));
    let said = refused(room.path(), "lab compare one three");
    assert!(
        said.contains("virtual time") && said.contains("an emulated device"),
        "{said}"
    );
    stdout(room.path(), "lab run tiering --twin --quick --results four");
    let said = refused(room.path(), "lab compare one four");
    assert!(
        said.contains("has results of small") && said.contains("of tiering"),
        "{said}"
    );
}

#[test]
fn bad_input_is_one_line() {
    let room = room();
    let path = |name: &str| room.path().join(name);
    fs::write(
        path("typo.toml"),
        SMALL.replace("completion =", "completions ="),
    )
    .unwrap();
    fs::write(
        path("mode.toml"),
        SMALL.replace("\"interrupt\"]", "\"interupt\"]"),
    )
    .unwrap();
    fs::write(
        path("factor.toml"),
        SMALL.replace("x = \"bs\"", "x = \"bs\"\nwhere = { blocksize = \"4k\" }"),
    )
    .unwrap();
    fs::write(
        path("device.toml"),
        SMALL.replace("instant,size=1M", "nothing"),
    )
    .unwrap();
    for (line, hint) in [
        ("lab run", "required"),
        (
            "lab run small.toml --twin --meter none",
            "--meter with --twin: nothing is measured",
        ),
        (
            "lab run nothing --twin",
            "no experiment 'nothing': there are hotstorage20",
        ),
        ("lab run ./nothing.toml --twin", "No such file"),
        (
            "lab run typo.toml --twin",
            "typo.toml: line 20: unknown field `completions`",
        ),
        ("lab run mode.toml --twin", "sweep 'sizes': completion: "),
        ("lab run factor.toml --twin", "no factor 'blocksize'"),
        ("lab run small.toml", "name what to run on"),
        (
            "lab run small.toml --twin --emulated",
            "cannot be used with",
        ),
        (
            "lab run small.toml --twin --device ./x",
            "virtual time has the devices",
        ),
        (
            "lab run small.toml --emulated --device ./x",
            "leave --emulated out",
        ),
        ("lab run small.toml --twin --shard 5/4", "is not a shard"),
        ("lab run small.toml --twin --machine nothing", "nothing"),
        (
            "lab run small.toml --twin --sweep sizes,nothing",
            "--sweep nothing: its sweeps are sizes",
        ),
        (
            "lab plan hotstorage23 --emulated --shard x",
            "is not a shard",
        ),
        (
            "lab run hotstorage23 --emulated --sweep latency",
            "nothing of hotstorage23 can be run here",
        ),
        (
            "lab run small.toml --device ./none.img --results none",
            "nothing of small can be run here: ./none.img: No such file",
        ),
        ("lab merge a b --results c", "no results"),
        ("lab compare a b", "no results"),
    ] {
        let said = refused(room.path(), line);
        assert!(said.contains(hint), "{line}: {said}");
    }
    // A device that cannot be opened is only found during the run, which makes the command fail.
    let said = failed(
        room.path(),
        "lab run device.toml --emulated --results out",
        1,
    );
    assert!(
        said.contains("no run has figures") && said.contains("nothing"),
        "{said}"
    );
}

#[test]
fn a_device_that_vanishes_marks_its_runs_and_the_rest_goes_on() {
    let room = room();
    let disk = room.path().join("disk.img");
    fs::write(&disk, vec![0_u8; 1 << 20]).unwrap();
    let line = "lab run small.toml --device ./disk.img+./gone.img --results out --meter none";
    let text = SMALL
        .replace("runtime = \"1s\"", "number_ios = 100\nramp_time = \"0\"")
        .replace("\"poll\", ", "");
    fs::write(room.path().join("small.toml"), text).unwrap();
    let assert = joulio(line).current_dir(&room).assert();
    let output = assert.get_output();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("6 run(s) failed") && said.contains("gone.img"),
        "{said}"
    );
    let text = fs::read_to_string(room.path().join("out/records.jsonl")).unwrap();
    let records = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records: Vec<_> = records.collect();
    assert_eq!(records.len(), 12);
    let marked = records
        .iter()
        .filter(|one| one["result"]["failure"].is_string());
    assert_eq!(marked.count(), 6);
    let done = records
        .iter()
        .filter(|one| one["result"]["all"]["ios"] == 100);
    assert_eq!(done.count(), 6);
    // The file exists again: the failed runs are repeated.
    fs::copy(&disk, room.path().join("gone.img")).unwrap();
    let text = lab_ran(joulio(line).current_dir(&room));
    assert!(
        text.contains("12 run(s), 6 of them now; 12 with figures"),
        "{text}"
    );
}

#[test]
fn runs_that_are_all_kept_apart_are_no_success() {
    let room = room();
    // A policy that learns cannot learn in a single I/O.
    let text = SMALL
        .replace("\"poll\", \"interrupt\"", "\"hybrid\"")
        .replace("number_ios = 500", "number_ios = 1");
    fs::write(room.path().join("small.toml"), text).unwrap();
    let line = "lab run small.toml --emulated --results out";
    let said = failed(room.path(), line, 1);
    assert!(
        said.contains("every run with figures is kept apart") && said.contains("--results"),
        "{said}"
    );
    let text = fs::read_to_string(room.path().join("out/records.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let why = first["result"]["spoiled"][0]["why"].as_str().unwrap();
    assert!(said.contains(why), "{said}");
    // The same command does nothing more, and prints the same.
    assert_eq!(failed(room.path(), line, 1), said);
    let said = refused(room.path(), "lab compare out out");
    assert!(said.contains("out has no figures"), "{said}");
    assert_eq!(runs(&room.path().join("out")).len(), 6);
}

#[test]
fn a_full_disk_ends_with_what_is_to_be_done() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let room = room();
    // A limit on the size of files simulates a full disk.
    let command = format!(
        "ulimit -f 12; trap '' XFSZ; exec {} lab run small.toml --twin --results out",
        assert_cmd::cargo::cargo_bin!("joulio").display()
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &command])
        .current_dir(&room)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("not all runs are in it: make room"), "{said}");
    // It ends there, rather than to measure for nothing.
    let done = String::from_utf8_lossy(&output.stdout);
    assert!(
        done.contains("12 run(s)") && !done.contains("12 of them now"),
        "{done}"
    );
    let text = stdout(room.path(), "lab run small.toml --twin --results out");
    assert!(text.contains("12 with figures"), "{text}");
    assert_eq!(runs(&room.path().join("out")).len(), 12);
}

#[test]
fn a_folder_of_other_results_is_refused_by_its_flag() {
    let room = TempDir::new().unwrap();
    let run = |experiment: &str| format!("lab run {experiment} --twin --quick --results here");
    stdout(room.path(), &run("shared-core"));
    let said = refused(room.path(), &run("interfaces"));
    assert!(
        said.contains("--results here: it has the results of another experiment"),
        "{said}"
    );
}
