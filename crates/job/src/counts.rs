//! The figures of a run.

use crate::{
    DeviceCounts, DirectionResult, EnergyResult, FaultCounts, FixedWindow, JobCounts,
    MachineCounters, Moment, Placement, Steadiness, SteadyStateResult, Threads, Unmetered,
    VerifyResult, WaitCounters,
};
use serde::{Deserialize, Serialize};

/// Figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Beginning of the measured part; `null` in virtual time.
    #[serde(default)]
    pub begin: Option<Moment>,
    /// End of the measured part; `null` in virtual time.
    #[serde(default)]
    pub end: Option<Moment>,
    /// Seconds of the measured part, ramp not included.
    pub seconds: f64,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Trims; `None`: the job has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
    /// Flushes, which are not in `all`; `None`: the job has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionResult>,
    /// Reads, writes and trims together.
    pub all: DirectionResult,
    /// Figures of each device, in the order in which the devices were named.
    pub per_device: Vec<DeviceCounts>,
    /// Figures of each job, by its number; empty of one job alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_job: Vec<JobCounts>,
    /// Percent of the jobs' CPUs that threads beside them had, which compute without end; `null`: there
    /// were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour_percent: Option<f64>,
    /// Interrupts of other queues and devices that the jobs' CPUs handled; `null`: not asked for, or a real
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_irqs: Option<u64>,
    /// Steadiness of the rate; `null`: the run was too short to tell, or was simulated in virtual time.
    #[serde(default)]
    pub steadiness: Option<Steadiness>,
    /// Steady state that was to end the run; `None`: none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyStateResult>,
    /// Places of jobs, buffers and devices; in virtual time there are none.
    #[serde(default)]
    pub placement: Placement,
    /// CPU time of the threads, by role.
    pub threads: Threads,
    /// Counters of waiting.
    pub wait: WaitCounters,
    /// Faults of the devices.
    pub faults: FaultCounts,
    /// System calls of the jobs' engines; `null`: not counted.
    pub system_calls: Option<u64>,
    /// Counters of the machine.
    pub machine: MachineCounters,
    /// Energy, a figure each: the meters' and the model's.
    pub energy: Vec<EnergyResult>,
    /// Meters that were read and have no figure.
    pub unmetered: Vec<Unmetered>,
    /// The fixed window that energy was counted in, and whether the work fitted into it.
    pub window: Option<FixedWindow>,
    /// Arrivals of an open loop that found no free slot before the end and were never issued: the
    /// latencies do not show them.
    pub arrivals_not_issued: u64,
    /// True if they are more than a device that keeps up leaves, or if as many were due when the number of I/Os was
    /// reached.
    pub falls_behind: bool,
    /// Result of verification, if it was requested.
    pub verify: Option<VerifyResult>,
    /// Description of the first I/O that failed.
    pub first_error: Option<String>,
}

impl Counts {
    /// Returns the number of I/Os that failed, including flushes.
    pub fn errors(&self) -> u64 {
        self.all.errors + self.sync.as_ref().map_or(0, |sync| sync.errors)
    }

    /// Returns the interrupts that the jobs took, or those of the device if the kernel handles them; `None`:
    /// not counted.
    pub fn interrupts(&self) -> Option<u64> {
        match self.system_calls {
            Some(_) => self.machine.device_interrupts,
            None => Some(self.wait.interrupts),
        }
    }
}
