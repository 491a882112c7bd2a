//! Sweeps: all combinations of factors' values, each run several times in some order, with a record for each run.

mod axes;
mod beside_error;
mod csv;
mod device_set;
mod factor;
mod file_profiles;
mod group;
mod judgement;
mod machine;
mod options;
mod order;
mod real;
mod runner;
mod runs;
mod session;
mod terse;
mod virtual_runner;

pub use axes::Axes;
pub use beside_error::BesideError;
pub use csv::sweep_csv;
pub use device_set::{ComparedDevices, DeviceSet};
pub use factor::{Factor, FactorError, method};
pub(crate) use file_profiles::has_records_of;
pub use judgement::{FailedRuns, check_unspoiled, judge_runs};
pub use machine::{SweepMachine, machine_here};
pub use options::{SweepOptions, SweepOptionsError};
pub use order::{Order, PlannedRun, plan};
pub use real::{RealRunner, platform_here};
pub use runner::{RunFailure, Runner};
pub use runs::{Sweep, SweepEnd, SweepFailure, Unfit};
pub use session::{SweepReport, SweepRun, SweepSession};
pub use terse::{TERSE_PERCENTILES, sweep_terse};
pub use virtual_runner::VirtualRunner;
