//! Claims about entries and their locks.

use super::*;
use crate::power_states::feature::{Feature, Old};

fn what(device: &str, value: u32) -> What {
    What::Feature(Feature {
        device: device.into(),
        serial: "S1".into(),
        old: Old::PowerState { value },
    })
}

fn begin(journal: &Journal, what: What) -> Held {
    let held = journal.begin(what);
    held.unwrap_or_else(|failure| panic!("{}", failure.message()))
}

fn files(journal: &Journal) -> Vec<PathBuf> {
    let entries = journal.entries();
    let entries = entries.unwrap_or_else(|failure| panic!("{}", failure.message()));
    entries.into_iter().map(|(_, path)| path).collect()
}

#[test]
fn an_entry_is_there_until_it_is_done() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal(room.path().join("a/b"));
    assert!(files(&journal).is_empty());
    let held = begin(&journal, what("x", 3));
    let files = files(&journal);
    assert_eq!(files.len(), 1);
    // Its holder lives.
    assert!(matches!(take(&files[0]), Err(Untaken::Busy)));
    drop(held);
    let Ok(held) = take(&files[0]) else {
        panic!("not to be had")
    };
    assert_eq!((held.entry.what.clone(), held.fresh), (what("x", 3), false));
    assert!(held.done().is_ok());
    assert!(matches!(take(&files[0]), Err(Untaken::Gone)));
    assert!(fs::read_dir(journal.path()).unwrap().next().is_none());
}

#[test]
fn the_older_value_stays() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal(room.path().into());
    drop(begin(&journal, what("x", 0)));
    let second = begin(&journal, what("x", 2));
    assert_eq!(
        (second.entry.what.clone(), second.fresh),
        (what("x", 0), false)
    );
    let third = begin(&journal, what("y", 2));
    assert_eq!((third.fresh, third.entry.number), (true, 2));
    // The latest is the first to be put back.
    let found = files(&journal).into_iter().map(|path| read(&path).unwrap());
    let devices: Vec<bool> = found.map(|text| text.contains("\"y\"")).collect();
    assert_eq!(devices, [true, false]);
}

#[test]
fn one_at_a_time() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal(room.path().into());
    let _held = begin(&journal, what("x", 0));
    assert!(matches!(
        journal.begin(what("x", 1)),
        Err(Failure::Input(_))
    ));
}
