//! What joulio knows about devices and machines that it does not measure.
//!
//! A [`DeviceProfile`] and a [`MachineProfile`] are TOML files in which every number is a
//! [`Figure`]: a value that names its source and says how far to trust it. Two models read them,
//! and nothing else in joulio holds a latency or a watt:
//!
//! - [`ServiceModel`] samples when a device finishes an I/O: servers, a serial link, a spread.
//! - [`power`] turns what cores and device did in a window into joules.
//!
//! The emulator, the twin and modelled energy share both, so that they cannot disagree. Nothing
//! here measures, reads a clock or does I/O (but for opening a profile file it is given).
#![forbid(unsafe_code)]

mod catalogue;
mod check;
pub mod device;
mod error;
mod figure;
mod latency;
pub mod machine;
pub mod power;
mod service;

pub use device::DeviceProfile;
pub use error::ProfileError;
pub use figure::{Figure, Kind};
pub use latency::{LatencyCurve, LatencyPoint};
pub use machine::{CoreState, MachineProfile};
pub use power::{DeviceActivity, EnergyParts, Residency, Transfer};
pub use service::ServiceModel;
