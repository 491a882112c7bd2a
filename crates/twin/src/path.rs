//! The software between a workload and its device.

use crate::TwinError;
use joulio_job::{CompletionMode, EngineName, Method};
use joulio_wait::{AnyPolicy, UringHybrid};
use serde::Deserialize;

/// The software between a workload and its device, as it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// The kernel's, a system call per I/O: `[costs.kernel]` and a crossing.
    #[default]
    Kernel,
    /// io_uring's: `[costs.uring]`, one system call to submit and one to wait.
    Uring,
    /// io_uring's with a thread of the kernel that submits and polls: `[costs.sqpoll]`. That thread
    /// spins on a core of its own, if there is one left.
    Sqpoll,
    /// The user-space driver's: `[costs.user]`, interrupts by an eventfd.
    User,
}

impl Path {
    /// The path of `method`.
    pub fn of(method: Method) -> Path {
        match (method.engine, method.mode) {
            (EngineName::Nvme, _) => Path::User,
            (EngineName::IoUring, CompletionMode::SqPollPoll) => Path::Sqpoll,
            (EngineName::IoUring, _) => Path::Uring,
            _ => Path::Kernel,
        }
    }

    /// A method on this path, in `mode` where the path leaves a choice.
    pub(crate) fn method(self, mode: CompletionMode) -> Method {
        let (engine, mode) = match self {
            Path::Kernel => (EngineName::Psync, mode),
            Path::Uring => (EngineName::IoUring, mode),
            Path::Sqpoll => (EngineName::IoUring, CompletionMode::SqPollPoll),
            Path::User => (EngineName::Nvme, mode),
        };
        Method { engine, mode }
    }
}

/// Refuses a `method` that is not modelled, or not at `iodepth`.
///
/// # Errors
/// [`TwinError::Method`] and [`TwinError::Job`], saying which.
pub fn check_method(method: Method, iodepth: usize) -> Result<(), TwinError> {
    use CompletionMode as Mode;
    let Method { engine, mode } = method;
    let modelled = match engine {
        // With the kernels of the papers that have them.
        EngineName::Psync => {
            engine.takes(mode) || matches!(mode, Mode::Ehp | Mode::Pas | Mode::Dpas(_))
        }
        EngineName::IoUringCmd => false,
        _ => engine.takes(mode) && mode != Mode::SqPoll && !engine.is_external(),
    };
    if !modelled {
        return Err(TwinError::Method { engine, mode });
    }
    if engine == EngineName::Psync && iodepth > 1 {
        return Err(TwinError::Job {
            field: "iodepth",
            problem: "psync has one I/O at a time".into(),
        });
    }
    Ok(())
}

/// Refuses `devices` for `method` that fewer jobs cannot share out.
///
/// # Errors
/// [`TwinError::Job`]: the kernel's engines have a device a job.
pub fn check_devices(method: Method, numjobs: usize, devices: usize) -> Result<(), TwinError> {
    if devices <= numjobs || !method.engine.is_kernel() {
        return Ok(());
    }
    Err(TwinError::Job {
        field: "numjobs",
        problem: format!(
            "{numjobs} job(s) for {devices} devices: one of {} has one device: --numjobs {devices}",
            method.engine
        ),
    })
}

/// A new policy of `method`; `None`: it has none.
pub(crate) fn policy(method: Method) -> Option<AnyPolicy> {
    match (method.engine, method.mode) {
        // Its own rule, since Linux 6.13.
        (EngineName::IoUring, CompletionMode::Hybrid) => {
            Some(AnyPolicy::UringHybrid(UringHybrid::new()))
        }
        (EngineName::IoUring, CompletionMode::SqPollPoll) => Some(AnyPolicy::POLL),
        (_, mode) => mode.policy(),
    }
}
