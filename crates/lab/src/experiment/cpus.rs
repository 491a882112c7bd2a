//! CPUs that this process may use.

use joulio_workload::{Job, JobError};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::BTreeSet;

/// Returns the CPUs that this process may use; `flag` is named in the error.
pub(super) fn allowed_cpus(flag: &'static str) -> Result<CpuSet, JobError> {
    sched_getaffinity(None)
        .map_err(|error| wrong(flag, &format!("the CPUs of this process: {error}")))
}

/// Returns an error if this process may not use one of `cpus`.
pub(crate) fn check_cpus(cpus: &[usize]) -> Result<(), JobError> {
    const FLAG: &str = "--cpus_allowed";
    if cpus.is_empty() {
        return Ok(());
    }
    let allowed = allowed_cpus(FLAG)?;
    match cpus.iter().find(|&&cpu| !allowed.is_set(cpu)) {
        Some(cpu) => Err(wrong(
            FLAG,
            &format!("CPU {cpu} is not one that this process may use"),
        )),
        None => Ok(()),
    }
}

/// Returns the CPUs that this process may use and that none of `jobs` is pinned to. An emulated device's thread runs on
/// them: on a job's CPU it would take time from the job, which no drive does. Empty if a job may run on any CPU, or the
/// jobs use all CPUs.
pub(crate) fn cpus_beside<'a>(jobs: impl Iterator<Item = &'a Job>) -> Vec<usize> {
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    for job in jobs {
        if job.cpus_allowed.is_empty() {
            return Vec::new();
        }
        taken.extend(job.cpus_allowed.iter().take(job.numjobs));
    }
    if taken.is_empty() {
        return Vec::new();
    }
    let mut free = joulio_cpu::allowed_cpus().unwrap_or_default();
    free.retain(|cpu| !taken.contains(cpu));
    free
}

/// Returns an error of `flag`.
pub(super) fn wrong(flag: &'static str, problem: &str) -> JobError {
    JobError {
        flag,
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_kept_off_the_cpus_of_pinned_jobs() {
        let allowed = joulio_cpu::allowed_cpus().unwrap();
        let pinned = |cpus: &[usize]| Job {
            cpus_allowed: cpus.to_vec(),
            ..Job::random_reads(1)
        };
        let first = pinned(&allowed[..1]);
        assert_eq!(cpus_beside([&first].into_iter()), allowed[1..]);
        let all = Job {
            numjobs: allowed.len(),
            ..pinned(&allowed)
        };
        assert!(cpus_beside([&first, &all].into_iter()).is_empty());
        // The job is pinned to the first of several CPUs.
        assert_eq!(cpus_beside([&pinned(&allowed)].into_iter()), allowed[1..]);
        assert!(cpus_beside([&first, &Job::random_reads(1)].into_iter()).is_empty());
        assert!(cpus_beside([].into_iter()).is_empty());
    }
}
