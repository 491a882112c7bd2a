//! CPU times: /proc/stat (proc_stat(5)).

use joulio_units::Nanos;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Times of each CPU since the system started, read at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    cpus: BTreeMap<usize, CpuUse>,
}

/// Times of a CPU; the kernel counts in ticks of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// Time in which threads ran, in user mode and in the kernel; without interrupts.
    pub busy: Nanos,
    /// Part of `busy` in user mode.
    pub user: Nanos,
    /// Time in which interrupts were handled, deferred parts included.
    pub interrupts: Nanos,
    /// Time in which threads were ready to run while the host ran something else.
    pub stolen: Nanos,
}

/// Error: CPU times cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no CPU times: /proc/stat has no lines cpu0, cpu1, ...")]
pub struct NoCpuTimes;

/// Unit in which the kernel counts (USER_HZ is 100 on every architecture that joulio supports).
pub const TICK: Nanos = Nanos::from_millis(10);

impl CpuTimes {
    /// Reads the times below `root`: `/`, or a captured file tree.
    ///
    /// # Errors
    /// proc/stat cannot be read, or has another format.
    pub fn read(root: impl Into<PathBuf>) -> Result<CpuTimes, NoCpuTimes> {
        let text = fs::read_to_string(root.into().join("proc/stat")).unwrap_or_default();
        let cpus: BTreeMap<_, _> = text.lines().filter_map(cpu).collect();
        match cpus.is_empty() {
            true => Err(NoCpuTimes),
            false => Ok(CpuTimes { cpus }),
        }
    }

    /// Returns the times of each CPU since `earlier`. A CPU that is not in both is left out. No time is below zero,
    /// although the kernel's may shrink when a CPU goes offline and comes back.
    pub fn since(&self, earlier: &CpuTimes) -> BTreeMap<usize, CpuUse> {
        let both = self.cpus.iter().filter_map(|(cpu, now)| {
            let before = earlier.cpus.get(cpu)?;
            let used = CpuUse {
                busy: now.busy.since(before.busy),
                user: now.user.since(before.user),
                interrupts: now.interrupts.since(before.interrupts),
                stolen: now.stolen.since(before.stolen),
            };
            Some((*cpu, used))
        });
        both.collect()
    }
}

/// Parses `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; user time includes guest time.
fn cpu(line: &str) -> Option<(usize, CpuUse)> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = words.next().filter(|_| !line.starts_with("cpu "))?;
    let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let time = |ticks: u64| Nanos(ticks.saturating_mul(TICK.0));
    let [user, nice, system, ..] = ticks[..] else {
        return None;
    };
    let count = |index: usize| ticks.get(index).copied().unwrap_or(0);
    let used = CpuUse {
        busy: time(user.saturating_add(nice).saturating_add(system)),
        user: time(user.saturating_add(nice)),
        interrupts: time(count(5).saturating_add(count(6))),
        stolen: time(count(7)),
    };
    Some((cpu.parse().ok()?, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CpuTimes, NoCpuTimes> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/stat"), text).unwrap();
        CpuTimes::read(root.path())
    }

    #[test]
    fn busy_is_threads_and_stolen_the_hosts() {
        let before = read("cpu  9 9 9 9\ncpu0 100 1 10 7 7 7 7 3 0 0\ncpu3 1 2 3 4\n").unwrap();
        let after = read("cpu0 150 2 20 8 8 90 90 8 5 5\ncpu1 1 1 1 1\nintr 5\ncpu3 0 2 3\n");
        let used = after.unwrap().since(&before);
        let ticks = |ticks: u64| Nanos::from_millis(10 * ticks);
        let of = |busy: u64, user: u64, interrupts: u64, stolen: u64| CpuUse {
            busy: ticks(busy),
            user: ticks(user),
            interrupts: ticks(interrupts),
            stolen: ticks(stolen),
        };
        let used_by = [(0, of(61, 51, 166, 5)), (3, CpuUse::default())];
        assert_eq!(used, BTreeMap::from(used_by));
    }

    #[test]
    fn strange_files_have_no_times() {
        for text in ["", "cpu  1 2 3 4\n", "cpu0\ncpux 1 2 3\ncpu1 a b c\n"] {
            assert_eq!(read(text), Err(NoCpuTimes), "{text}");
        }
    }
}
