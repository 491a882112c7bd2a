//! Claims about what is left of changes, with ones that fail and ones that panic.

use super::*;
use crate::knobs::Setting;
use crate::power_states::feature::{FeatureChange, FeatureError, FeatureValue};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Log = RefCell<Vec<String>>;

/// Change that writes in the log what is made and restored.
struct Fake<'a> {
    name: &'static str,
    journal: Journal,
    log: &'a Log,
    ends: Ends,
}

#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Well,
    InError,
    InPanic,
    NotRestored,
    Left,
}

impl Fake<'_> {
    fn note(&self, what: &str) {
        let entries = entries(&self.journal);
        let line = format!("{what} {} ({entries} entries)", self.name);
        self.log.borrow_mut().push(line);
    }
}

impl Restorable for Fake<'_> {
    fn record(&self) -> Option<RecordedChange> {
        Some(RecordedChange::Feature(FeatureChange {
            device: self.name.into(),
            serial: String::new(),
            old: FeatureValue::PowerState { value: 0 },
            new: Vec::new(),
            boot: None,
        }))
    }

    fn make(&self) -> Result<(), ChangeError> {
        self.note("make");
        match self.ends {
            Ends::InError => Err(ChangeError::Left("it failed".into())),
            Ends::InPanic => panic!("it panicked"),
            _ => Ok(()),
        }
    }

    fn restore(&self) -> Result<Vec<String>, RestoreError> {
        self.note("back");
        match self.ends {
            Ends::NotRestored => Err(FeatureError::Another {
                device: String::new(),
                found: String::new(),
                serial: "it stays".into(),
            }
            .into()),
            Ends::Left => Ok(vec!["left to others".into()]),
            _ => Ok(Vec::new()),
        }
    }
}

/// Entries there are: whoever makes a change has the journal.
fn entries(journal: &Journal) -> usize {
    let files = std::fs::read_dir(journal.path()).into_iter().flatten();
    files.count()
}

/// Changes of a process of its own.
fn alone<'a>(journal: Journal) -> Changes<'a> {
    Changes::with(
        Some(journal),
        Box::leak(Box::new(LiveChanges::new())),
        Box::new(|_| {}),
    )
}

struct Room {
    folder: tempfile::TempDir,
    log: Log,
}

impl Room {
    fn new() -> Room {
        Room {
            folder: tempfile::tempdir().unwrap(),
            log: Log::default(),
        }
    }

    fn journal(&self) -> Journal {
        Journal::at(self.folder.path())
    }

    fn changes<'a>(&self) -> Changes<'a> {
        alone(self.journal())
    }

    fn fake(&self, name: &'static str, ends: Ends) -> Fake<'_> {
        Fake {
            name,
            journal: self.journal(),
            log: &self.log,
            ends,
        }
    }

    fn log(&self) -> Vec<String> {
        self.log.borrow().clone()
    }

    fn entries(&self) -> usize {
        entries(&self.journal())
    }
}

#[test]
fn it_is_written_down_before_it_is_made_and_restored_in_reverse() {
    let room = Room::new();
    let mut changes = room.changes();
    for name in ["a", "b"] {
        assert!(changes.set(room.fake(name, Ends::Well)).is_ok());
    }
    assert!(changes.finish().is_ok_and(|notes| notes.is_empty()));
    let expected = [
        "make a (1 entries)",
        "make b (2 entries)",
        "back b (2 entries)",
        "back a (1 entries)",
    ];
    assert_eq!(room.log(), expected);
    assert_eq!(room.entries(), 0);
}

#[test]
fn one_that_fails_is_restored_at_once_and_those_before_it_when_dropped() {
    let room = Room::new();
    {
        let mut changes = room.changes();
        assert!(changes.set(room.fake("a", Ends::Well)).is_ok());
        let failed = changes.set(room.fake("b", Ends::InError));
        assert!(failed.is_err_and(|error| error.to_string().contains("it failed")));
        assert_eq!(room.entries(), 1);
    }
    assert_eq!(
        room.log()[2..],
        ["back b (2 entries)", "back a (1 entries)"]
    );
    assert_eq!(room.entries(), 0);
}

#[test]
fn a_panic_in_the_middle_of_a_change_restores_all() {
    let room = Room::new();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut changes = room.changes();
        let _ = changes.set(room.fake("a", Ends::Well));
        let _ = changes.set(room.fake("b", Ends::InPanic));
    }));
    assert!(ended.is_err());
    assert_eq!(
        room.log()[2..],
        ["back b (2 entries)", "back a (1 entries)"]
    );
    assert_eq!(room.entries(), 0);
}

