//! Temporary changes of the machine that joulio runs on: settings of the kernel and power states of controllers,
//! which are restored however the run ends.
//!
//! [`Changes`] makes changes. Each is written into the [`Journal`] before it is made, and is restored when the
//! changes are finished or dropped; [`restore_left`] restores those that a killed process left. Nothing here
//! prints, parses a command line or ends the process.
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

pub mod changes;
pub mod controller;
pub mod energy_sources;
mod irq;
pub mod journal;
pub mod knobs;
pub mod machine;
pub mod power_states;
mod state_folder;
#[cfg(test)]
mod testing;
mod tree;

pub use changes::{ChangeError, Changes, Restorable};
pub use controller::{AdminController, ControllerAddress, ControllerOpenError};
pub use irq::{IrqAffinity, irq_affinity};
pub use journal::{Journal, JournalError, RestoreOutcome, restore_left};
pub use knobs::{Knob, KnobError, Knobs};
pub use machine::Machine;
pub use state_folder::state_folder;
