//! The units of the values that joulio's crates exchange.
//!
//! No bare `u64` is passed between crates: a time is [`Nanos`], a power [`Watts`], an energy [`Joules`]. The energy
//! of a run or of a meter's window is an [`Energy`]: joules with their [`Zone`] (a [`Boundary`] at a [`Place`]),
//! their source and their error.
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
