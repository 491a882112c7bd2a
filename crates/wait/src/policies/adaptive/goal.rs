//! Goal of the policy.

use joulio_units::{Nanos, Slo};
use std::fmt;
use std::str::FromStr;

/// Boundary of the energy that is to be least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Objective {
    /// The whole machine, devices included.
    Wall,
    /// The package: all of its cores, what they share beyond its idle state, and wake-ups; of a
    /// machine whose watts are of the package, all of those.
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

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Objective, String> {
        let mut all = Objective::ALL.into_iter();
        all.find(|one| one.name() == text)
            .ok_or_else(|| format!("'{text}' is not an objective: cores, package, wall"))
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
    /// The 99th and 99.9th percentiles that polling has, and a share of them, 0 to 10, but so many
    /// nanoseconds at least.
    Budget {
        /// Share of the percentile.
        share: f64,
        /// The least that a percentile may be exceeded by.
        floor: Nanos,
        /// Percentiles that polling has, where they are known; else they are learnt.
        polled: Option<Slo>,
    },
}

impl Promised {
    /// Polling's percentiles, and `share` of them, but three microseconds at least: less than that is in
    /// the noise of most machines.
    pub const fn budget(share: f64) -> Promised {
        Promised::Budget {
            share,
            floor: Nanos::from_micros(3),
            polled: None,
        }
    }

    /// Nanoseconds by which a percentile may be exceeded that polling has at `polled` nanoseconds.
    pub(super) fn over(&self, polled: f64) -> f64 {
        match self {
            Promised::Budget { share, floor, .. } => f64::max(polled * share, floor.0 as f64),
            _ => 0.0,
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
