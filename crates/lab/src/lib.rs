//! The lab of joulio: opens devices by their names, chooses the targets of a run, and makes series of runs and
//! reports on them.
//!
//! [`job_file`] reads fio's job files: sections, each with the equivalent flags of `joulio bench`.
//!
//! Nothing here parses joulio's own flags or prints. Errors are enums whose variants say what the user can do;
//! the command turns them into a line and an exit status.
//!
//! ```
//! use joulio_lab::statistics::Summary;
//!
//! // IOPS of five repetitions of a run, in thousands.
//! let summary = Summary::of(&[1099.2, 1103.8, 1087.1, 1111.0, 1094.6]).expect("there are values");
//! assert_eq!((summary.n, summary.min, summary.max), (5, 1087.1, 1111.0));
//! // The ends of the 95 % interval of the mean.
//! assert!(1087.0 < summary.mean.low && summary.mean.low < 1099.0);
//! assert!(1099.2 < summary.mean.high && summary.mean.high < 1112.0);
//! ```
#![forbid(unsafe_code)]

pub mod advise;
pub mod arbitration;
pub mod calibrate;
pub mod campaign;
mod controller_name;
mod cpu_time;
pub mod device_measure;
mod device_name;
mod device_name_error;
pub mod device_rates;
mod device_short_name;
mod disk_activity;
mod emulated;
mod error;
pub mod experiment;
pub mod experiment_file;
pub mod external;
mod format_version;
pub mod grid;
pub mod idle;
pub mod idle_interval;
pub mod inspect;
pub mod job_file;
mod machine_profile;
mod manifest_device;
mod memory;
mod meter_listing;
pub mod meters;
pub mod nvme_cli;
mod open;
pub mod output_file;
mod pause;
mod plan_costs;
pub mod power_log;
pub mod power_states;
mod printable;
mod profile_file;
mod profile_folder;
mod profile_text;
pub mod record;
mod recording;
pub mod report;
pub mod results;
pub mod selftest;
pub mod serve;
pub mod stat;
pub mod state_file;
pub mod statistics;
mod steadiness;
pub mod survey;
pub mod sweep;
mod target_name;
mod targets;
mod text_file;
pub mod virtual_time;

pub use controller_name::{ControllerName, NamedController};
pub use device_name::{DeviceKind, DeviceName};
pub use device_name_error::DeviceNameError;
pub use disk_activity::{DiskActivity, DiskError, WatchedDisks, whole_disk};
pub use emulated::{Emulated, EmulatedUse};
pub use error::OpenError;
pub use format_version::FormatVersion;
pub use machine_profile::{machine_profile, machine_profile_at};
pub use meter_listing::{ListedMeter, MeterListing};
pub use open::open_kernel;
pub use pause::pause;
pub use printable::printable;
pub use profile_file::{ProfileFileError, profile_file};
pub use profile_folder::{ProfileFolder, ProfileFolderError};
pub use profile_text::profile_text;
pub use recording::{Recording, RecordingOptions};
pub use target_name::{TargetName, TargetNames};
pub use targets::{TargetOptions, activity};
pub use text_file::read_text;

/// Returns true in the complete gate, or if the environment requests it: tests then measure for longer, or more often.
#[cfg(test)]
fn thorough() -> bool {
    std::env::var_os("JOULIO_THOROUGH").is_some()
}
