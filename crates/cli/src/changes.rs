//! Changes of the machine that are put back, whatever ends the run.

use crate::failure::{Failure, say};
use crate::journal::{Held, Journal, KnobChange, What};
use crate::restore::{Restored, put_back_left};
use joulio_kernel_io::{Knob, Knobs};
use std::path::Path;

/// Something that can be changed and put back.
pub trait Undo {
    /// What is written down before it is made. None: it ends with this command anyway.
    fn what(&self) -> Option<What>;

    /// Changes it.
    fn make(&self) -> Result<(), Failure>;

    /// Puts it back: what of it was left to somebody else, and why. An error is of what can be
    /// tried again.
    fn put_back(&self) -> Result<Vec<String>, String>;

    /// Puts back what a failed [`Undo::make`] has done.
    fn put_back_failed(&self) -> Result<Vec<String>, String> {
        self.put_back()
    }
}

/// Changes that are made, each written down in the journal before. Dropped, it puts them back, the
/// last first, also when a panic unwinds; after `kill -9` `joulio restore` does.
pub struct Changes<'a> {
    journal: Option<Journal>,
    /// What an earlier run had left is put back.
    tidy: bool,
    made: Vec<Made<'a>>,
    notes: Vec<String>,
}

struct Made<'a> {
    one: Box<dyn Undo + 'a>,
    held: Option<Held>,
}

impl<'a> Changes<'a> {
    /// None yet.
    pub fn new() -> Changes<'a> {
        Changes::written_in(None)
    }

    /// None yet; the journal is found when the first is made.
    fn written_in(journal: Option<Journal>) -> Changes<'a> {
        Changes {
            journal,
            tidy: false,
            made: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets each to its value, in this order, as [`Changes::knob`] does. None is set when a value of
    /// any is not allowed.
    pub fn knobs(&mut self, root: &Path, wanted: &[(Knob, &str)]) -> Result<(), Failure> {
        for (knob, value) in wanted {
            Knobs::at(root).plan(knob, value).map_err(Failure::input)?;
        }
        wanted
            .iter()
            .try_for_each(|(knob, value)| self.knob(root, knob, value))
    }

    /// Sets `knob` of the system whose file tree begins at `root`, unless it has that value
    /// already. What a killed run has left of any knob is put back before the first one is set.
    pub fn knob(&mut self, root: &Path, knob: &Knob, value: &str) -> Result<(), Failure> {
        if !self.tidy {
            self.tidy()?;
        }
        let change = Knobs::at(root).plan(knob, value).map_err(Failure::input)?;
        if change.is_none() {
            return Ok(());
        }
        let root = root.to_path_buf();
        self.set(KnobChange { root, change })
    }

    /// Writes it down and makes it. If it fails nothing of it is left, and what was made before
    /// stays until this is dropped.
    pub fn set(&mut self, one: impl Undo + 'a) -> Result<(), Failure> {
        let held = match one.what() {
            None => None,
            Some(what) => {
                let name = what.file_name();
                let twice = |made: &&Made| made.one.what().is_some_and(|w| w.file_name() == name);
                if self.made.iter().find(twice).is_some() {
                    return Err(Failure::input(format!(
                        "{what}: changed already by this run"
                    )));
                }
                Some(self.journal()?.begin(what)?)
            }
        };
        let one = Box::new(one);
        // Before it is made: a panic must find it.
        self.made.push(Made { one, held });
        let Some(last) = self.made.last() else {
            return Ok(());
        };
        let result = last.one.make();
        if result.is_err()
            && let Some(last) = self.made.pop()
        {
            let back = last.one.put_back_failed();
            self.end(last, back)?;
        }
        result
    }

    /// Puts all back: what was left to somebody else, and why. The first error is told, after all
    /// was tried.
    pub fn finish(mut self) -> Result<Vec<String>, Failure> {
        let result = self.put_back();
        let notes = std::mem::take(&mut self.notes);
        result.map(|()| notes)
    }

    /// Leaves them as they are, for `joulio restore` to put back.
    pub fn leave(mut self) {
        self.made.clear();
    }

    fn put_back(&mut self) -> Result<(), Failure> {
        let mut result = Ok(());
        while let Some(last) = self.made.pop() {
            let back = last.one.put_back();
            let ended = self.end(last, back);
            result = result.and(ended);
        }
        result
    }

    fn end(&mut self, made: Made, back: Result<Vec<String>, String>) -> Result<(), Failure> {
        let notes = back.map_err(|error| {
            Failure::run(format!(
                "{error}; `joulio restore` tries again to put it back"
            ))
        })?;
        self.notes.extend(notes);
        match made.held {
            // An older one is not ours to forget: it has a value from before.
            Some(held) if held.fresh => held.done(),
            _ => Ok(()),
        }
    }

    fn tidy(&mut self) -> Result<(), Failure> {
        let journal = self.journal()?.clone();
        let knobs = |what: &What| matches!(what, What::Knob(_));
        for restored in put_back_left(&journal, knobs)? {
            match restored {
                Restored::Back(told) => self.notes.extend(told),
                // It lives.
                Restored::Busy(_) => {}
                Restored::Kept(why) => {
                    return Err(Failure::input(format!(
                        "an earlier run's change is not put back yet: {why}: see `joulio restore`"
                    )));
                }
            }
        }
        self.tidy = true;
        Ok(())
    }

    fn journal(&mut self) -> Result<&Journal, Failure> {
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
        if let Err(failure) = result {
            say(&failure.message());
        }
    }
}

impl Undo for KnobChange {
    fn what(&self) -> Option<What> {
        Some(What::Knob(self.clone()))
    }

    fn make(&self) -> Result<(), Failure> {
        let made = Knobs::at(&self.root).make(&self.change);
        made.map_err(Failure::input)
    }

    fn put_back(&self) -> Result<Vec<String>, String> {
        KnobChange::put_back(self)
    }
}

#[cfg(test)]
mod tests;
