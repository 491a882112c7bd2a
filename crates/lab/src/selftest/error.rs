//! Errors of self-tests.

use super::uintr::setup::SetupError;
use crate::error::OpenError;
use joulio_cpu::MissingFeature;
use joulio_cpu::uintr::UintrError;
use joulio_nvme::{NvmeError, SubmitError};
use joulio_workload::CompletionMode;
use rustix::io::Errno;

/// Reason why a self-test ended without a report.
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    /// The CPU or its kernel does not support this wait: there is nothing to test.
    #[error(transparent)]
    NoUserWait(#[from] MissingFeature),
    /// User interrupts are unavailable: load the module that the message names.
    #[error("{0}")]
    NoUserInterrupts(#[source] SetupError),
    /// The CPU is not among those of this process: choose another, or change its affinity.
    #[error("{flag}: CPU {cpu} is not one that this process may use")]
    CpuNotAllowed {
        /// Flag that named the CPU.
        flag: &'static str,
        /// The CPU's number.
        cpu: usize,
    },
    /// The storing thread cannot run on the CPU on which the waiting one spins: name another.
    #[error("--store-cpu: CPU {0} is the one that the test waits on: name another")]
    SameCpu(usize),
    /// The test needs a second CPU: allow this process to use another.
    #[error("this test needs a second CPU, and may use only CPU {0}")]
    OneCpu(usize),
    /// The process's CPUs cannot be read.
    #[error("{0}")]
    Affinity(#[source] Errno),
    /// The thread cannot be bound to its CPU.
    #[error("cannot stay on CPU {cpu}: {errno}")]
    Pin {
        /// The CPU's number.
        cpu: usize,
        /// The system's reason.
        errno: Errno,
    },
    /// The storing thread ended by itself.
    #[error("the thread that stores ended by itself")]
    StorerEnded,
    /// The other CPU did not store: stop other programs on it.
    #[error("the other CPU does not store: is it busy?")]
    NoStore,
    /// The test source raised no interrupt: see the kernel's log.
    #[error("the test source did not raise its interrupt")]
    NotRaised,
    /// The receiver or the test source failed in the test.
    #[error(transparent)]
    Uintr(#[from] UintrError),
    /// The receiver or the test source could not be set up or read.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// The process that should run beside the test cannot be started.
    #[error("{0}")]
    Bystander(#[source] Errno),
    /// The device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device is smaller than one read.
    #[error("{0}: the namespace is smaller than a read of 4096 bytes: name another, as by nsid=2")]
    TooSmall(String),
    /// The completion mode is unavailable with this device on this machine.
    #[error("{mode}: {reason}")]
    Unavailable {
        /// The mode.
        mode: CompletionMode,
        /// Reason why it is unavailable.
        reason: String,
    },
    /// The device has unreadable blocks where the test reads, at this offset in bytes.
    #[error(
        "the device cannot read what is {0} bytes from its begin, so that nothing can be tested with it"
    )]
    Unreadable(u64),
    /// A read could not be sent.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A read did not return its buffer.
    #[error("a read did not give its buffer back")]
    NoBuffer,
    /// The device failed during the test.
    #[error(transparent)]
    Device(#[from] NvmeError),
    /// The meters cannot be read.
    #[error(transparent)]
    Meters(std::io::Error),
}

impl SelftestError {
    /// Returns true if nothing was tested, because it is not possible here or as requested.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            SelftestError::NoUserWait(_)
                | SelftestError::NoUserInterrupts(_)
                | SelftestError::CpuNotAllowed { .. }
                | SelftestError::OneCpu(_)
                | SelftestError::SameCpu(_)
                | SelftestError::Open(_)
                | SelftestError::TooSmall(_)
                | SelftestError::Unavailable { .. }
        )
    }
}
