//! Settings of the kernel that change what an I/O costs: read, set and restored.
//!
//! [`Knobs::plan`] reads the values that a change replaces and refuses values that are not allowed; it changes nothing.
//! The [`KnobPlan`] that it returns can be stored. [`Knobs::make`] makes the change, and [`Knobs::restore`] restores
//! the old values, in this process or in another one, also if the change was made in part or not at all.

mod along;
mod cpus;
mod disk;
mod error;
mod irq;
mod knob;
mod latency;
mod left;
mod listing;
mod plan;
mod queue;
mod reading;
mod request;
mod restore;
mod umwait;

pub use cpus::{CpuIdleState, idle_states};
pub use disk::{NoSuchDisk, disk_name, find_disk};
pub use error::{Absence, KnobError};
pub use knob::{Knob, Setting, UmwaitSetting};
pub use latency::{CpuLatency, cpu_latency};
pub use left::LeftAlone;
pub use listing::{KnobListing, list};
pub use plan::KnobPlan;
pub use reading::{KnobReading, KnobValues};
pub use request::{KnobRequestError, check_distinct, parse_setting};

pub(crate) use cpus::states;

use crate::tree::Tree;
use plan::Part;
use std::path::PathBuf;

/// Settings of a machine.
#[derive(Clone, Debug)]
pub struct Knobs {
    tree: Tree,
}

impl Knobs {
    /// Makes the settings of the system whose file tree begins at `root`: `/`, or a captured one.
    pub fn at(root: impl Into<PathBuf>) -> Knobs {
        Knobs {
            tree: Tree::at(root),
        }
    }

    pub(crate) fn of(tree: &Tree) -> Knobs {
        Knobs { tree: tree.clone() }
    }

    /// Reads the value of `knob`, and the values that it can have.
    ///
    /// # Errors
    /// The machine does not have the setting, or its file cannot be read.
    pub fn read(&self, knob: &Knob) -> Result<KnobReading, KnobError> {
        match knob {
            Knob::Queue { disk, setting } => queue::read(&self.tree, knob, disk, *setting),
            Knob::Governor => cpus::read_governor(&self.tree, knob),
            Knob::MaxFrequency => cpus::read_max_frequency(&self.tree, knob),
            Knob::MaxCstate => cpus::read_deepest(&self.tree, knob),
            Knob::Umwait { setting } => umwait::read(&self.tree, knob, *setting),
            Knob::IrqAffinity { irq } => irq::read(&self.tree, *irq),
        }
    }

    /// Plans to set `knob` to `value`, without changing anything.
    ///
    /// # Errors
    /// The machine does not have the setting, or it cannot have that value.
    pub fn plan(&self, knob: &Knob, value: &str) -> Result<KnobPlan, KnobError> {
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
            Knob::MaxFrequency => cpus::max_frequencies(&self.tree, value),
            Knob::MaxCstate => cpus::switches(&self.tree, value),
            Knob::Umwait { setting } => vec![(umwait::file(*setting), value.into())],
            Knob::IrqAffinity { irq } => vec![(irq::file(*irq), value.into())],
        };
        let parts = files
            .into_iter()
            .map(|(file, new)| Part::of(&self.tree, file, new))
            .collect::<Result<_, _>>()?;
        Ok(KnobPlan::new(
            knob.clone(),
            value.into(),
            self.tree.boot(),
            parts,
            along::beside(&self.tree, knob),
        ))
    }

    /// Makes a change. If it fails, it may have been made in part: [`Knobs::restore`] restores that part.
    ///
    /// # Errors
    /// The kernel refuses the value, or does not permit it.
    pub fn make(&self, change: &KnobPlan) -> Result<(), KnobError> {
        for part in &change.parts {
            part.make(&self.tree, &change.knob, || self.offered(&change.knob))?;
        }
        Ok(())
    }

    /// Restores the values that a change replaced, and returns the parts that were left as they are, and why.
    ///
    /// # Errors
    /// A part could not be restored, which can be tried again; the other parts were restored all the same.
    pub fn restore(&self, change: &KnobPlan) -> Result<Vec<LeftAlone>, KnobError> {
        restore::restore(&self.tree, change)
    }

    /// Returns `change` as it is to be recorded before it is restored: if that is interrupted, what the kernel changed
    /// along with it is restored by the next attempt. `None` if it needs no other record than it has.
    pub(crate) fn restoring(&self, change: &KnobPlan) -> Option<KnobPlan> {
        let is_other =
            !change.restoring && !change.along.is_empty() && restore::writes(&self.tree, change);
        is_other.then(|| KnobPlan {
            restoring: true,
            ..change.clone()
        })
    }

    fn offered(&self, knob: &Knob) -> Option<KnobValues> {
        self.read(knob).ok().map(|reading| reading.allowed)
    }
}

#[cfg(test)]
mod tests;
