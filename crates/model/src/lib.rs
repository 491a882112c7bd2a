//! Profiles of devices and machines: figures that joulio takes from elsewhere instead of measuring them in a run.
//!
//! A [`DeviceProfile`] and a [`MachineProfile`] are TOML files in which every number is a [`Figure`]: a value with
//! its source and its reliability. Three models use them; nothing else in joulio has a latency or a watt built in:
//!
//! - [`ServiceModel`] draws the time at which a device finishes an I/O, from servers, a serial link, and a spread.
//! - [`PowerStates`] follows a device's power states: the cost of waking, and the time in each state.
//! - [`power`] computes joules from the activity of cores and device in a window.
//!
//! The emulator, the twin and the modelled energy use the same profiles and models, so that they cannot disagree.
//! Nothing here measures, reads a clock or does I/O, except for reading a profile file.
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod any;
mod band;
mod catalogue;
mod census;
mod check;
mod core_state;
pub mod device;
mod error;
mod figure;
mod frequency;
mod latency;
mod link;
pub mod machine;
pub mod power;
mod power_states;
mod range;
mod service;

pub use any::AnyProfile;
pub use band::Pick;
pub use census::Census;
pub use core_state::CoreState;
pub use device::DeviceProfile;
pub use error::ProfileError;
pub use figure::{Figure, FigureKind};
pub use frequency::{Frequency, FrequencyRatio};
pub use latency::{LatencyCurve, LatencyPoint};
pub use link::Link;
pub use machine::{MachineProfile, MeteredAt};
pub use power::{CountedIos, DeviceActivity, EnergyParts, Residency, TransferTotals};
pub use power_states::{PowerStates, Transition, Transitions};
pub use service::ServiceModel;
