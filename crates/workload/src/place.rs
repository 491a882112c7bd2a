//! CPU, memory and timers of a job's thread.

use crate::worker_error::WorkerError;
use joulio_device::allocate_on;
use joulio_job::Job;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::num::NonZero;

/// Binds a job's thread to the CPU for its `turn`, and makes its timers exact.
pub(crate) fn place(job: &Job, turn: usize) -> Result<(), WorkerError> {
    // Timer slack of 1 ns: the default of 50 us would be longer than the I/O (prctl(2)).
    let _ = set_current_timer_slack(NonZero::new(1));
    if let Some(node) = job.numa_node {
        allocate_on(node).map_err(|error| WorkerError::Numa { node, error })?;
    }
    let Some(&cpu) = job.cpus_allowed.get(turn % job.cpus_allowed.len().max(1)) else {
        return Ok(());
    };
    let refuse = |reason: String| WorkerError::Cpu { cpu, reason };
    if cpu >= CpuSet::MAX_CPU {
        return Err(refuse("no such CPU".into()));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| refuse(error.to_string()))
}
