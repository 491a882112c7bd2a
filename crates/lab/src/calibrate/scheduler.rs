//! Times of the kernel's scheduler, as the kernel reports them.

use joulio_units::Nanos;
use rustix::time::{ClockId, clock_getres};
use std::fs;

/// Times that decide how the kernel divides a CPU between threads.
#[derive(Clone, Copy, Debug)]
pub struct CpuSchedulerTimes {
    /// Slice of the calling thread; `None` if this kernel does not report it.
    pub slice: Option<Nanos>,
    /// Time between two timer ticks.
    pub tick: Nanos,
}

impl CpuSchedulerTimes {
    /// Reads the times of the running kernel; the calling thread must not have changed its own slice.
    pub fn now() -> CpuSchedulerTimes {
        let text = fs::read_to_string("/proc/self/sched").unwrap_or_default();
        // The coarse clock advances at ticks, so its resolution is their period.
        let tick = clock_getres(ClockId::MonotonicCoarse);
        let part = |time: i64| u64::try_from(time).unwrap_or(0);
        CpuSchedulerTimes {
            slice: slice(&text),
            tick: Nanos(part(tick.tv_sec) * 1_000_000_000 + part(tick.tv_nsec)),
        }
    }
}

/// Parses the slice from the text of /proc/PID/sched (kernel/sched/debug.c, proc_sched_show_task).
fn slice(text: &str) -> Option<Nanos> {
    let named = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "se.slice").then(|| value.trim().parse().ok())?
    };
    let nanoseconds = text.lines().find_map(named)?;
    (nanoseconds > 0).then_some(Nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_is_found_where_the_kernel_says_it() {
        let said = "cat (2862, #threads: 1)\n----\nse.vruntime      :        105001.341421\n\
                    prio        :        120\nse.slice                 :              1400000\n";
        assert_eq!(slice(said), Some(Nanos(1_400_000)));
        for older in ["", "se.slice", "se.slice : x", "se.slice : 0", "slice : 1"] {
            assert_eq!(slice(older), None, "{older}");
        }
    }

    #[test]
    fn a_tick_of_the_running_kernel_is_of_100_to_1000_a_second() {
        let tick = CpuSchedulerTimes::now().tick;
        assert!(
            (Nanos(1_000_000)..=Nanos(10_000_000)).contains(&tick),
            "{tick:?}"
        );
    }
}
