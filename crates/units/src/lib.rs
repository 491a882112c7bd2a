//! The units of the values that joulio's crates exchange.
//!
//! No bare `u64` is passed between crates: a time is [`Nanos`], a power [`Watts`], an energy [`Joules`]. The energy
//! of a run or of a meter's window is an [`Energy`]: joules with their [`Zone`] (a [`Boundary`] at a [`Place`]),
//! their source and their error.
//!
//! ```
//! use joulio_units::{Boundary, Joules, Nanos, Watts, Zone};
//!
//! let energy = Watts(12.5) * Nanos::from_millis(2_000);
//! assert_eq!(energy, Joules(25.0));
//! assert_eq!(energy / Nanos::from_millis(1_000), Watts(25.0));
//! // The joules of a package include those of its own cores, and so the two are never added.
//! let package = Zone::package(Boundary::Package, 0);
//! assert!(package.holds(&Zone::package(Boundary::Cores, 0)));
//! assert!(!package.holds(&Zone::package(Boundary::Cores, 1)));
//! ```
#![warn(clippy::missing_errors_doc)]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod band;
mod boundary;
mod cpu_list;
mod direction;
mod energy;
mod how;
mod joules;
#[cfg(feature = "names")]
mod names;
mod nanos;
mod operation;
mod past_tdp;
mod place;
mod slo;
mod sum;
mod watts;
mod zone;

pub use band::Band;
pub use boundary::{Boundary, UnknownBoundary};
pub use cpu_list::{CpuList, ParseCpuListError, parse_cpus};
pub use direction::Direction;
pub use energy::{Energy, MIN_WINDOW};
pub use how::How;
pub use joules::Joules;
#[cfg(feature = "names")]
pub use names::{nearest, proposal};
pub use nanos::Nanos;
pub use operation::Operation;
pub use past_tdp::PastTdp;
pub use place::Place;
pub use slo::{Percentile, Slo, SloError, SloLimit};
pub use sum::SumError;
pub use watts::Watts;
pub use zone::Zone;
