//! Temporary changes of the machine that joulio runs on: settings of the kernel and power states of controllers,
//! which are restored however the run ends.
//!
//! [`Changes`] makes changes. Each is written into the [`Journal`] before it is made, and is restored when the
//! changes are finished or dropped; [`restore_left`] restores those that a killed process left. Nothing here
//! prints, parses a command line or ends the process.
//!
//! ```
//! use joulio_host::knobs::{Knob, UmwaitSetting};
//! use joulio_host::{Changes, Journal};
//! use std::fs;
//!
//! // A file tree in place of the machine's, which begins at `/`.
//! let folder = tempfile::tempdir()?;
//! let root = folder.path();
//! let control = root.join("sys/devices/system/cpu/umwait_control");
//! fs::create_dir_all(&control)?;
//! fs::write(control.join("enable_c02"), "1\n")?;
//!
//! let knob = Knob::Umwait { setting: UmwaitSetting::EnableC02 };
//! let mut changes = Changes::written_in(Journal::at(root.join("journal")), |line| println!("{line}"));
//! changes.knobs(root, &[(knob, "0")])?;
//! assert_eq!(fs::read_to_string(control.join("enable_c02"))?, "0\n");
//! changes.finish()?;
//! assert_eq!(fs::read_to_string(control.join("enable_c02"))?, "1\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
