//! Power at the wall: a logger at the plug, and a person who installs one device after the other.

mod aligned;
mod error;
mod figures;
mod gauge;
mod marker_record;
mod person;
mod state;
mod summary;
mod swap;
pub mod wall_time;
mod windows;

pub use aligned::AlignedLog;
pub use error::PowerLogError;
pub use figures::{LoggedDevicePower, LoggedRunPower};
pub use gauge::{Gauge, GaugeReading};
pub use marker_record::MarkerRecord;
pub use person::Person;
pub use state::{SwapPlan, SwapState, SwapWindow, WindowEnergy};
pub use summary::{AlignmentSummary, LogReport, LogSummary, read_log};
pub use swap::{SwapOptions, SwapSteps};
pub use windows::{LoggedWindows, RunWindow};
