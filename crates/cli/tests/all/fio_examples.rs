//! fio's own example files, if they are installed (Debian's package fio-examples): each of them runs, or is refused for
//! the reason in docs/fio.md.

use crate::common::joulio;
use std::collections::BTreeMap;
use std::env::var_os;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Flags that replace the files' values: their devices may be in use, and their runs are long.
const FLAGS: &str = "--device disk.img --size 1m --number_ios 20 --startdelay 0 --direct 1 --allow-write \
                     --meter none --quiet";

/// Number of example files in fio 3.33, which docs/fio.md describes.
const EXAMPLES: usize = 86;

/// Smallest number of files that run.
const MIN_RUN: usize = 10;

/// Returns the installed example files; empty if they are not installed.
fn examples() -> Vec<PathBuf> {
    let folder = var_os("JOULIO_FIO_EXAMPLES");
    let folder = folder.unwrap_or_else(|| "/usr/share/doc/fio/examples".into());
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|one| one == "fio"))
        .collect();
    paths.sort();
    paths
}

/// Runs the example at `path`; returns `None` if it runs, or the reason why not.
fn outcome(path: &Path) -> Option<String> {
    let room = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a room");
    let disk = room.path().join("disk.img");
    fs::write(&disk, vec![7; 4 << 20]).expect("written");
    let mut command = joulio("bench");
    command.arg(path).args(FLAGS.split_whitespace());
    // Variables that a file takes from the environment are not set.
    command.env_clear().current_dir(&room);
    let output = command.output().expect("it runs");
    let said = String::from_utf8(output.stderr).expect("text");
    if output.status.success() {
        return None;
    }
    if said.contains("no completion mode that was requested is available") {
        let why =
            "ioengine=io_uring_cmd: it runs on a whole NVMe namespace, and disk.img is a file";
        return Some(why.into());
    }
    assert_eq!(output.status.code(), Some(2), "{}: {said}", path.display());
    assert_eq!(said.lines().count(), 1, "{}: {said}", path.display());
    // Nothing was written.
    assert!(fs::read(&disk).expect("a file") == vec![7; 4 << 20]);
    let why = said.trim_end().trim_start_matches("joulio: ");
    let why = why.trim_start_matches(&*path.to_string_lossy());
    let why = why.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit());
    Some(why.trim_start().to_owned())
}

/// Returns the table of docs/fio.md on files that do not run: for each reason the files, and the option concerned.
fn table(refused: &[(String, String)]) -> String {
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (file, said) in refused {
        let (option, why) = said.split_once(": ").unwrap_or(("", said));
        let files = rows.entry(why).or_default();
        files.push(format!("{file} (`{option}`)"));
    }
    let rows = rows.iter();
    let rows = rows.map(|(why, files)| format!("| `{why}` | {} |\n", files.join(", ")));
    rows.collect()
}

#[test]
fn fios_examples_run_or_are_refused_as_the_page_says() {
    let examples = examples();
    if examples.is_empty() {
        eprintln!(
            "no example files of fio's: apt install fio-examples, or JOULIO_FIO_EXAMPLES=FOLDER"
        );
        return;
    }
    let mut refused = Vec::new();
    for path in &examples {
        let name = path.file_stem().expect("a name").to_string_lossy();
        refused.extend(outcome(path).map(|why| (name.into_owned(), why)));
    }
    let ran = examples.len() - refused.len();
    assert!(ran >= MIN_RUN, "{ran}: {refused:?}");
    if examples.len() != EXAMPLES {
        eprintln!(
            "{} example files: docs/fio.md is about the {EXAMPLES} of fio 3.33",
            examples.len()
        );
        return;
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/fio.md");
    let page = fs::read_to_string(page).expect("a page");
    let table = table(&refused);
    assert!(page.contains(&table), "docs/fio.md is to have:\n{table}");
    let counts = format!("Of the {EXAMPLES} example files that fio 3.33 ships, {ran} run");
    assert!(page.contains(&counts), "docs/fio.md is to say: {counts}");
}
