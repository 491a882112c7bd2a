//! Settings of the kernel that change what an I/O costs: read, set and put back.
//!
//! [`Knobs::plan`] looks what a change replaces and refuses what is not allowed; nothing is changed
//! by it. The [`Change`] that it returns can be written down. [`Knobs::make`] makes it, and
//! [`Knobs::put_back`] undoes it, in this process or in another one, also when it was made in part
//! or not at all.

mod along;
mod back;
mod change;
mod cpus;
mod error;
mod knob;
mod latency;
mod queue;
#[cfg(test)]
pub(crate) mod testing;
mod tree;
mod umwait;

pub use back::Left;
pub use change::Change;
pub use cpus::{CpuIdleState, idle_states};
pub use error::{Absence, Allowed, KnobError};
pub use knob::{Knob, Setting, UmwaitSetting};
pub use latency::{CpuLatency, cpu_latency};

pub(crate) use cpus::states;
pub(crate) use tree::Tree;

use change::Part;
use std::path::PathBuf;

/// The settings of a machine.
#[derive(Clone, Debug)]
pub struct Knobs {
    tree: Tree,
}

/// What a setting is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its value. Where CPUs differ, every value there is, with commas.
    pub value: String,
    /// What it can be set to.
    pub allowed: Allowed,
}

impl Knobs {
    /// Those of the system whose file tree begins at `root`: `/`, or a captured one.
    pub fn at(root: impl Into<PathBuf>) -> Knobs {
        Knobs {
            tree: Tree::at(root),
        }
    }

    pub(crate) fn of(tree: &Tree) -> Knobs {
        Knobs { tree: tree.clone() }
    }

    /// What `knob` is, and what it can be.
    pub fn read(&self, knob: &Knob) -> Result<Reading, KnobError> {
        match knob {
            Knob::Queue { disk, setting } => queue::read(&self.tree, knob, disk, *setting),
            Knob::Governor => cpus::read_governor(&self.tree, knob),
            Knob::MaxCstate => cpus::read_deepest(&self.tree, knob),
            Knob::Umwait { setting } => umwait::read(&self.tree, knob, *setting),
        }
    }

    /// What setting `knob` to `value` would change. Nothing is changed; a value that is not allowed
    /// is refused.
    pub fn plan(&self, knob: &Knob, value: &str) -> Result<Change, KnobError> {
        let reading = self.read(knob)?;
        let loads = matches!(
            knob,
            Knob::Queue {
                setting: Setting::Scheduler,
                ..
            }
        ) && queue::may_be_loaded(value);
        if !loads && !reading.allowed.has(value) {
            return Err(KnobError::NotAllowed {
                knob: knob.clone(),
                value: value.into(),
                allowed: reading.allowed,
            });
        }
        let files = match knob {
            Knob::Queue { disk, setting } => vec![(queue::file(disk, *setting), value.into())],
            Knob::Governor => cpus::governors(&self.tree, value),
            Knob::MaxCstate => cpus::switches(&self.tree, value),
            Knob::Umwait { setting } => vec![(umwait::file(*setting), value.into())],
        };
        let parts = files
            .into_iter()
            .map(|(file, new)| Part::of(&self.tree, file, new))
            .collect::<Result<_, _>>()?;
        Ok(Change::new(
            knob.clone(),
            value.into(),
            self.tree.boot(),
            parts,
            along::beside(&self.tree, knob),
        ))
    }

    /// Makes a change. When it fails it may have been made in part: [`Knobs::put_back`] undoes that.
    pub fn make(&self, change: &Change) -> Result<(), KnobError> {
        for part in &change.parts {
            part.make(&self.tree, &change.knob, || self.offered(&change.knob))?;
        }
        Ok(())
    }

    /// Undoes a change. Gives back what was left as it is, and why; an error is of something that
    /// could not be put back and can be tried again. The rest is put back also then.
    pub fn put_back(&self, change: &Change) -> Result<Vec<Left>, KnobError> {
        back::put_back(&self.tree, change)
    }

    fn offered(&self, knob: &Knob) -> Option<Allowed> {
        self.read(knob).ok().map(|reading| reading.allowed)
    }
}

#[cfg(test)]
mod tests;
