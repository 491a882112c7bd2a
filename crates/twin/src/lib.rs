//! A machine in virtual time.
//!
//! [`run`] runs a [`Job`](joulio_job::Job) on a modelled machine and modelled devices, a [`TwinSetup`]. It returns
//! the result that a real run would return (latencies, counters, joules), and also the time in each state
//! ([`TwinRun`]). The policy is a [`joulio_wait::Policy`], the very code that waits on a real queue; its steps are
//! computed in closed form, so that a spin of a thousand polls costs one division.
//!
//! Everything here is modelled: times come from the `[costs]` of a machine's profile and from the service times of
//! a device's profile. Nothing reads a clock, and the same seed gives the same result.
//!
//! ```
//! use joulio_job::{CompletionMode, EngineName, Job, Method};
//! use joulio_model::{DeviceProfile, MachineProfile};
//! use joulio_twin::{TwinSetup, run};
//!
//! let machine = MachineProfile::builtin("generic-server")?;
//! let devices = [DeviceProfile::builtin("optane-900p")?];
//! let setup = TwinSetup::new(&machine, &devices);
//! let blocks = |mode| -> Result<u64, Box<dyn std::error::Error>> {
//!     let method = Method { engine: EngineName::Nvme, mode };
//!     let done = run(&Job::random_reads(2_000), method, &setup)?;
//!     assert_eq!(done.ios(), 2_000);
//!     Ok(done.counters.blocks)
//! };
//! assert_eq!(blocks(CompletionMode::Poll)?, 0);
//! assert!(blocks(CompletionMode::Interrupt)? > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod advance;
pub mod check;
mod core_threads;
mod cpu;
mod device;
pub mod device_fit;
mod error;
mod event_queue;
pub mod fit;
pub mod grid;
pub mod hold_out;
mod in_flight;
mod io_log;
mod job_check;
mod neighbour;
mod oracle;
mod other_irqs;
mod path;
pub mod published;
pub mod replay;
mod report;
mod result;
mod run;
mod run_queue;
mod runner;
mod seat;
mod setup;
mod step_costs;
mod stop;
mod thread;
mod times;
mod wait;
mod world;

pub use error::TwinError;
pub use io_log::IoCounts;
pub use oracle::Oracle;
pub use path::{Path, check_devices, check_method};
pub use result::{DeviceResult, TwinRun};
pub use run::{run, run_oracle, run_policy};
pub use setup::{Coalescing, DispatchThread, TwinSetup};
pub use step_costs::wait_costs;
pub use times::CoreTimes;
