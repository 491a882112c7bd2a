//! RAPL: the processors' own energy counters (Intel SDM volume 3, Running Average Power Limit;
//! AMD's Processor Programming Reference).

mod filtering;
mod perf;
mod powercap;
mod processor;

pub use filtering::Filtering;
pub(crate) use perf::discover as perf;
pub(crate) use powercap::{allow as allow_powercap, discover as powercap};
pub use processor::{Processor, Vendor};

use joulio_units::Nanos;

/// Update interval of the registers.
const UPDATE: Nanos = Nanos::from_millis(1);

/// Reason why the permission is missing by default, for those who grant it.
const PLATYPUS: &str = "RAPL is a side channel (CVE-2020-8694): who may read it can infer what other processes compute";
