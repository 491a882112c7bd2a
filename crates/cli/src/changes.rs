//! Changes of the machine that are put back, whatever ends the run.

mod error;
mod live;

pub use error::ChangeError;
pub use live::{LastResort, Live};

use crate::failure::say;
use crate::journal::{
    Journal, JournalError, KnobChange, Locked, PutBackError, Restored, What, put_back_left,
};
use joulio_kernel_io::{Knob, Knobs};
use std::path::Path;
use std::sync::MutexGuard;

/// Something that can be changed and put back.
pub trait Undo {
    /// What is written down before it is made. None: it ends with this command anyway.
    fn what(&self) -> Option<What>;

    /// Changes it.
    ///
    /// # Errors
    /// It cannot be changed; it may have been in part.
    fn make(&self) -> Result<(), ChangeError>;

    /// Puts it back: what of it was left to somebody else, and why.
    ///
    /// # Errors
    /// It could not be put back; that can be tried again.
    fn put_back(&self) -> Result<Vec<String>, PutBackError>;

    /// Puts back what a failed [`Undo::make`] has done.
    ///
    /// # Errors
    /// As of [`Undo::put_back`].
    fn put_back_failed(&self) -> Result<Vec<String>, PutBackError> {
        self.put_back()
    }
}

/// Changes that are made, each written down in the journal before. Dropped, it puts them back, the
/// last first, also when a panic unwinds; after `kill -9` `joulio restore` does.
pub struct Changes<'a> {
    live: &'static Live,
    journal: Option<Journal>,
    session: Option<Session>,
    /// What an earlier run had left is put back.
    tidy: bool,
    made: Vec<Made<'a>>,
    notes: Vec<String>,
}

/// While changes are made or put back, neither another process nor another thread of this one does
/// that.
struct Session {
    live: MutexGuard<'static, live::Inner>,
    locked: Locked,
}

struct Made<'a> {
    one: Box<dyn Undo + 'a>,
    /// Its number in [`Live`], where it is written down.
    number: Option<u64>,
}

