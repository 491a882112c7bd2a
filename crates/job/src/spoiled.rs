//! Runs whose figures show a disturbance of the machine.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A reason why a run's figures are not those of its completion mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SpoiledBy {
    /// A job's thread was ready to run, and others ran on its CPU.
    Preempted,
    /// An emulated device's thread was ready to run, and others ran on its CPU.
    DevicePreempted,
    /// The kernel's thread that submits or polls for a job was ready to run, and others ran on its CPU.
    KernelPreempted,
    /// CPUs that were measured also ran other programs.
    Busy,
    /// The host ran something else on the virtual machine's CPUs.
    Stolen,
    /// CPUs were slowed down for their temperature.
    Throttled,
    /// The process was stopped and continued.
    Stopped,
    /// The process did not run for a while, and it was not stopped.
    Stalled,
    /// The machine was suspended.
    Suspended,
    /// The wall clock was set.
    ClockStepped,
    /// The policy had not learnt how long to wait, and polled.
    NotLearnt,
    /// The rate did not hold still, as the experiment demanded.
    Unsteady,
    /// A reset took settings of the device that could not be made again.
    SettingsLost,
}

impl fmt::Display for SpoiledBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpoiledBy::Preempted => "the job was preempted",
            SpoiledBy::DevicePreempted => "the emulated device was preempted",
            SpoiledBy::KernelPreempted => "the kernel's polling thread was preempted",
            SpoiledBy::Busy => "other programs ran on the measured CPUs",
            SpoiledBy::Stolen => "the host took CPU time from the virtual machine",
            SpoiledBy::Throttled => "CPUs were throttled",
            SpoiledBy::Stopped => "the process was stopped and continued",
            SpoiledBy::Stalled => "the process stalled",
            SpoiledBy::Suspended => "the machine was suspended",
            SpoiledBy::ClockStepped => "the wall clock was set",
            SpoiledBy::NotLearnt => "the policy had not learnt how long to wait",
            SpoiledBy::Unsteady => "the rate was not steady",
            SpoiledBy::SettingsLost => "a reset took settings of the device",
        })
    }
}
