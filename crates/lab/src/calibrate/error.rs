//! Errors of calibrations.

use joulio_emulator::EmulatorError;
use joulio_model::ProfileError;
use joulio_nvme::{NvmeError, SubmitError};
use joulio_twin::TwinError;
use joulio_workload::{CompletionMode, RunError, Spoiled};
use rustix::io::Errno;

/// Reason why a calibration, or its comparison with virtual time, gave no figures.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The process may use only one CPU: allow it to use another.
    #[error(
        "calibrate needs two CPUs, one of them for an emulated device: this process may use one"
    )]
    OneCpu,
    /// The measurement was spoiled: other programs ran meanwhile, or the machine was disturbed otherwise. Stop them and
    /// calibrate again.
    #[error("{}", .0.why)]
    Spoiled(Spoiled),
    /// The calibration was stopped early.
    #[error("nothing is kept")]
    Interrupted,
    /// A completion mode that the driver cannot use on this machine.
    #[error("{completion}: unavailable: {reason}")]
    Unavailable {
        /// The completion mode.
        completion: CompletionMode,
        /// Reason why it is unavailable.
        reason: String,
    },
    /// A completion mode that joulio's driver does not have.
    #[error("{0}")]
    NoPolicy(CompletionMode),
    /// A thread cannot be bound to its CPU.
    #[error("CPU {cpu}: {errno}")]
    Pin {
        /// The CPU's number.
        cpu: usize,
        /// The system's reason.
        errno: Errno,
    },
    /// A system call that is being measured failed.
    #[error("{0}")]
    System(#[source] Errno),
    /// A built-in profile, or the calibrated one, is not valid.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The emulated device could not be made.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The emulated device's controller failed.
    #[error(transparent)]
    Controller(#[from] NvmeError),
    /// A read was not submitted.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A buffer did not come back from the driver.
    #[error("the buffer did not come back")]
    NoBuffer,
    /// A run of reads failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The calibration made no run.
    #[error("no run")]
    NoRun,
    /// The kernel does not report how long a thread waits for its CPU: compare without neighbours.
    #[error("--neighbours: /proc/thread-self/schedstat: {0}: the kernel needs CONFIG_SCHED_INFO")]
    NoRunDelay(#[source] std::io::Error),
    /// A neighbour thread could not be started.
    #[error("--neighbours: {0}")]
    Neighbours(#[source] std::io::Error),
    /// The run in virtual time failed.
    #[error(transparent)]
    Twin(#[from] TwinError),
    /// The profile cannot be written as TOML.
    #[error(transparent)]
    Toml(#[from] toml_edit::ser::Error),
    /// A thread of the calibration panicked; its message is on standard error.
    #[error("a thread of the calibration panicked")]
    Panicked,
}

impl CalibrateError {
    /// Returns true if nothing was measured, because it is not possible on this machine.
    pub fn is_refusal(&self) -> bool {
        matches!(self, CalibrateError::OneCpu)
    }
}
