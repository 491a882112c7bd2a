//! Members of a run: jobs with a method and devices of their own.

use joulio_job::{Job, Method};
use joulio_kernel_io::RingOptions;
use joulio_nvme::wait::WaitCosts;
use std::fmt;

/// Jobs of one kind, in a run that may also have others.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name in results and refusals; used if a run has several members.
    pub name: String,
    /// Number of its reporting group; members with the same number are reported together.
    pub reporting_group: usize,
    /// The job.
    pub job: Job,
    /// Engine and completion mode.
    pub method: Method,
    /// Numbers of its devices among those of the run; job i runs on device i modulo the number of these devices.
    pub devices: Vec<usize>,
    /// Costs of each step of a wait on this machine, for the completion mode `adaptive`; `None`: those of a generic
    /// server.
    pub wait_costs: Option<WaitCosts>,
    /// Options of its io_uring rings, if that is its engine.
    pub ring: RingOptions,
}

impl Member {
    /// Returns the only member of a run on `devices` devices.
    pub fn alone(job: Job, method: Method, devices: usize) -> Member {
        Member {
            name: String::new(),
            reporting_group: 0,
            job,
            method,
            devices: (0..devices).collect(),
            wait_costs: None,
            ring: RingOptions::default(),
        }
    }

    /// Returns the number of jobs on device `device` of the run.
    pub fn jobs_on(&self, device: usize) -> usize {
        let place = self.devices.iter().position(|&own| own == device);
        place.map_or(0, |at| self.job.jobs_on(at, self.devices.len()))
    }
}

/// Describes the member in a few words: `io_uring poll randread`.
impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Method { engine, mode } = self.method;
        write!(f, "{engine} {mode} {}", self.job.rw)
    }
}
