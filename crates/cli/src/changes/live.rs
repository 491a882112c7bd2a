//! What this process has changed and is to put back, for whoever has to do that in its place.

use crate::journal::{Held, Journal};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// The changes of a process that are not put back yet. Whoever makes a change or puts one back has
/// it locked meanwhile.
pub struct Live(Mutex<Inner>);

/// The same, locked.
pub struct Inner {
    next: u64,
    made: BTreeMap<u64, (Journal, Held)>,
}

/// What became of the changes of a process that is about to be ended.
#[derive(Debug, PartialEq, Eq)]
pub enum LastResort {
    /// There were none, or all are put back: lines of that.
    Back(Vec<String>),
    /// Some are not: why.
    Kept(String),
}

impl Live {
    /// None yet.
    pub const fn new() -> Live {
        Live(Mutex::new(Inner {
            next: 0,
            made: BTreeMap::new(),
        }))
    }

    /// That of this process.
    pub fn of_this_process() -> &'static Live {
        static LIVE: Live = Live::new();
        &LIVE
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in a change does not make what is written here wrong.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn is_locked(&self) -> bool {
        matches!(self.0.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Puts all back from another thread than the one that made the changes, which makes none any
    /// more: it finds this locked, for ever. Waits `patience` for a change that is being made or
    /// put back just now.
    pub fn put_back_for_good(&self, patience: Duration) -> LastResort {
        let start = Instant::now();
        let mut inner = loop {
            match self.0.try_lock() {
                Ok(inner) => break inner,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if start.elapsed() > patience => {
                    return LastResort::Kept("a change is being made or put back".into());
                }
                Err(TryLockError::WouldBlock) => sleep(CHECK_INTERVAL),
            }
        };
        let result = inner.put_back();
        // Nothing is changed after this.
        std::mem::forget(inner);
        result
    }
}

impl Inner {
    /// Takes `held` in, before its change is made; its number.
    pub(super) fn insert(&mut self, journal: Journal, held: Held) -> u64 {
        self.next += 1;
        self.made.insert(self.next, (journal, held));
        self.next
    }

    /// It is put back, or left.
    pub(super) fn remove(&mut self, number: u64) -> Option<Held> {
        self.made.remove(&number).map(|(_, held)| held)
    }

    /// The latest first. What cannot be put back does not keep the rest from it.
    fn put_back(&mut self) -> LastResort {
        let (mut lines, mut kept) = (Vec::new(), None);
        while let Some((_, (journal, held))) = self.made.pop_last() {
            match put_back(&journal, held) {
                Ok(told) => lines.extend(told),
                Err(why) => _ = kept.get_or_insert(why),
            }
        }
        kept.map_or(LastResort::Back(lines), LastResort::Kept)
    }
}

fn put_back(journal: &Journal, held: Held) -> Result<Vec<String>, String> {
    let locked = journal.lock().map_err(|error| error.to_string())?;
    let lines = held.entry.what.put_back();
    let lines = lines.map_err(|error| error.to_string())?;
    // An older one is not ours to forget: it has a value from before.
    if held.fresh {
        locked.done(held).map_err(|error| error.to_string())?;
    }
    Ok(lines)
}
