//! Time of a run's cores by state, from which the model computes its watts.

use crate::job_result::JobResult;
use joulio_job::ThreadUsage;
use joulio_model::{MachineProfile, Residency};
use joulio_units::Nanos;

/// Returns the residency of a job's core, and that of the core of the kernel's thread that worked for it. `home` is
/// the machine on which the run took place, if the model has its profile.
pub(super) fn residencies(
    job: &JobResult,
    home: Option<&MachineProfile>,
) -> impl Iterator<Item = Residency> {
    let kernel = (job.kernel_usage.threads > 0).then(|| kernel_residency(job));
    let own = Residency {
        frequency: home.and_then(|machine| {
            machine.frequency_ratio(hertz(job.counted.cycles.as_ref().ok(), &job.usage)?)
        }),
        ..residency(job)
    };
    std::iter::once(own).chain(kernel)
}

/// Returns the mean frequency of a job's core while it ran: its unhalted cycles divided by its CPU time.
fn hertz(cycles: Option<&u64>, usage: &ThreadUsage) -> Option<f64> {
    /// Least CPU time in seconds for which the quotient is meaningful, since CPU times are coarse.
    const ENOUGH: f64 = 0.1;
    let seconds = usage.user_seconds + usage.system_seconds;
    (seconds >= ENOUGH).then_some(*cycles? as f64 / seconds)
}

/// Returns how a job's core spent the time of the job. Time that it was not blocked, asleep or in a user-level wait it
/// spun (working and polling cost the same). CPU time in the kernel is not blocked time, though it lies between the same two readings
/// of the clock. After the end of the job the core is idle, which the base includes.
fn residency(job: &JobResult) -> Residency {
    let window = job.ended - job.started;
    let kernel = Nanos::from_seconds(job.usage.system_seconds).min(window);
    if !job.counts_waiting {
        let spin = Nanos::from_seconds(job.usage.user_seconds).min(window - kernel);
        return Residency {
            spin,
            kernel,
            blocked: window - kernel - spin,
            wakes: job.usage.voluntary_switches,
            ..Residency::default()
        };
    }
    let blocked = job.counters.blocked - kernel;
    let slept = job.counters.slept;
    // The kernel's handlers of interrupts run within user-level waits, too.
    let awake = window - blocked - slept - kernel;
    let monitored = job.counters.monitored.min(awake);
    let paused = job.counters.paused.min(awake - monitored);
    Residency {
        spin: awake - monitored - paused,
        kernel,
        blocked,
        slept,
        paused,
        monitored,
        wakes: job.counters.wakes,
        // A block that ended without an interrupt was ended by its timer.
        timer_wakes: job.counters.sleeps + job.counters.blocks - job.counters.wakes,
        ..Residency::default()
    }
}

fn kernel_residency(job: &JobResult) -> Residency {
    let window = job.ended - job.started;
    let usage = &job.kernel_usage;
    let busy = Nanos::from_seconds(usage.system_seconds + usage.user_seconds).min(window);
    Residency {
        kernel: busy,
        blocked: window - busy,
        wakes: usage.voluntary_switches,
        ..Residency::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_job::WaitCounters;

    #[test]
    fn user_level_waits_are_not_charged_as_spinning() {
        let millis = Nanos::from_millis;
        let mut job = JobResult::new(0, millis(10));
        job.ended = millis(110);
        job.usage.system_seconds = 0.005;
        job.counters = WaitCounters {
            slept: millis(10),
            paused: millis(50),
            monitored: millis(20),
            ..WaitCounters::default()
        };
        let core = residency(&job);
        assert_eq!((core.paused, core.monitored), (millis(50), millis(20)));
        assert_eq!((core.kernel, core.spin), (millis(5), millis(15)));
        assert_eq!(core.total(), millis(100));
        // Interrupts that came within the waits are the kernel's.
        job.counters.paused = millis(80);
        let core = residency(&job);
        assert_eq!((core.paused, core.spin), (millis(65), Nanos::ZERO));
        assert_eq!(core.total(), millis(100));
    }

    #[test]
    fn frequency_is_cycles_over_cpu_time_where_both_are_known() {
        let usage = |user_seconds, system_seconds| ThreadUsage {
            user_seconds,
            system_seconds,
            ..ThreadUsage::default()
        };
        let cycles = 3_000_000_000;
        assert_eq!(hertz(Some(&cycles), &usage(1.0, 0.5)), Some(2e9));
        assert_eq!(hertz(Some(&cycles), &usage(0.05, 0.0)), None);
        assert_eq!(hertz(None, &usage(1.0, 0.5)), None);
    }
}
