//! Time that the CPUs were busy.

/// Total time of all CPUs so far, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    all: u64,
    idle: u64,
}

impl CpuTime {
    /// Reads the time so far; zero if the kernel does not report it.
    pub fn now() -> CpuTime {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        CpuTime::parse(&text).unwrap_or_default()
    }

    /// Parses the first line of `/proc/stat` (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq, steal; the
    /// guest times after them are included in user.
    fn parse(text: &str) -> Option<CpuTime> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .take(8)
            .map_while(|n| n.parse().ok())
            .collect();
        Some(CpuTime {
            all: ticks.iter().sum(),
            idle: ticks.get(3)? + ticks.get(4)?,
        })
    }

    /// Returns the fraction of the time since `earlier` in which the CPUs were busy.
    pub fn busy_since(self, earlier: CpuTime) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|&all| all > 0)?;
        let idle = self.idle.saturating_sub(earlier.idle).min(all);
        Some(1.0 - idle as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_io_is_idle_and_a_guests_time_counts_once() {
        let at = |line: &str| CpuTime::parse(line).expect("a line");
        let then = at("cpu  100 0 50 800 50 0 0 0 90 0\ncpu0 1\n");
        let now = at("cpu  150 0 70 860 70 5 5 0 140 0\n");
        assert_eq!(now.busy_since(then), Some(0.5));
        assert_eq!(then.busy_since(then), None);
        assert_eq!(CpuTime::parse("cpu  1 2 3"), None);
    }
}
