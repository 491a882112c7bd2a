//! Changes of the machine that are restored, however the run ends.

mod error;
mod force;
mod live;
mod restorable;

pub use error::ChangeError;
pub use force::force_restore;
pub use live::{ForcedRestore, LiveChanges};
pub use restorable::Restorable;

use crate::journal::{
    Journal, JournalError, KnobChange, LockedJournal, RecordedChange, RestoreError, RestoreOutcome,
    restore_left,
};
use crate::knobs::{Knob, Knobs};
use joulio_nvme::Cancel;
use std::path::Path;
use std::sync::MutexGuard;

/// Changes of the machine, each written into the journal before it is made. When dropped, they are restored, the last
/// first, also when a panic unwinds; after `kill -9` [`restore_left`] does that.
pub struct Changes<'a> {
    /// Callback that receives a line for each event to report when this is dropped.
    report: Box<dyn Fn(&str) + 'a>,
    live: &'static LiveChanges,
    journal: Option<Journal>,
    session: Option<Session>,
    /// Whether changes that an earlier run had left were restored.
    tidy: bool,
    /// Whether settings of the kernel are to outlast this.
    stays: bool,
    made: Vec<Made<'a>>,
    notes: Vec<String>,
}

/// Locks that prevent other processes, and other threads of this one, from changing settings or restoring them.
struct Session {
    live: MutexGuard<'static, live::Inner>,
    locked: LockedJournal,
}

struct Made<'a> {
    one: Box<dyn Restorable + 'a>,
    /// Number in [`LiveChanges`] of a change that is in the journal.
    number: Option<u64>,
}

impl<'a> Changes<'a> {
    /// Makes a set without changes. Its journal is the user's, looked up when the first change is made. When dropped,
    /// it passes `report` the lines about settings that were left to somebody else or could not be restored.
    pub fn new(report: impl Fn(&str) + 'a) -> Changes<'a> {
        Changes::with(None, LiveChanges::of_this_process(), Box::new(report))
    }

    /// Makes a set without changes whose journal is `journal`; otherwise as [`Changes::new`].
    pub fn written_in(journal: Journal, report: impl Fn(&str) + 'a) -> Changes<'a> {
        let live = LiveChanges::of_this_process();
        Changes::with(Some(journal), live, Box::new(report))
    }

    fn with(
        journal: Option<Journal>,
        live: &'static LiveChanges,
        report: Box<dyn Fn(&str) + 'a>,
    ) -> Changes<'a> {
        Changes {
            report,
            live,
            journal,
            session: None,
            tidy: false,
            stays: false,
            made: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Keeps the knobs that are set from here on after the process ends, once [`Changes::leave`] leaves them: no later
    /// run takes them for those of a killed one.
    pub fn staying(mut self) -> Changes<'a> {
        self.stays = true;
        self
    }

    /// Sets each knob of the system whose file tree begins at `root` to its value, in this order, unless it has that
    /// already. None is set if one of the values is not allowed. Knobs that a killed run has left changed are restored
    /// before the first one is set; of those that were to stay only the same knobs, and only if these are to stay, too.
    ///
    /// # Errors
    /// A value is not allowed, another process has changed the same knob or a related one, or the system refuses.
    pub fn knobs(&mut self, root: &Path, wanted: &[(Knob, &str)]) -> Result<(), ChangeError> {
        // A value that is never allowed is refused before the journal exists.
        for (knob, value) in wanted {
            Knobs::at(root).plan(knob, value)?;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.locked(|changes| {
            changes.tidy(root, wanted)?;
            wanted
                .iter()
                .try_for_each(|(knob, value)| changes.knob(root, knob, value))
        })
    }

    /// Changes a knob while the session is open, so that nobody restores the value that is read here.
    fn knob(&mut self, root: &Path, knob: &Knob, value: &str) -> Result<(), ChangeError> {
        let change = Knobs::at(root).plan(knob, value)?;
        let none = change.is_none();
        let change = KnobChange {
            root: root.to_path_buf(),
            change,
            stays: self.stays,
        };
        // Another process may have set the value, and may restore the old one at any time.
        self.refuse_what_others_hold(&change)?;
        match none {
            true => Ok(()),
            false => self.set(change),
        }
    }

    fn refuse_what_others_hold(&self, change: &KnobChange) -> Result<(), ChangeError> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let own: Vec<RecordedChange> = self
            .made
            .iter()
            .filter_map(|made| made.one.record())
            .collect();
        Ok(session.locked.refuse_held(change, &own)?)
    }

    /// Writes a change into the journal and makes it. If that fails, the old value is restored unless the error says
    /// otherwise, and earlier changes stay until this is dropped.
    ///
    /// # Errors
    /// The change cannot be journaled or made, or was made by this run already. After [`ChangeError::Unanswered`] it may
    /// have been made, and stays in the journal.
    pub fn set(&mut self, one: impl Restorable + 'a) -> Result<(), ChangeError> {
        let Some(record) = one.record() else {
            return self.make(Box::new(one), None);
        };
        self.locked(|changes| {
            let same = |made: &Made<'_>| {
                let earlier = made.one.record();
                earlier.is_some_and(|earlier| earlier.is_of_the_same(&record))
            };
            if changes.made.iter().any(same) {
                return Err(ChangeError::Twice(Box::new(record)));
            }
            let journal = changes.journal()?.clone();
            let Some(session) = &mut changes.session else {
                return Ok(());
            };
            let held = session.locked.begin(record)?;
            let number = session.live.insert(journal, held);
            changes.make(Box::new(one), Some(number))
        })
    }

    fn make(
        &mut self,
        one: Box<dyn Restorable + 'a>,
        number: Option<u64>,
    ) -> Result<(), ChangeError> {
        // Before it is made, so that a panic finds it.
        self.made.push(Made { one, number });
        let Some(last) = self.made.last() else {
            return Ok(());
        };
        let result = last.one.make();
        if let Err(error) = &result
            && let Some(last) = self.made.pop()
        {
            if matches!(error, ChangeError::Unanswered { .. }) {
                self.keep(last.number);
            } else {
                self.begin_restoring(last.number);
                let back = last.one.restore_after_failure();
                self.end(last.number, back)?;
            }
        }
        result
    }

    /// Leaves the entry of a change in the journal, for [`restore_left`].
    fn keep(&mut self, number: Option<u64>) {
        if let Some((number, session)) = number.zip(self.session.as_mut()) {
            session.live.remove(number);
        }
    }

    /// Runs `work` while nobody else, in this process or another, makes changes or restores them: for work that reads
    /// a value and then changes it.
    ///
    /// # Errors
    /// The work fails, or the journal cannot be locked.
    pub fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, ChangeError>,
    ) -> Result<T, ChangeError> {
        if self.session.is_some() {
            return work(self);
        }
        // The locks are taken in this order everywhere.
        let live = self.live.lock();
        let locked = self.journal()?.lock()?;
        self.session = Some(Session { live, locked });
        let result = work(self);
        self.session = None;
        result
    }

