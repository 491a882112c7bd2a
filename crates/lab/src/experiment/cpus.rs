//! CPUs that this process may use.

use joulio_workload::JobError;
use rustix::thread::{CpuSet, sched_getaffinity};

/// CPUs that this process may use, for `flag`.
pub(super) fn allowed_cpus(flag: &'static str) -> Result<CpuSet, JobError> {
    sched_getaffinity(None)
        .map_err(|error| wrong(flag, &format!("the CPUs of this process: {error}")))
}

/// Refuses CPUs that this process may not use.
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

/// Error of `flag`.
pub(super) fn wrong(flag: &'static str, problem: &str) -> JobError {
    JobError {
        flag,
        problem: problem.into(),
    }
}
