//! `joulio lab report`: a page from results.

use crate::common::{joulio, refused, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use tempfile::TempDir;

const POLLING: &str = r#"
name = "polling"
title = "Polling beside interrupts"
published = "HS22"
[run]
runtime = "1s"
replicates = 3
[twin]
machine = "xeon-e3-1230v5"
device = "emulated:optane-900p"
number_ios = 500
[[sweep]]
name = "modes"
rw = "randread"
bs = ["4k", "32k"]
numjobs = [1, 8]
engine = "psync"
completion = ["poll", "hybrid", "interrupt"]
[[sweep]]
name = "alone"
on = "guest"
needs = "a guest"
rw = "randread"
[[table]]
id = "T1"
title = "Rates"
sweep = "modes"
where = { bs = "4k" }
rows = "completion"
columns = "numjobs"
metrics = ["iops"]
[[figure]]
id = "F1"
title = "The best"
kind = "best-tiles"
sweep = "modes"
x = "numjobs"
y = "bs"
best = "completion"
metric = "bytes_per_joule"
[[figure]]
id = "F2"
title = "What only a guest tells"
kind = "lines"
sweep = "alone"
x = "bs"
y = "iops"
needs = "a guest"
[[observation]]
id = "O1"
text = "Polling does more I/Os than interrupts."
shown = ["T1"]
headline = 1
rising = [{ sweep = "modes", metric = "iops", along = "completion", order = ["interrupt", "poll"] }]
[[observation]]
id = "O2"
text = "Interrupts do more I/Os than polling."
shown = ["F1"]
rising = [{ sweep = "modes", metric = "iops", along = "completion", order = ["poll", "interrupt"] }]
[[observation]]
id = "O3"
text = "A guest says so."
shown = ["F2"]
needs = "a guest"
"#;

fn reported() -> (TempDir, String) {
    let room = TempDir::new().unwrap();
    fs::write(room.path().join("polling.toml"), POLLING).unwrap();
    stdout(room.path(), "lab run polling.toml --twin --results out");
    let text = stdout(room.path(), "lab report out");
    (room, text)
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_and_a_single_file_has_its_report_beside_it() {
    let (room, _) = reported();
    fs::write(room.path().join("file"), "mine").unwrap();
    for folder in ["file", "file/below"] {
        let said = refused(room.path(), &format!("lab report out -o {folder}"));
        assert!(said.contains("name another folder"), "{said}");
    }
    let records = room.path().join("out/records.jsonl");
    fs::copy(records, room.path().join("polling.results.jsonl")).unwrap();
    stdout(room.path(), "lab report polling.results.jsonl");
    assert!(room.path().join("report/report.html").exists());
}

#[test]
fn a_report_judges_each_observation_and_says_what_it_rests_on() {
    let (room, text) = reported();
    assert!(
        text.contains("1 holds here, 1 does not hold, 1 was not run"),
        "{text}"
    );
    let report = fs::read_to_string(room.path().join("out/report/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let set = &report["experiments"][0]["sets"][0];
    assert_eq!(set["platform"], "twin");
    let outcomes = set["observed"].as_array().unwrap().iter();
    let outcomes: Vec<_> = outcomes
        .map(|one| one["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["holds", "differs", "no-data"]);
    for observed in set["observed"].as_array().unwrap() {
        assert_ne!(observed["because"], "", "{observed}");
    }
    // Published: 120,470 and 96,722 IOPS with one thread.
    let printed = set["tables"][0]["rows"][0]["cells"][0]["mean"]["published"][0].as_f64();
    assert_eq!(printed, Some(120_470.0));
    let needs = set["figures"][1]["problem"].as_str().unwrap();
    assert!(needs.contains("a guest"), "{needs}");
}

#[test]
fn sentences_are_broken_once_at_the_width_that_is_given() {
    let (room, _) = reported();
    let mut report = joulio("lab report out");
    let output = report
        .env("COLUMNS", "60")
        .current_dir(room.path())
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let table = text.split("\n\nThe page").next().unwrap();
    // A line is an outcome and its sentence, or the sentence's next words, below the first.
    let indent = |line: &str| line.chars().take_while(|c| *c == ' ').count();
    let indents: BTreeSet<_> = table.lines().skip(1).map(indent).collect();
    assert!(indents.len() == 2 && indents.contains(&1), "{text}");
    let width = |line: &str| line.chars().count();
    // The sign of an outcome is two characters in one column.
    assert!(table.lines().all(|line| width(line) <= 61), "{text}");
}

#[test]
fn a_page_is_one_file_with_every_figure_and_says_that_it_is_modelled() {
    let (room, text) = reported();
    assert!(text.contains("out/report/report.html"), "{text}");
    let page = fs::read_to_string(room.path().join("out/report/report.html")).unwrap();
    assert!(page.contains("Everything here is modelled."));
    for id in ["T1", "F1", "F2"] {
        assert!(page.contains(&format!("id=\"polling-twin-{id}\"")), "{id}");
    }
    // An item without data is a line with the reason, and not an empty box.
    assert!(page.contains("<li id=\"polling-twin-F2\">"), "{page}");
    assert!(page.contains("default-src 'none'"));
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    for file in [
        "report.md",
        "data/polling-twin-T1.csv",
        "data/polling-twin-F1.csv",
    ] {
        let file = room.path().join("out/report").join(file);
        assert!(fs::metadata(&file).unwrap().len() > 0, "{}", file.display());
    }
}

#[test]
fn results_that_are_none_or_of_another_experiment_are_one_line() {
    let (room, _) = reported();
    let refusal = |line: &str| refused(room.path(), line);
    assert!(refusal("lab report nowhere").contains("no results"));
    assert!(refusal("lab report out out").contains("make a report of each"));
    assert!(refusal("lab report out --experiment tiering").contains("is of polling"));
}
