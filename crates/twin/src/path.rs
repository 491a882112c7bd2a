//! The software between a workload and its device.

use crate::TwinError;
use joulio_job::{CompletionMode, EngineName, Method};
use joulio_wait::{AnyPolicy, UringHybrid};
use serde::Deserialize;

/// The software between a workload and its device, by its costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// The kernel, with a system call per I/O: `[costs.kernel]` and a crossing.
    #[default]
    Kernel,
    /// io_uring: `[costs.uring]`, with one system call to submit and one to wait.
    Uring,
    /// io_uring with a kernel thread that submits and polls: `[costs.sqpoll]`. That thread spins on a core of its
    /// own, if one is left.
    Sqpoll,
    /// The user-space driver: `[costs.user]`, with interrupts through an eventfd.
    User,
}

impl Path {
    /// Returns the path of `method`.
    pub fn of(method: Method) -> Path {
        match (method.engine, method.mode) {
            (EngineName::Nvme, _) => Path::User,
            (EngineName::IoUring, CompletionMode::SqPollPoll) => Path::Sqpoll,
            (EngineName::IoUring, _) => Path::Uring,
            _ => Path::Kernel,
        }
    }

    /// Returns a method on this path, in `mode` if the path supports several.
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
/// [`TwinError::Method`] or [`TwinError::Job`], with the reason.
pub fn check_method(method: Method, iodepth: usize) -> Result<(), TwinError> {
    use CompletionMode as Mode;
    let Method { engine, mode } = method;
    let modelled = match engine {
        // These modes need the kernels of the papers that proposed them.
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

/// Refuses `devices` for a `method` that cannot use several devices per job, if there are more devices than jobs.
///
/// # Errors
/// [`TwinError::Job`]: the kernel's engines have one device per job.
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

/// Returns a new policy for `method`; `None`: the method has none.
pub(crate) fn policy(method: Method) -> Option<AnyPolicy> {
    match (method.engine, method.mode) {
        // io_uring has its own hybrid policy since Linux 6.13.
        (EngineName::IoUring, CompletionMode::Hybrid) => {
            Some(AnyPolicy::UringHybrid(UringHybrid::new()))
        }
        (EngineName::IoUring, CompletionMode::SqPollPoll) => Some(AnyPolicy::POLL),
        (_, mode) => mode.policy(),
    }
}
