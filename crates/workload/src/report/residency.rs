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

/// Returns how a job's core spent the time of the job. Time that it was not blocked or asleep it spun (working and
/// polling cost the same). CPU time in the kernel is not blocked time, though it lies between the same two readings
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
    Residency {
        spin: window - blocked - slept - kernel,
        kernel,
        blocked,
        slept,
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
