//! CPU time and context switches of threads.

use crate::spoiled::Scheduled;
use joulio_job::ThreadUsage;
use joulio_nvme::wait::run_delay;
use joulio_units::Nanos;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use rustix::time::{ClockId, clock_gettime};
use std::fs;

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

fn usage(of: &Usage) -> ThreadUsage {
    ThreadUsage {
        threads: 1,
        user_seconds: seconds(of.user_time()),
        system_seconds: seconds(of.system_time()),
        voluntary_switches: of.voluntary_context_switches() as u64,
        involuntary_switches: of.involuntary_context_switches() as u64,
    }
}

/// Returns the CPU time and the context switches of the calling thread so far (getrusage(2), RUSAGE_THREAD); zero
/// if the system does not report them.
pub fn thread_usage() -> ThreadUsage {
    getrusage(UsageWho::RUSAGE_THREAD).map_or_else(|_| ThreadUsage::default(), |u| usage(&u))
}

/// Returns the time that the calling thread ran, by its CPU clock, which is exact where getrusage(2) lags by up to
/// a tick.
pub(crate) fn scheduled() -> Scheduled {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |time: i64| u64::try_from(time).unwrap_or(0);
    let ran = Nanos(part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec));
    let usage = thread_usage();
    Scheduled {
        ran,
        ..scheduling(&usage, run_delay(None))
    }
}

/// Returns the scheduling counts of another thread of this process; the time that it ran is in ticks.
pub(crate) fn scheduled_of(tid: i32) -> Scheduled {
    let delay = run_delay(Some(tid));
    scheduling(&thread(tid), delay)
}

fn scheduling(usage: &ThreadUsage, run_delay: Option<Nanos>) -> Scheduled {
    Scheduled {
        ran: Nanos::from_seconds(usage.user_seconds + usage.system_seconds),
        run_delay,
        wakes: usage.voluntary_switches,
        preemptions: usage.involuntary_switches,
    }
}

/// Returns the usage of another thread of this process, from /proc/self/task (proc(5)); zero when the thread is gone.
/// Times are in the kernel's ticks of 10 ms.
pub(crate) fn thread(tid: i32) -> ThreadUsage {
    let read = |file: &str| fs::read_to_string(format!("/proc/self/task/{tid}/{file}"));
    let (Ok(stat), Ok(status)) = (read("stat"), read("status")) else {
        return ThreadUsage::default();
    };
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    // Fields 14 and 15. The name in field 2 may contain spaces, but ends at the last ')'.
    let fields = stat.rsplit(')').next().unwrap_or("");
    let time = |n: usize| {
        let field = fields.split_whitespace().nth(n - 3);
        field.and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) / ticks
    };
    let switches = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
    };
    ThreadUsage {
        threads: 1,
        user_seconds: time(14),
        system_seconds: time(15),
        voluntary_switches: switches("voluntary_ctxt_switches:"),
        involuntary_switches: switches("nonvoluntary_ctxt_switches:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_the_same_seen_from_inside_and_outside() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let (inside, outside) = (thread_usage(), thread(tid));
        assert!(outside.voluntary_switches >= 3);
        assert!(
            inside
                .voluntary_switches
                .abs_diff(outside.voluntary_switches)
                <= 1
        );
        assert_eq!(thread(-1), ThreadUsage::default());
    }
}
