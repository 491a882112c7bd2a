//! The terminal output in tests/captures fits the terminals, and is what the commands print today.
//!
//! Figures of real runs differ each time, so only their headings are compared. Output that is modelled or read from
//! profiles is compared completely.

use crate::common::{joulio, thorough};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Captured output of a terminal.
struct Capture {
    name: String,
    width: usize,
    /// Command without the program's name.
    line: String,
    text: String,
}

fn captures() -> Vec<Capture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let files = fs::read_dir(folder).expect("captures");
    let paths = files.map(|file| file.expect("a file").path());
    let texts = paths.filter(|path| path.extension().is_some_and(|ext| ext == "txt"));
    let mut all: Vec<_> = texts
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            let (name, size) = name.rsplit_once('-').expect("NAME-80x24");
            let width = size.split('x').next().and_then(|width| width.parse().ok());
            let text = fs::read_to_string(&path).expect("a text");
            let (line, text) = text.split_once('\n').expect("a command and its output");
            Capture {
                name: name.into(),
                width: width.expect("80 or 120"),
                line: line.strip_prefix("$ joulio ").expect("a command").into(),
                text: text.into(),
            }
        })
        .collect();
    all.sort_by(|a, b| (&a.name, a.width).cmp(&(&b.name, b.width)));
    all
}

impl Capture {
    /// Returns what the command prints today in a terminal of this width.
    fn today(&self) -> String {
        let width = self.width.to_string();
        let output = joulio(&self.line).env("COLUMNS", width).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}: {output:?}", self.line);
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Returns true if every figure is modelled or a profile's.
    fn is_the_same_each_time(&self) -> bool {
        let begins = ["bench --twin ", "twin ", "profiles", "list "];
        begins.iter().any(|begin| self.line.starts_with(begin))
    }
}

/// First words of tables' header lines.
const FIRST: [&str; 5] = ["completion", "energy", "device", "meter", "#"];

/// Returns the headings of the tables in `text`, including those without room: which these are depends on the length of
/// the figures.
fn headings(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut in_list = false;
    for line in text.lines() {
        let list = line.trim_start().strip_prefix("no room for ");
        in_list = list.is_some() || in_list && !line.trim().is_empty();
        let words = match list {
            Some(list) => list,
            None if in_list => line,
            None => line,
        };
        let is_header = words
            .split_whitespace()
            .next()
            .is_some_and(|first| FIRST.contains(&first));
        if !in_list && !is_header {
            continue;
        }
        // The ruler above the bars of a trace consists of figures.
        let plain = |word: &str| word.trim_end_matches(',').trim_end_matches('*').to_owned();
        let split: Vec<_> = match in_list {
            true => words.split(',').map(|part| plain(part.trim())).collect(),
            false => words.split_whitespace().map(plain).collect(),
        };
        let split = split.into_iter().flat_map(|part| {
            let words: Vec<_> = part.split_whitespace().map(String::from).collect();
            words
        });
        // In the list of headings without room, columns that belong together are named by the first.
        let is_named = |word: &String| !matches!(word.as_str(), "to" | "+-");
        let split = split.filter(is_named);
        found.extend(split.filter(|word| word.parse::<f64>().is_err()));
    }
    found
}

#[test]
fn every_command_was_captured_in_both_terminals() {
    let found: BTreeSet<_> = captures()
        .iter()
        .map(|one| (one.name.clone(), one.width))
        .collect();
    for name in [
        "bench",
        "bench-twin",
        "twin-check",
        "profiles",
        "list",
        "stat",
        "trace",
    ] {
        for width in [80, 120] {
            assert!(found.contains(&(name.into(), width)), "{name} at {width}");
        }
    }
}

#[test]
fn no_captured_line_is_longer_than_its_terminal() {
    for capture in captures() {
        for line in capture.text.lines() {
            // Commands are not broken, so that they can be copied.
            let is_command = line.trim_start().starts_with("joulio ") && !line.contains("joulio: ");
            let fits = line.chars().count() <= capture.width || is_command;
            assert!(fits, "{} at {}: {line}", capture.name, capture.width);
        }
    }
}

/// Returns the captures to compare: those of both terminals, or in short tests those of the narrow one, without the one
/// that takes seconds.
fn held() -> Vec<Capture> {
    let all = captures().into_iter();
    all.filter(|one| thorough() || one.width == 80 && one.name != "twin-check")
        .collect()
}

#[test]
fn what_is_modelled_is_as_it_was_captured() {
    for capture in held().iter().filter(|one| one.is_the_same_each_time()) {
        let today = capture.today();
        assert!(
            today.trim_end() == capture.text.trim_end(),
            "{} at {}: make it anew by tests/captures/make, and look at it:\n{today}",
            capture.name,
            capture.width
        );
    }
}

#[test]
fn what_is_measured_has_the_headings_that_were_captured() {
    for capture in held().iter().filter(|one| !one.is_the_same_each_time()) {
        let (then, today) = (headings(&capture.text), headings(&capture.today()));
        assert!(then.len() > 3, "{}: {then:?}", capture.name);
        assert_eq!(
            then, today,
            "{} at {}: make it anew by tests/captures/make, and look at it",
            capture.name, capture.width
        );
    }
}
