//! Arrivals of I/Os: closed and open loops, and bursts.

use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// Arrivals of a workload's I/Os, for each job on each of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrivals {
    /// Closed loop: the next I/O is submitted as soon as one completes.
    Closed,
    /// Closed loop that stalls, as with fio's `thinktime`: after a number of I/Os, and once none is in flight, the
    /// next is submitted some time later.
    Think {
        /// Nanoseconds of a stall.
        time: Nanos,
        /// I/Os from one stall to the next.
        blocks: u32,
    },
    /// Open loop at a fixed interval, whether or not the last I/O has completed. Latency is counted from the
    /// arrival.
    Every(Nanos),
    /// Open loop at random times: a Poisson process with this mean interval.
    Poisson(Nanos),
    /// Open loop in bursts: several I/Os at once, at a fixed interval.
    Bursts {
        /// I/Os of a burst.
        ios: u32,
        /// Nanoseconds from one burst to the next.
        every: Nanos,
    },
}

impl Arrivals {
    /// True for a closed loop, in which I/Os arrive when they are created.
    pub fn is_closed(self) -> bool {
        matches!(self, Arrivals::Closed | Arrivals::Think { .. })
    }

    /// Returns a description of what is invalid in these arrivals; `None` if they are valid.
    pub fn problem(self) -> Option<&'static str> {
        let apart = "must be more than 0 ns apart";
        match self {
            Arrivals::Every(Nanos::ZERO) | Arrivals::Poisson(Nanos::ZERO) => Some(apart),
            Arrivals::Bursts { every, .. } if every == Nanos::ZERO => Some(apart),
            Arrivals::Think { blocks: 0, .. } => Some("a stall comes after at least 1 I/O"),
            Arrivals::Bursts { ios: 0, .. } => Some("a burst has at least 1 I/O"),
            _ => None,
        }
    }
}
