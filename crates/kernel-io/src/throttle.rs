//! Throttling of CPUs that were too hot: /sys/devices/system/cpu/cpuN/thermal_throttle
//! (drivers/thermal/intel/therm_throt.c).

use crate::cpuidle::numbered;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Times that each CPU was throttled since the system started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttles {
    /// Counts by file, such as `cpu0/core_throttle_count`; a package's is counted by each of its
    /// CPUs.
    counts: BTreeMap<String, u64>,
}

/// Reason why throttling is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "throttling is not counted: no thermal_throttle in /sys/devices/system/cpu/cpu*, as in most virtual machines and on AMD"
)]
pub struct NoThrottles;

/// Throttling of CPUs between two readings, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Throttled {
    /// Throttled: a counter rose.
    Yes,
    /// No throttling: no counter rose.
    No,
    /// Unknown: there are no counters, or CPUs went or came in between.
    Unknown,
}

impl Throttles {
    /// Reads the counts below `root`: `/`, or a captured file tree.
    ///
    /// # Errors
    /// The system does not count throttling.
    pub fn read(root: impl Into<PathBuf>) -> Result<Throttles, NoThrottles> {
        let mut counts = BTreeMap::new();
        let cpus = root.into().join("sys/devices/system/cpu");
        for (cpu, folder) in numbered(&cpus, "cpu") {
            let folder = folder.join("thermal_throttle");
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                if !name.ends_with("_count") {
                    continue;
                }
                let count = fs::read_to_string(entry.path()).ok();
                if let Some(count) = count.and_then(|text| text.trim().parse().ok()) {
                    counts.insert(format!("cpu{cpu}/{name}"), count);
                }
            }
        }
        if counts.is_empty() {
            return Err(NoThrottles);
        }
        Ok(Throttles { counts })
    }

    /// Returns whether any counter rose since `earlier`.
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
    /// Compares two readings, either of which may be missing.
    pub fn between<E>(earlier: &Result<Throttles, E>, later: &Result<Throttles, E>) -> Throttled {
        match (earlier, later) {
            (Ok(earlier), Ok(later)) => later.since(earlier),
            _ => Throttled::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_is_noticed_between_two_readings() {
        let made = tempfile::tempdir().unwrap();
        let count = |cpu: u32, count: &str| {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
            let folder = made.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            for name in ["core_throttle_count", "core_throttle_total_time_ms"] {
                fs::write(folder.join(name), format!("{count}\n")).unwrap();
            }
        };
        let reading = || Throttles::read(made.path());
        let none = reading();
        count(0, "5");
        let first = reading();
        assert_eq!(Throttled::between(&none, &first), Throttled::Unknown);
        assert_eq!(Throttled::between(&first, &reading()), Throttled::No);
        count(1, "0");
        assert_eq!(Throttled::between(&first, &reading()), Throttled::Unknown);
        count(0, "6");
        assert_eq!(Throttled::between(&first, &reading()), Throttled::Yes);
        let yes = serde_json::to_value(Throttled::Yes).unwrap();
        assert_eq!(yes, "yes");
    }
}
