//! Claims about entries, their locks, and whose the files are.

use super::*;
use crate::power_states::feature::{FeatureChange, FeatureValue};
use joulio_nvme::Cancel;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn what(device: &str, value: u32) -> RecordedChange {
    RecordedChange::Feature(FeatureChange {
        device: device.into(),
        serial: "S1".into(),
        old: FeatureValue::PowerState { value },
        new: Vec::new(),
        boot: None,
    })
}

fn names(journal: &LockedJournal) -> Vec<std::ffi::OsString> {
    let entries = journal.entries().unwrap().into_iter();
    entries.map(|(_, name)| name).collect()
}

/// Everything in the directory.
fn files(journal: &Journal) -> Vec<String> {
    let files = fs::read_dir(journal.path()).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn an_entry_is_there_until_it_is_done() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal::at(room.path().join("a/b"));
    assert!(journal.lock_existing().unwrap().is_none());
    let locked = journal.lock().unwrap();
    let held = locked.begin(what("x", 3)).unwrap();
    let name = names(&locked).remove(0);
    // Its holder lives.
    assert!(matches!(locked.take(&name), Err(TakeError::Busy { .. })));
    let living = locked.living().unwrap();
    assert_eq!(living.len(), 1);
    assert_eq!(living[0].0, what("x", 3));
    drop(held);
    assert!(locked.living().unwrap().is_empty());
    let held = locked.take(&name).unwrap();
    assert_eq!(
        (held.entry.change.clone(), held.fresh),
        (what("x", 3), false)
    );
    locked.done(held).unwrap();
    assert!(files(&journal).is_empty());
}

#[test]
fn the_older_value_stays() {
    let room = tempfile::tempdir().unwrap();
    let locked = Journal::at(room.path()).lock().unwrap();
    drop(locked.begin(what("x", 0)).unwrap());
    let second = locked.begin(what("x", 2)).unwrap();
    assert_eq!(
        (second.entry.change.clone(), second.fresh),
        (what("x", 0), false)
    );
    let third = locked.begin(what("y", 2)).unwrap();
    assert_eq!((third.fresh, third.entry.number), (true, 2));
    drop((second, third));
    // The latest is the first to be restored.
    let found = names(&locked).into_iter();
    let numbers: Vec<u64> = found
        .map(|name| locked.take(&name).unwrap().entry.number)
        .collect();
    assert_eq!(numbers, [2, 1]);
}

#[test]
fn an_entry_of_a_feature_has_all_values_that_were_set_since_the_start_of_the_system() {
    let room = tempfile::tempdir().unwrap();
    let locked = Journal::at(room.path()).lock().unwrap();
    let state = |value| FeatureValue::PowerState { value };
    let change = |old, new: &[u32], boot: &str| FeatureChange {
        device: "x".into(),
        serial: "S1".into(),
        old: state(old),
        new: new.iter().map(|&value| state(value)).collect(),
        boot: Some(boot.into()),
    };
    let begun = |old, new, boot| {
        let what = RecordedChange::Feature(change(old, &[new], boot));
        drop(locked.begin(what).unwrap());
        let name = names(&locked).remove(0);
        let held = locked.take(&name).unwrap();
        let RecordedChange::Feature(found) = held.entry.change.clone() else {
            panic!("{:?}", held.entry)
        };
        found
    };
    assert_eq!(begun(0, 1, "first"), change(0, &[1], "first"));
    assert_eq!(begun(1, 2, "first"), change(0, &[1, 2], "first"));
    assert_eq!(begun(2, 1, "first"), change(0, &[1, 2], "first"));
    assert_eq!(begun(4, 3, "second"), change(4, &[3], "second"));
    assert_eq!(files(&Journal::at(room.path())).len(), 1);
}

#[test]
fn one_at_a_time() {
    let room = tempfile::tempdir().unwrap();
    let locked = Journal::at(room.path()).lock().unwrap();
    let _held = locked.begin(what("x", 0)).unwrap();
    assert!(matches!(
        locked.begin(what("x", 1)),
        Err(JournalError::Busy { .. })
    ));
}

#[test]
fn whoever_has_the_journal_keeps_others_from_it() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal::at(room.path());
    let locked = journal.lock().unwrap();
    let folder = Folder::open(journal.path()).unwrap().unwrap();
    let other = fs::File::open(journal.path()).unwrap();
    assert!(!folder::lock_file(&other).unwrap());
    drop(locked);
    assert!(folder.lock().unwrap());
    assert!(!folder::lock_file(&other).unwrap());
}

#[test]
fn a_directory_that_was_removed_meanwhile_is_not_the_one_that_is_locked() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal::at(room.path().join("journal"));
    let folder = Folder::create(journal.path()).unwrap();
    fs::remove_dir(journal.path()).unwrap();
    fs::create_dir(journal.path()).unwrap();
    assert!(!folder.lock().unwrap());
    drop(journal.lock().unwrap().begin(what("x", 1)).unwrap());
    assert_eq!(files(&journal).len(), 1);
}

