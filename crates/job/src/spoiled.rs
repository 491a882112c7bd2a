//! Runs whose figures are the machine's doing.

use serde::{Deserialize, Serialize};

/// A reason why a run's figures are not those of its completion mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spoiled {
    /// Cause.
    pub by: SpoiledBy,
    /// Share of the run that was lost, 0 to 1; `null`: not known.
    pub share: Option<f64>,
    /// Description for people: the cause, its extent, and what to do.
    pub why: String,
}

/// Cause of a spoiled run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpoiledBy {
    /// A job's thread was ready to run, and others ran on its CPU.
    Preempted,
    /// An emulated device's thread was ready to run, and others ran on its CPU.
    DevicePreempted,
    /// The kernel's thread that submits or polls for a job was ready to run, and others ran on its CPU.
    KernelPreempted,
    /// Other programs ran on the CPUs that were measured.
    Busy,
    /// The host ran something else on the virtual machine's CPUs.
    Stolen,
    /// CPUs were slowed down for their temperature.
    Throttled,
    /// The process was stopped and continued.
    Stopped,
    /// Nothing of the process ran for a while, and it was not stopped.
    Stalled,
    /// The machine was suspended.
    Suspended,
    /// The wall clock was set.
    ClockStepped,
    /// The policy had not learnt how long to wait, and polled.
    NotLearnt,
    /// Its rate did not hold still, as its experiment demanded.
    Unsteady,
    /// A reset took settings of the device that could not be made again.
    SettingsLost,
}
