//! Outcome of a run, from which its result is made.

use super::snapshot::Did;
use crate::job_result::JobResult;
use joulio_energy as energy;
use joulio_job::{Steadiness, SteadyStateResult, VerifyResult};
use joulio_nvme::Faults;
use joulio_units::Nanos;

/// Outcome of a run.
pub(crate) enum RunOutcome {
    /// No I/O was done: the completion mode of a member is unavailable.
    Unavailable {
        /// Number of the member.
        member: usize,
        /// Reason.
        reason: String,
    },
    /// The run's jobs have all finished.
    Finished(Box<Finished>),
}

/// Figures of a run whose jobs have finished.
pub(crate) struct Finished {
    /// The members, in their order.
    pub(crate) members: Vec<FinishedMember>,
    /// Activity of the devices and the machine.
    pub(crate) did: Did,
    /// Results of the meters.
    pub(crate) energy: Vec<energy::MeterResult>,
    /// Time for which energy was counted.
    pub(crate) window: Nanos,
    /// Largest delay of the conductor.
    pub(crate) late: Nanos,
    /// Steadiness of the rate of all members together; `None`: the run was too short to tell.
    pub(crate) steadiness: Option<Steadiness>,
}

/// Figures of a member whose jobs have finished.
pub(crate) struct FinishedMember {
    /// Effective completion mode.
    pub(crate) effective: String,
    /// Results of the jobs, in the order in which they finished.
    pub(crate) jobs: Vec<JobResult>,
    /// Verification of all jobs.
    pub(crate) verify: VerifyResult,
    /// Faults of the devices, until the last block was read back.
    pub(crate) faults: Faults,
    /// Steadiness of the rate; `None`: the run was too short to tell.
    pub(crate) steadiness: Option<Steadiness>,
    /// Steady state that was requested to end the jobs.
    pub(crate) steady_state: Option<SteadyStateResult>,
}
