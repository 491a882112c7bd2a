//! Changes of this process that are not restored yet, for another thread that has to restore them.

use crate::journal::{HeldEntry, Journal};
use joulio_nvme::Cancel;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two attempts to lock while a change is being made or restored.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// Changes of a process that are not restored yet, locked while one is made or restored.
pub struct LiveChanges(Mutex<Inner>);

/// Changes with the entries that this process holds, in the order in which they were made.
pub(super) struct Inner {
    next: u64,
    made: BTreeMap<u64, (Journal, HeldEntry)>,
}

/// Result of restoring all changes of a process that is about to be ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ForcedRestore {
    /// All changes were restored, or there were none; with lines about that.
    Restored(Vec<String>),
    /// Some changes stay in the journal, with the reason.
    Kept(String),
}

impl LiveChanges {
    /// Makes a set without changes.
    pub(super) const fn new() -> LiveChanges {
        LiveChanges(Mutex::new(Inner {
            next: 0,
            made: BTreeMap::new(),
        }))
    }

    /// Returns the changes of this process.
    pub fn of_this_process() -> &'static LiveChanges {
        static LIVE: LiveChanges = LiveChanges::new();
        &LIVE
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic during a change does not invalidate this state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn is_locked(&self) -> bool {
        matches!(self.0.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Restores all changes from another thread than the one that made them. That thread can make none after it: it
    /// finds this locked, for ever. Waits `patience` for a change that is being made or restored; `cancel` ends the
    /// wait for a controller.
    pub fn restore_for_good(&self, patience: Duration, cancel: &Cancel) -> ForcedRestore {
        let start = Instant::now();
        let mut inner = loop {
            match self.0.try_lock() {
                Ok(inner) => break inner,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if start.elapsed() > patience => {
                    return ForcedRestore::Kept("a change is being made or restored".into());
                }
                Err(TryLockError::WouldBlock) => sleep(LOCK_INTERVAL),
            }
        };
        let result = inner.restore(cancel);
        // Nothing is changed after this.
        std::mem::forget(inner);
        result
    }
}

impl Inner {
    /// Adds `held`, before its change is made, and returns its number.
    pub(super) fn insert(&mut self, journal: Journal, held: HeldEntry) -> u64 {
        self.next += 1;
        self.made.insert(self.next, (journal, held));
        self.next
    }

    /// Removes the change, which was restored or left.
    pub(super) fn remove(&mut self, number: u64) -> Option<HeldEntry> {
        self.made.remove(&number).map(|(_, held)| held)
    }

    /// Returns the entry of a change, unless it is of an earlier one.
    pub(super) fn fresh(&mut self, number: u64) -> Option<&mut HeldEntry> {
        let held = self.made.get_mut(&number).map(|(_, held)| held);
        held.filter(|held| held.fresh)
    }

    /// Restores changes, the latest first. One that cannot be restored does not prevent the others.
    fn restore(&mut self, cancel: &Cancel) -> ForcedRestore {
        let (mut lines, mut kept) = (Vec::new(), None);
        while let Some((_, (journal, held))) = self.made.pop_last() {
            match restore(&journal, held, cancel) {
                Ok(more) => lines.extend(more),
                Err(why) => _ = kept.get_or_insert(why),
            }
        }
        kept.map_or(ForcedRestore::Restored(lines), ForcedRestore::Kept)
    }
}

fn restore(journal: &Journal, mut held: HeldEntry, cancel: &Cancel) -> Result<Vec<String>, String> {
    let locked = journal.lock().map_err(|error| error.to_string())?;
    if held.fresh {
        locked.begin_restoring(&mut held);
    }
    let lines = held.entry.change.restore(cancel);
    let lines = lines.map_err(|error| error.to_string())?;
    // An older entry must stay: it has a value from before.
    if held.fresh {
        locked.done(held).map_err(|error| error.to_string())?;
    }
    Ok(lines)
}
