//! Processes that change settings and restore them at once: threads with a journal each.

use super::*;
use crate::knobs::Setting;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread::scope;
use tempfile::TempDir;

/// A disk `d`, and a journal.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(machine.root().join("sys/block/d/queue")).unwrap();
        for (file, text) in [
            ("scheduler", "none [mq-deadline] kyber"),
            ("nr_requests", "256"),
            ("nomerges", "0"),
        ] {
            std::fs::write(machine.queue(file), text).unwrap();
        }
        machine
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn queue(&self, file: &str) -> PathBuf {
        self.root().join("sys/block/d/queue").join(file)
    }

    fn journal(&self) -> Journal {
        Journal::at(self.folder.path().join("journal"))
    }

    fn changes(&self) -> Changes<'static> {
        let live = Box::leak(Box::new(LiveChanges::new()));
        Changes::with(Some(self.journal()), live, Box::new(|_| {}))
    }

    fn begun(&self, wanted: &[(Setting, &str)]) -> Result<Changes<'static>, ChangeError> {
        let wanted: Vec<_> = wanted
            .iter()
            .map(|&(s, v)| (Knob::queue("d", s), v))
            .collect();
        let mut changes = self.changes();
        changes.knobs(&self.root(), &wanted)?;
        Ok(changes)
    }

    /// Leaves the changes `wanted` as a killed process does.
    fn left_behind(&self, wanted: &[(Setting, &str)]) {
        self.begun(wanted).unwrap().leave();
    }

    /// Applies `scheduler` as a change that stays.
    fn apply(&self, scheduler: &str) -> Result<(), ChangeError> {
        let mut changes = self.changes().staying();
        let knob = Knob::queue("d", Setting::Scheduler);
        let applied = changes.knobs(&self.root(), &[(knob, scheduler)]);
        changes.leave();
        applied
    }

    fn restored(&self) -> Vec<RestoreOutcome> {
        match self.journal().lock_existing().unwrap() {
            Some(locked) => restore_left(&locked, |_| true, &Cancel::default()).unwrap(),
            None => Vec::new(),
        }
    }

    fn restore(&self) {
        for one in self.restored() {
            assert!(!matches!(one, RestoreOutcome::Kept(_)), "{one:?}");
        }
    }

    fn values(&self) -> [String; 3] {
        ["scheduler", "nr_requests", "nomerges"].map(|file| {
            let text = std::fs::read_to_string(self.queue(file)).unwrap();
            text.trim().into()
        })
    }

    fn entries(&self) -> usize {
        let files = std::fs::read_dir(self.journal().path());
        files.into_iter().flatten().count()
    }
}

/// The scheduler was changed last, beside requests that are not as they were: restored in another
/// order, they stay so.
const LEFT: [(Setting, &str); 2] = [(Setting::NrRequests, "64"), (Setting::Scheduler, "kyber")];

#[test]
fn restores_and_beginning_runs_at_once_lose_nothing() {
    // Each round waits for the disk, as the journal outlives a power failure.
    let rounds = match std::env::var_os("JOULIO_THOROUGH") {
        Some(_) => 200,
        None => 20,
    };
    for round in 0..rounds {
        let machine = Machine::new();
        machine.left_behind(&LEFT);
        let start = Barrier::new(4);
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    start.wait();
                    machine.restore();
                });
            }
            for wanted in [(Setting::NrRequests, "64"), (Setting::Nomerges, "2")] {
                let (machine, start) = (&machine, &start);
                scope.spawn(move || {
                    start.wait();
                    let changes = machine.begun(&[wanted]).unwrap();
                    // It is under the value that it requested.
                    let now = machine.values();
                    let index = if wanted.0 == Setting::NrRequests {
                        1
                    } else {
                        2
                    };
                    assert_eq!(now[index], wanted.1);
                    changes.finish().unwrap();
                });
            }
        });
        let values = machine.values();
        assert_eq!(values, ["mq-deadline", "256", "0"], "round {round}");
        assert_eq!(machine.entries(), 0, "round {round}");
    }
}

#[test]
fn what_goes_with_a_setting_that_another_run_holds_is_refused() {
    let machine = Machine::new();
    let scheduler = machine.begun(&[(Setting::Scheduler, "kyber")]).unwrap();
    // A change of the scheduler resets the requests: whoever ends first would undo the other.
    let refused = machine.begun(&[(Setting::NrRequests, "64")]);
    let said = refused.err().unwrap().to_string();
    assert!(
        said.contains("nr_requests of d: another joulio")
            && said.contains(" has changed scheduler of d, which it depends on"),
        "{said}"
    );
    machine
        .begun(&[(Setting::Nomerges, "2")])
        .unwrap()
        .finish()
        .unwrap();
    scheduler.finish().unwrap();
    assert_eq!(machine.values(), ["mq-deadline", "256", "0"]);
}

#[test]
fn a_value_that_another_run_holds_for_a_while_is_no_value_to_rely_on() {
    let machine = Machine::new();
    let held = machine.begun(&[(Setting::NrRequests, "64")]).unwrap();
    let same = machine.begun(&[(Setting::NrRequests, "64")]);
    assert!(matches!(
        same,
        Err(ChangeError::Journal(JournalError::Busy { .. }))
    ));
    held.finish().unwrap();
    // One's own, in one run, is.
    let mut changes = machine.begun(&[(Setting::NrRequests, "64")]).unwrap();
    let knob = Knob::queue("d", Setting::NrRequests);
    changes.knobs(&machine.root(), &[(knob, "64")]).unwrap();
    changes.finish().unwrap();
    assert_eq!(
        (machine.values()[1].as_str(), machine.entries()),
        ("256", 0)
    );
}