    /// Restores all changes, and returns a line for each part that was left to somebody else.
    ///
    /// # Errors
    /// The first change that cannot be restored, after all were tried.
    pub fn finish(mut self) -> Result<Vec<String>, ChangeError> {
        let result = self.restore();
        let notes = std::mem::take(&mut self.notes);
        result.map(|()| notes)
    }

    /// Leaves the changes as they are, to be restored by [`restore_left`].
    pub fn leave(mut self) {
        let mut live = self.live.lock();
        for number in self.made.drain(..).filter_map(|made| made.number) {
            live.remove(number);
        }
    }

    fn restore(&mut self) -> Result<(), ChangeError> {
        if self.made.iter().all(|made| made.number.is_none()) {
            return self.restore_all();
        }
        let tried = self.locked(|changes| Ok(changes.restore_all()));
        match tried {
            Ok(result) => result,
            // Without the journal's lock nothing may be restored: another process may be doing it.
            Err(ChangeError::Journal(error)) => {
                std::mem::take(&mut self.made);
                Err(ChangeError::Kept(error))
            }
            Err(error) => Err(error),
        }
    }

    fn restore_all(&mut self) -> Result<(), ChangeError> {
        let mut result = Ok(());
        while let Some(last) = self.made.pop() {
            self.begin_restoring(last.number);
            let back = last.one.restore();
            let ended = self.end(last.number, back);
            result = result.and(ended);
        }
        result
    }

    /// Records that a change is about to be restored.
    fn begin_restoring(&mut self, number: Option<u64>) {
        if let Some((number, session)) = number.zip(self.session.as_mut())
            && let Some(held) = session.live.fresh(number)
        {
            session.locked.begin_restoring(held);
        }
    }

    fn end(
        &mut self,
        number: Option<u64>,
        back: Result<Vec<String>, RestoreError>,
    ) -> Result<(), ChangeError> {
        let session = self.session.as_mut();
        let held = number.zip(session).and_then(|(number, session)| {
            let held = session.live.remove(number)?;
            Some((held, &session.locked))
        });
        let notes = back.map_err(ChangeError::NotRestored)?;
        self.notes.extend(notes);
        match held {
            // An older entry must stay: it has a value from before.
            Some((held, locked)) if held.fresh => {
                locked.done(held).map_err(ChangeError::NotForgotten)
            }
            _ => Ok(()),
        }
    }

    fn tidy(&mut self, root: &Path, wanted: &[(Knob, &str)]) -> Result<(), ChangeError> {
        let Some(session) = self.session.as_ref().filter(|_| !self.tidy) else {
            return Ok(());
        };
        let replaced = |left: &KnobChange| {
            let same = |(knob, _): &(Knob, &str)| knob == left.change.knob();
            self.stays && left.root == root && wanted.iter().any(same)
        };
        let is_left = |change: &RecordedChange| match change {
            RecordedChange::Knob(knob) => !knob.stays || replaced(knob),
            RecordedChange::Feature(_) => false,
        };
        for restored in restore_left(&session.locked, is_left, &Cancel::default())? {
            match restored {
                RestoreOutcome::Restored(lines) => self.notes.extend(lines),
                // The run that made it still goes on.
                RestoreOutcome::Busy(_) => {}
                RestoreOutcome::Kept(why) => return Err(ChangeError::Left(why)),
            }
        }
        self.tidy = true;
        Ok(())
    }

    fn journal(&mut self) -> Result<&Journal, JournalError> {
        match &mut self.journal {
            Some(journal) => Ok(journal),
            none => Ok(none.insert(Journal::of_user()?)),
        }
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        let result = self.restore();
        for note in self.notes.drain(..) {
            (self.report)(&note);
        }
        if let Err(error) = result {
            (self.report)(&error.to_string());
        }
    }
}

#[cfg(test)]
mod races;
#[cfg(test)]
mod tests;