impl<'a> Changes<'a> {
    /// None yet.
    pub fn new() -> Changes<'a> {
        Changes::written_in(None, Live::of_this_process())
    }

    /// None yet; the journal is found when the first is made.
    fn written_in(journal: Option<Journal>, live: &'static Live) -> Changes<'a> {
        Changes {
            live,
            journal,
            session: None,
            tidy: false,
            made: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets each knob of the system whose file tree begins at `root` to its value, in this order,
    /// unless it has that already. None is set when a value of any is not allowed. What a killed
    /// run has left of any knob is put back before the first one is set.
    ///
    /// # Errors
    /// A value is not allowed, another process has changed the same or what goes with it, or the
    /// system refuses.
    pub fn knobs(&mut self, root: &Path, wanted: &[(Knob, &str)]) -> Result<(), ChangeError> {
        // What is wrong for whatever others do is told before there is a journal.
        for (knob, value) in wanted {
            Knobs::at(root).plan(knob, value)?;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.locked(|changes| {
            changes.tidy()?;
            wanted
                .iter()
                .try_for_each(|(knob, value)| changes.knob(root, knob, value))
        })
    }

    /// With the session open: nobody puts back the value that is read here.
    fn knob(&mut self, root: &Path, knob: &Knob, value: &str) -> Result<(), ChangeError> {
        let change = Knobs::at(root).plan(knob, value)?;
        let none = change.is_none();
        let root = root.to_path_buf();
        let change = KnobChange { root, change };
        // It may have the value because another process has set it, for as long as that likes.
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
        let own: Vec<What> = self
            .made
            .iter()
            .filter_map(|made| made.one.what())
            .collect();
        for what in session.locked.living()? {
            let What::Knob(other) = &what else { continue };
            if !change.touches(other) || own.iter().any(|own| own.is_of_the_same(&what)) {
                continue;
            }
            let (wanted, other) = (change.change.knob().to_string(), Box::new(what));
            return Err(match other.to_string() == wanted {
                true => JournalError::Busy { what: other },
                false => JournalError::Beside {
                    what: wanted,
                    other,
                },
            }
            .into());
        }
        Ok(())
    }

    /// Writes it down and makes it. If it fails nothing of it is left, and what was made before
    /// stays until this is dropped.
    ///
    /// # Errors
    /// It cannot be written down or made, or was made by this run already.
    pub fn set(&mut self, one: impl Undo + 'a) -> Result<(), ChangeError> {
        let Some(what) = one.what() else {
            return self.make(Box::new(one), None);
        };
        self.locked(|changes| {
            let twice = |made: &Made<'_>| made.one.what().is_some_and(|w| w.is_of_the_same(&what));
            if changes.made.iter().any(twice) {
                return Err(ChangeError::Twice(Box::new(what)));
            }
            let journal = changes.journal()?.clone();
            let Some(session) = &mut changes.session else {
                return Ok(());
            };
            let held = session.locked.begin(what)?;
            let number = session.live.insert(journal, held);
            changes.make(Box::new(one), Some(number))
        })
    }

    fn make(&mut self, one: Box<dyn Undo + 'a>, number: Option<u64>) -> Result<(), ChangeError> {
        // Before it is made: a panic must find it.
        self.made.push(Made { one, number });
        let Some(last) = self.made.last() else {
            return Ok(());
        };
        let result = last.one.make();
        if result.is_err()
            && let Some(last) = self.made.pop()
        {
            let back = last.one.put_back_failed();
            self.end(last.number, back)?;
        }
        result
    }

    /// Does `what` while nobody else, in this process or another, makes changes or puts some back:
    /// for what looks at a value and changes it.
    ///
    /// # Errors
    /// Those of `what`, and that the journal cannot be had.
    pub fn locked<T>(
        &mut self,
        what: impl FnOnce(&mut Self) -> Result<T, ChangeError>,
    ) -> Result<T, ChangeError> {
        if self.session.is_some() {
            return what(self);
        }
        // In this order everywhere.
        let live = self.live.lock();
        let locked = self.journal()?.lock()?;
        self.session = Some(Session { live, locked });
        let result = what(self);
        self.session = None;
        result
    }

    /// Puts all back: what was left to somebody else, and why.
    ///
    /// # Errors
    /// The first, after all was tried.
    pub fn finish(mut self) -> Result<Vec<String>, ChangeError> {
        let result = self.put_back();
        let notes = std::mem::take(&mut self.notes);
        result.map(|()| notes)
    }

    /// Leaves them as they are, for `joulio restore` to put back.
    pub fn leave(mut self) {
        let mut live = self.live.lock();
        for number in self.made.drain(..).filter_map(|made| made.number) {
            live.remove(number);
        }
    }

    fn put_back(&mut self) -> Result<(), ChangeError> {
        if self.made.iter().all(|made| made.number.is_none()) {
            return self.put_back_all();
        }
        let tried = self.locked(|changes| Ok(changes.put_back_all()));
        match tried {
            Ok(result) => result,
            // Without the journal nothing can be put back: another may be at it.
            Err(ChangeError::Journal(error)) => {
                std::mem::take(&mut self.made);
                Err(ChangeError::Kept(error))
            }
            Err(error) => Err(error),
        }
    }

    fn put_back_all(&mut self) -> Result<(), ChangeError> {
        let mut result = Ok(());
        while let Some(last) = self.made.pop() {
            let back = last.one.put_back();
            let ended = self.end(last.number, back);
            result = result.and(ended);
        }
        result
    }

    fn end(
        &mut self,
        number: Option<u64>,
        back: Result<Vec<String>, PutBackError>,
    ) -> Result<(), ChangeError> {
        let session = self.session.as_mut();
        let held = number.zip(session).and_then(|(number, session)| {
            let held = session.live.remove(number)?;
            Some((held, &session.locked))
        });
        let notes = back.map_err(ChangeError::NotPutBack)?;
        self.notes.extend(notes);
        match held {
            // An older one is not ours to forget: it has a value from before.
            Some((held, locked)) if held.fresh => {
                locked.done(held).map_err(ChangeError::NotForgotten)
            }
            _ => Ok(()),
        }
    }

    fn tidy(&mut self) -> Result<(), ChangeError> {
        let Some(session) = self.session.as_ref().filter(|_| !self.tidy) else {
            return Ok(());
        };
        let knobs = |what: &What| matches!(what, What::Knob(_));
        for restored in put_back_left(&session.locked, knobs)? {
            match restored {
                Restored::Back(told) => self.notes.extend(told),
                // It lives.
                Restored::Busy(_) => {}
                Restored::Kept(why) => return Err(ChangeError::Left(why)),
            }
        }
        self.tidy = true;
        Ok(())
    }

    fn journal(&mut self) -> Result<&Journal, JournalError> {
        match &mut self.journal {
            Some(journal) => Ok(journal),
            none => Ok(none.insert(Journal::place()?)),
        }
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        let result = self.put_back();
        for note in self.notes.drain(..) {
            say(&note);
        }
        if let Err(error) = result {
            say(&error.to_string());
        }
    }
}

impl Undo for KnobChange {
    fn what(&self) -> Option<What> {
        Some(What::Knob(self.clone()))
    }

    fn make(&self) -> Result<(), ChangeError> {
        Ok(Knobs::at(&self.root).make(&self.change)?)
    }

    fn put_back(&self) -> Result<Vec<String>, PutBackError> {
        Ok(KnobChange::put_back(self)?)
    }
}

#[cfg(test)]
mod races;
#[cfg(test)]
mod tests;