#[test]
fn what_a_killed_run_was_writing_is_removed_and_nothing_else() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal::at(room.path());
    // Also of the process that has our number now.
    let own = format!(".{}.tmp", std::process::id());
    for name in [&own, ".4194303.tmp", ".1.tmp", ".x.tmp", ".tmp", "1.tmp"] {
        fs::write(room.path().join(name), "{").unwrap();
    }
    let living = fs::File::open(room.path().join(".1.tmp")).unwrap();
    assert!(folder::lock_file(&living).unwrap());
    let locked = journal.lock().unwrap();
    drop(locked.begin(what("x", 0)).unwrap());
    let mut left = files(&journal);
    left.retain(|name| !name.ends_with(".json"));
    left.sort();
    assert_eq!(left, [".1.tmp", ".tmp", ".x.tmp", "1.tmp"]);
    drop(living);
    restore_left(&locked, |_| false, &Cancel::default()).unwrap();
    assert!(!files(&journal).contains(&".1.tmp".into()));
}

#[test]
fn a_link_is_neither_written_through_nor_read_through() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal::at(room.path().join("journal"));
    let locked = journal.lock().unwrap();
    let elsewhere = room.path().join("elsewhere");
    fs::write(&elsewhere, "as it was").unwrap();
    let staged = journal.path().join(format!(".{}.tmp", std::process::id()));
    symlink(&elsewhere, &staged).unwrap();
    assert!(matches!(
        locked.begin(what("x", 0)),
        Err(JournalError::Io { .. })
    ));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "as it was");
    fs::remove_file(staged).unwrap();
    drop(locked.begin(what("x", 0)).unwrap());
    let entry = journal.path().join(names(&locked).remove(0));
    fs::rename(&entry, &elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    let name = names(&locked).remove(0);
    assert!(matches!(locked.take(&name), Err(TakeError::Unreadable(_))));
}

#[test]
fn a_directory_that_others_may_write_is_refused_with_what_to_do() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal::at(room.path().join("a/journal"));
    drop(journal.lock().unwrap());
    let mode = fs::metadata(journal.path()).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o700);
    for directory in [journal.path(), &room.path().join("a")] {
        let change = |mode| fs::set_permissions(directory, fs::Permissions::from_mode(mode));
        change(0o770).unwrap();
        let Err(error) = journal.lock() else {
            panic!("taken")
        };
        let said = error.to_string();
        assert!(said.contains("(mode 0770): chmod go-w"), "{said}");
        assert!(said.contains(&directory.display().to_string()), "{said}");
        change(0o755).unwrap();
        assert!(journal.lock().is_ok());
    }
    // An entry that others may write.
    let locked = journal.lock().unwrap();
    drop(locked.begin(what("x", 0)).unwrap());
    let name = names(&locked).remove(0);
    let entry = journal.path().join(&name);
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(locked.take(&name), Err(TakeError::Unreadable(_))));
}

#[test]
fn what_is_no_directory_is_refused() {
    let room = tempfile::tempdir().unwrap();
    let own = room.path().join("own");
    fs::create_dir(&own).unwrap();
    symlink(&own, room.path().join("link")).unwrap();
    fs::write(room.path().join("file"), "").unwrap();
    for name in ["link", "file"] {
        let locked = Journal::at(room.path().join(name)).lock();
        assert!(
            matches!(locked, Err(JournalError::NoDirectory { .. })),
            "{name}"
        );
    }
}

#[test]
fn a_directory_of_somebody_else_is_refused() {
    let room = tempfile::tempdir().unwrap();
    let journal = Journal::at(room.path().join("journal"));
    drop(journal.lock().unwrap());
    // That takes root.
    if std::os::unix::fs::chown(journal.path(), Some(65534), None).is_err() {
        eprintln!("not here: a directory is given away by root only");
        return;
    }
    let Err(error) = journal.lock() else {
        panic!("taken")
    };
    let said = error.to_string();
    assert!(
        said.contains("belongs to user 65534, not to user"),
        "{said}"
    );
}

#[test]
fn a_file_that_is_no_entry_is_kept_with_what_to_do() {
    let room = tempfile::tempdir().unwrap();
    let locked = Journal::at(room.path()).lock().unwrap();
    for (name, says) in [
        ("x.json", "not an entry of joulio's journal"),
        ("folder.json", "not a regular file"),
    ] {
        let path = room.path().join(name);
        match name.starts_with('x') {
            true => fs::write(&path, "{").unwrap(),
            false => fs::create_dir(&path).unwrap(),
        }
        let restored = restore_left(&locked, |_| true, &Cancel::default()).unwrap();
        let [RestoreOutcome::Kept(why)] = restored.as_slice() else {
            panic!("{restored:?}")
        };
        assert!(why.contains(says) && why.contains("remove it"), "{why}");
        assert_eq!(why.matches(name).count(), 1, "{why}");
        match name.starts_with('x') {
            true => fs::remove_file(&path).unwrap(),
            false => fs::remove_dir(&path).unwrap(),
        }
    }
}