#[test]
fn the_last_resort_restores_all_and_nothing_is_changed_after_it() {
    let machine = Machine::new();
    let live: &'static LiveChanges = Box::leak(Box::new(LiveChanges::new()));
    // Not dropped: it would wait for what is locked for good.
    let mut changes = ManuallyDrop::new(Changes::with(
        Some(machine.journal()),
        live,
        Box::new(|_| {}),
    ));
    let knobs = LEFT.map(|(setting, value)| (Knob::queue("d", setting), value));
    changes.knobs(&machine.root(), &knobs).unwrap();
    assert_eq!(machine.entries(), 2);
    let done = live.restore_for_good(std::time::Duration::ZERO, &Cancel::default());
    let lines = [
        "scheduler of d: mq-deadline restored",
        "nr_requests of d: 256 restored",
    ];
    assert_eq!(
        done,
        ForcedRestore::Restored(lines.map(String::from).into())
    );
    assert_eq!(machine.values(), ["mq-deadline", "256", "0"]);
    assert_eq!(machine.entries(), 0);
    assert!(live.is_locked());
}

#[test]
fn the_last_resort_does_not_wait_for_ever_for_a_change_that_is_being_made() {
    let live: &'static LiveChanges = Box::leak(Box::new(LiveChanges::new()));
    let _being_made = live.lock();
    let done = live.restore_for_good(std::time::Duration::ZERO, &Cancel::default());
    assert!(matches!(done, ForcedRestore::Kept(_)));
}

#[test]
fn what_is_to_stay_is_left_by_later_runs_and_restored_by_restore() {
    let machine = Machine::new();
    machine.apply("none").unwrap();
    // Of another setting, and of the same: each restores what it found.
    for wanted in [(Setting::Nomerges, "2"), (Setting::Scheduler, "kyber")] {
        let run = machine.begun(&[wanted]).unwrap();
        run.finish().unwrap();
        assert_eq!(machine.values(), ["none", "256", "0"], "{wanted:?}");
    }
    // What a killed run left is restored to it.
    machine.left_behind(&[(Setting::Scheduler, "kyber")]);
    assert_eq!(machine.entries(), 2);
    let next = machine.begun(&[(Setting::Nomerges, "2")]).unwrap();
    next.finish().unwrap();
    assert_eq!(
        (machine.values()[0].as_str(), machine.entries()),
        ("none", 1)
    );
    // A later one takes its place, and the first value is not forgotten.
    machine.apply("kyber").unwrap();
    assert_eq!(
        (machine.values()[0].as_str(), machine.entries()),
        ("kyber", 1)
    );
    machine.restore();
    assert_eq!(machine.values(), ["mq-deadline", "256", "0"]);
    assert_eq!(machine.entries(), 0);
}

/// As when a run or a restore is killed, or a file cannot be written, between the two.
#[test]
fn what_a_scheduler_resets_is_restored_after_it_also_by_a_later_attempt() {
    let machine = Machine::new();
    let requests = machine.queue("nr_requests");
    for by_restore in [false, true] {
        let run = machine.begun(&[(Setting::Scheduler, "kyber")]).unwrap();
        std::fs::remove_file(&requests).unwrap();
        std::os::unix::fs::symlink("/dev/null", &requests).unwrap();
        if by_restore {
            run.leave();
            let kept = machine.restored();
            assert!(matches!(&kept[..], [RestoreOutcome::Kept(_)]), "{kept:?}");
        } else {
            assert!(matches!(run.finish(), Err(ChangeError::NotRestored(_))));
        }
        assert_eq!(machine.entries(), 1);
        std::fs::remove_file(&requests).unwrap();
        std::fs::write(&requests, "128").unwrap();
        assert_eq!(machine.values()[0], "mq-deadline");
        machine.restore();
        assert_eq!(machine.values(), ["mq-deadline", "256", "0"]);
        assert_eq!(machine.entries(), 0);
    }
}

#[test]
fn what_stays_beneath_a_living_run_is_not_forgotten() {
    let machine = Machine::new();
    machine.apply("none").unwrap();
    let run = machine.begun(&[(Setting::Scheduler, "kyber")]).unwrap();
    // Neither a restore nor a later change that stays takes the run's value for somebody else's.
    let restored = machine.restored();
    let busy = |one: &RestoreOutcome| matches!(one, RestoreOutcome::Busy(_));
    assert!(
        restored.len() == 2 && restored.iter().all(busy),
        "{restored:?}"
    );
    assert!(matches!(
        machine.apply("mq-deadline"),
        Err(ChangeError::Journal(JournalError::Busy { .. }))
    ));
    assert_eq!(
        (machine.values()[0].as_str(), machine.entries()),
        ("kyber", 2)
    );
    run.finish().unwrap();
    assert_eq!(machine.values()[0], "none");
    machine.restore();
    assert_eq!(machine.values(), ["mq-deadline", "256", "0"]);
    assert_eq!(machine.entries(), 0);
}
