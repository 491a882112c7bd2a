//! A machine in virtual time.
//!
//! [`run`] plays a [`TwinJob`] on a modelled machine and modelled devices and gives back what a
//! real run would have counted, as [`Simulated`]: latencies, counters, time by state, joules. The
//! way of waiting is a real [`joulio_wait::Policy`], the same value that a real queue has; its
//! steps are executed in closed form, so that a spin of a thousand looks costs one division.
//!
//! Everything here is modelled: times are the `[costs]` of a machine's profile and the service
//! times of a device's. Nothing reads a clock, and the same seed gives the same result.
#![forbid(unsafe_code)]

pub mod check;
mod cpu;
mod device;
mod error;
pub mod fit;
mod flights;
pub mod grid;
mod job;
mod load;
mod oracle;
mod prices;
pub mod published;
pub mod replay;
mod result;
mod run;
mod thread;
mod times;
mod wait;

pub use error::TwinError;
pub use job::{Arrivals, Coalescing, Dispatch, Load, Path, Phase, TwinJob};
pub use oracle::Oracle;
pub use result::{DeviceResult, Side, Simulated};
pub use run::{run, run_oracle};
pub use times::Times;
