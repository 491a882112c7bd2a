//! Use of the CPUs' idle states: /sys/devices/system/cpu/cpuN/cpuidle/stateK
//! (Documentation/admin-guide/pm/cpuidle.rst).

use joulio_units::Nanos;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// An idle state of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleStateCounters {
    /// Name: `POLL`, `C1E`.
    pub name: String,
    /// Entries since the system started.
    pub usage: u64,
    /// Time in the state since the system started; the kernel counts microseconds.
    pub time: Nanos,
}

/// Use of an idle state in an interval, on all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleUse {
    /// Entries.
    pub entries: u64,
    /// Time in the state, summed over CPUs.
    pub residency: Nanos,
}

/// Idle states of all CPUs, read at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuIdle {
    /// States by CPU and number.
    states: BTreeMap<(u32, u32), IdleStateCounters>,
}

/// Error: idle states are not counted; the message gives the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no cpuidle driver: /sys/devices/system/cpu/cpu*/cpuidle is missing, as in most virtual machines"
)]
pub struct NoCpuIdle;

impl CpuIdle {
    /// Reads the states below `root`: `/`, or a captured file tree. A CPU that goes offline while they are read is
    /// left out.
    ///
    /// # Errors
    /// The kernel counts no idle states; the error gives the reason.
    pub fn read(root: impl Into<PathBuf>) -> Result<CpuIdle, NoCpuIdle> {
        let cpus = root.into().join("sys/devices/system/cpu");
        let mut states = BTreeMap::new();
        for (cpu, folder) in numbered(&cpus, "cpu") {
            for (number, folder) in numbered(&folder.join("cpuidle"), "state") {
                if let Some(state) = state(&folder) {
                    states.insert((cpu, number), state);
                }
            }
        }
        if states.is_empty() {
            return Err(NoCpuIdle);
        }
        Ok(CpuIdle { states })
    }

    /// Returns the states of `cpu`, the shallowest first.
    pub fn of_cpu(&self, cpu: u32) -> impl Iterator<Item = &IdleStateCounters> {
        let own = self.states.range((cpu, 0)..=(cpu, u32::MAX));
        own.map(|(_, state)| state)
    }

    /// Returns the use of each state since `earlier`, by name. CPUs that were not present then are left out. The
    /// time of an idle phase is counted when it ends.
    pub fn since(&self, earlier: &CpuIdle) -> BTreeMap<String, IdleUse> {
        let mut used: BTreeMap<String, IdleUse> = BTreeMap::new();
        for (key, now) in &self.states {
            let Some(then) = earlier.states.get(key) else {
                continue;
            };
            let sum = used.entry(now.name.clone()).or_default();
            let entries = now.usage.saturating_sub(then.usage);
            sum.entries = sum.entries.saturating_add(entries);
            sum.residency += now.time - then.time;
        }
        used
    }
}

/// Returns the folders in `folder` whose names are `prefix` and a number.
pub(crate) fn numbered(folder: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix(prefix)?.parse().ok()?;
            Some((number, entry.path()))
        })
        .collect()
}

fn state(folder: &Path) -> Option<IdleStateCounters> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse().ok();
    Some(IdleStateCounters {
        name: text("name")?.trim().into(),
        usage: number("usage")?,
        time: Nanos::from_micros(number("time")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(root: &Path, cpu: u32, state: u32, name: &str, usage: &str, time: &str) {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in [("name", name), ("usage", usage), ("time", time)] {
            fs::write(folder.join(file), text).unwrap();
        }
    }

    #[test]
    fn use_is_summed_over_cpus_by_state() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), 0, 0, "POLL\n", "5\n", "10\n");
        put(root.path(), 0, 1, "C1\n", "100\n", "1000\n");
        put(root.path(), 10, 1, "C1\n", "1\n", "1\n");
        let before = CpuIdle::read(root.path()).unwrap();
        put(root.path(), 0, 1, "C1\n", "103\n", "1500\n");
        put(root.path(), 10, 1, "C1\n", "2\n", "3\n");
        put(root.path(), 2, 1, "C1\n", "900\n", "900\n");
        let after = CpuIdle::read(root.path()).unwrap();
        let used = after.since(&before);
        assert_eq!(used["POLL"], IdleUse::default());
        let c1 = IdleUse {
            entries: 4,
            residency: Nanos::from_micros(502),
        };
        assert_eq!(used["C1"], c1);
        let names: Vec<_> = after.of_cpu(0).map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["POLL", "C1"]);
    }

    #[test]
    fn a_machine_without_cpuidle_says_why() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/devices/system/cpu/cpu0")).unwrap();
        let error = CpuIdle::read(root.path()).unwrap_err();
        assert!(error.to_string().contains("virtual machines"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_text_panics(name in ".{0,9}", usage in "[0-9 x-]{0,25}", time in "[0-9]{0,25}") {
            let root = tempfile::tempdir().unwrap();
            put(root.path(), 0, 0, &name, &usage, &time);
            if let Ok(idle) = CpuIdle::read(root.path()) {
                idle.since(&idle);
            }
        }
    }
}
