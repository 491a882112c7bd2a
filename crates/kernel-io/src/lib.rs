//! The kernel's own view of block devices: counters of /proc and /sys.
#![forbid(unsafe_code)]

mod diskstats;
mod interval;

pub use diskstats::{DiskStats, Disks, StatsError};
pub use interval::Interval;
