//! CPUs that were too hot: /sys/devices/system/cpu/cpuN/thermal_throttle
//! (drivers/thermal/intel/therm_throt.c).

use crate::knobs::Tree;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const CPUS: &str = "sys/devices/system/cpu";

/// How often each CPU was throttled since the system started, at one look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Throttles {
    /// By `cpu0/core_throttle_count`; a package's is counted by each of its CPUs.
    counts: BTreeMap<String, u64>,
}

/// Why throttling is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "throttling is not counted: no thermal_throttle in /sys/devices/system/cpu/cpu*, as in most virtual machines and on AMD"
)]
pub struct NoThrottles;

/// Whether CPUs were throttled between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Throttled {
    /// A counter rose.
    Yes,
    /// None did.
    No,
    /// There are no counters, or CPUs went or came meanwhile.
    Unknown,
}

impl Throttles {
    /// Of the system whose file tree begins at `root`: `/`, or a captured one.
    pub fn read(root: impl Into<PathBuf>) -> Result<Throttles, NoThrottles> {
        Throttles::of(&Tree::at(root))
    }

    pub(super) fn of(tree: &Tree) -> Result<Throttles, NoThrottles> {
        let mut counts = BTreeMap::new();
        for cpu in tree.numbered(CPUS, "cpu") {
            let folder = format!("{CPUS}/cpu{cpu}/thermal_throttle");
            let names = tree.names(&folder).into_iter();
            for name in names.filter(|name| name.ends_with("_count")) {
                let count = tree.text(&format!("{folder}/{name}")).ok();
                if let Some(count) = count.and_then(|text| text.parse().ok()) {
                    counts.insert(format!("cpu{cpu}/{name}"), count);
                }
            }
        }
        if counts.is_empty() {
            return Err(NoThrottles);
        }
        Ok(Throttles { counts })
    }

    /// Whether any rose since `earlier`.
    pub fn since(&self, earlier: &Throttles) -> Throttled {
        let rose = |(name, now): (&String, &u64)| earlier.counts.get(name).is_some_and(|t| now > t);
        if self.counts.iter().any(rose) {
            Throttled::Yes
        } else if self.counts.keys().eq(earlier.counts.keys()) {
            Throttled::No
        } else {
            Throttled::Unknown
        }
    }
}

impl Throttled {
    /// Between two looks, of which either may have found no counters.
    pub fn between<E>(earlier: &Result<Throttles, E>, later: &Result<Throttles, E>) -> Throttled {
        match (earlier, later) {
            (Ok(earlier), Ok(later)) => later.since(earlier),
            _ => Throttled::Unknown,
        }
    }
}
