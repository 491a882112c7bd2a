//! CPUs that a thread may use.

use rustix::io;
use rustix::thread::{CpuSet, sched_getaffinity};

/// Returns the CPUs that the calling thread may use, ascending (sched_getaffinity(2)).
///
/// # Errors
/// The system's error.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    let cpus = 0..CpuSet::MAX_CPU;
    Ok(cpus.filter(|cpu| allowed.is_set(*cpu)).collect())
}
