//! The lab of joulio: devices opened by their names, the targets of a run, and what is done with
//! them in several runs.
//!
//! Nothing here knows flags or prints. Errors are enums whose variants say what the user can do;
//! the command turns them into a line and an exit status.
#![forbid(unsafe_code)]

pub mod calibrate;
mod device_name;
mod disk_activity;
mod emulated;
mod error;
pub mod experiment;
mod io_share;
mod machine_profile;
mod memory;
mod open;
pub mod output_file;
pub mod power_log;
pub mod selftest;
mod target_name;
mod targets;

pub use device_name::{DeviceKind, DeviceName, DeviceNameError};
pub use disk_activity::{DiskActivity, DiskError, DiskInterval, WatchedDisks, whole_disk};
pub use emulated::Emulated;
pub use error::OpenError;
pub use io_share::{IoShare, ShareOfIos};
pub use machine_profile::machine_profile;
pub use open::{open_kernel, open_pcie, open_vfio_user};
pub use target_name::TargetName;
pub use targets::{TargetOptions, activity, open_targets};