#[test]
fn what_cannot_be_restored_stays_written_down_and_the_rest_is_restored() {
    let room = Room::new();
    let mut changes = room.changes();
    for (name, ends) in [
        ("a", Ends::Left),
        ("b", Ends::NotRestored),
        ("c", Ends::Well),
    ] {
        assert!(changes.set(room.fake(name, ends)).is_ok());
    }
    let failed = changes.finish();
    assert!(failed.is_err_and(|error| error.to_string().contains("it stays; `joulio restore`")));
    assert_eq!(room.log().len(), 6);
    assert_eq!(room.entries(), 1);
}

#[test]
fn what_was_left_to_somebody_else_is_reported() {
    let room = Room::new();
    let mut changes = room.changes();
    assert!(changes.set(room.fake("a", Ends::Left)).is_ok());
    assert!(
        changes
            .finish()
            .is_ok_and(|notes| notes == ["left to others"])
    );
    assert_eq!(room.entries(), 0);
}

/// A disk `d` with requests 256.
fn tree() -> (tempfile::TempDir, std::path::PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let queue = root.path().join("sys/block/d/queue");
    std::fs::create_dir_all(&queue).unwrap();
    std::fs::write(queue.join("nr_requests"), "256").unwrap();
    (root, queue.join("nr_requests"))
}

#[test]
fn a_kill_between_the_entry_and_the_change_leaves_nothing() {
    let (root, file) = tree();
    let room = Room::new();
    let knob = Knob::queue("d", Setting::NrRequests);
    let change = Knobs::at(root.path()).plan(&knob, "64").unwrap();
    let root = root.path().to_path_buf();
    let locked = room.journal().lock().unwrap();
    drop(
        locked
            .begin(RecordedChange::Knob(KnobChange {
                root,
                change,
                stays: false,
            }))
            .unwrap(),
    );
    assert_eq!(room.entries(), 1);
    let restored = restore_left(&locked, |_| true, &Cancel::default()).unwrap();
    assert!(matches!(&restored[..], [RestoreOutcome::Restored(_)]));
    assert_eq!(room.entries(), 0);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "256");
}

#[test]
fn a_panic_in_a_run_restores_its_knobs() {
    let (root, file) = tree();
    let room = Room::new();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut changes = room.changes();
        let knob = Knob::queue("d", Setting::NrRequests);
        assert!(changes.knobs(root.path(), &[(knob, "64")]).is_ok());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "64\n");
        panic!("in the run");
    }));
    assert!(ended.is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "256\n");
    assert_eq!(room.entries(), 0);
}

#[test]
fn the_same_is_not_changed_twice() {
    let room = Room::new();
    let mut changes = room.changes();
    assert!(changes.set(room.fake("a", Ends::Well)).is_ok());
    let twice = changes.set(room.fake("a", Ends::Well));
    assert!(matches!(twice, Err(ChangeError::Twice(_))));
    assert_eq!(room.log().len(), 1);
}

#[test]
fn what_is_left_on_purpose_stays_written_down() {
    let room = Room::new();
    let mut changes = room.changes();
    assert!(changes.set(room.fake("a", Ends::Well)).is_ok());
    changes.leave();
    assert_eq!((room.log().len(), room.entries()), (1, 1));
}
