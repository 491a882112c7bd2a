//! Goal of the policy.

use joulio_units::{Nanos, Slo};
use std::fmt;
use std::str::FromStr;

/// Boundary within which the energy is to be least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Objective {
    /// The whole machine, devices included.
    Wall,
    /// The package: all of its cores, what they share beyond its idle state, and wake-ups. If the machine's watts are
    /// the package's, all of those.
    Package,
    /// The jobs' cores, and their wake-ups.
    #[default]
    Cores,
}

impl Objective {
    /// All objectives, the widest first.
    pub const ALL: [Objective; 3] = [Objective::Wall, Objective::Package, Objective::Cores];

    /// Name in flags and in the output.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Cores => "cores",
            Objective::Package => "package",
            Objective::Wall => "wall",
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error of a text that is not an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an objective: cores, package, wall")]
pub struct UnknownObjective(pub String);

impl FromStr for Objective {
    type Err = UnknownObjective;

    fn from_str(text: &str) -> Result<Objective, UnknownObjective> {
        let mut all = Objective::ALL.into_iter();
        all.find(|one| one.name() == text)
            .ok_or_else(|| UnknownObjective(text.into()))
    }
}

/// Latencies that are promised.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Promised {
    /// No promise: the least energy, whatever the latency.
    Nothing,
    /// Latencies that percentiles of the I/Os may not exceed.
    Slo(Slo),
    /// The 99th and 99.9th percentiles of polling, exceeded by a share of them, 0 to 10, but at least by a number of
    /// nanoseconds.
    Budget {
        /// Share of the percentile.
        share: f64,
        /// Smallest allowance over a percentile.
        floor: Nanos,
        /// Polling's percentiles, if they are known; otherwise they are learnt.
        polled: Option<Slo>,
    },
}

impl Promised {
    /// Returns the promise of polling's percentiles and `share` of them, but at least three microseconds: less is
    /// within the noise of most machines.
    pub const fn budget(share: f64) -> Promised {
        Promised::Budget {
            share,
            floor: Nanos::from_micros(3),
            polled: None,
        }
    }

    /// Returns the nanoseconds by which a percentile may be exceeded that is `polled` nanoseconds with polling.
    pub(super) fn over(&self, polled: f64) -> f64 {
        match self {
            Promised::Budget { share, floor, .. } => f64::max(polled * share, floor.0 as f64),
            _ => 0.0,
        }
    }

    /// Returns the delay in nanoseconds that any I/O may have, and the share of its own time; zero if latencies are
    /// promised that do not depend on polling's.
    pub(super) fn allowances(&self) -> (f64, f64) {
        match self {
            Promised::Budget { share, floor, .. } => (floor.0 as f64, *share),
            _ => (0.0, 0.0),
        }
    }
}

impl Default for Promised {
    fn default() -> Promised {
        Promised::budget(0.05)
    }
}

/// Goal of [`crate::Adaptive`]: the least energy within a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Goal {
    /// Boundary of the energy.
    pub objective: Objective,
    /// Latencies that are promised.
    pub promised: Promised,
}
