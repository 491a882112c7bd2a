//! Errors of user interrupts.

use super::abi;
use crate::MissingFeature;
use rustix::io::Errno;

/// Reason why user interrupts are unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UintrError {
    /// The CPU lacks a feature.
    #[error(transparent)]
    Cpu(#[from] MissingFeature),
    /// The module is not loaded.
    #[error(
        "no /dev/joulio_uintr: load kmod/joulio_uintr, as modprobe joulio_uintr (kmod/README.md says how it is built)"
    )]
    NoModule,
    /// The user may not use the module.
    #[error(
        "/dev/joulio_uintr: permission denied: join its group, as usermod -aG joulio USER with kmod's udev rule, or run as root"
    )]
    Denied,
    /// The module is of another version of joulio.
    #[error("/dev/joulio_uintr has version {0} of its interface and joulio wants {version}: load the module that came with this joulio", version = abi::VERSION)]
    Version(u32),
    /// The module was loaded to run without the CPU's user interrupts.
    #[error(
        "kmod/joulio_uintr runs dry, without the CPU's user interrupts: load it without dry_run"
    )]
    Dry,
    /// The module provides no test interrupts of its own.
    #[error("kmod/joulio_uintr has no test source: load it with test_source=1")]
    NoSource,
    /// The module provides test interrupts only to users who may access hardware.
    #[error("the test source of kmod/joulio_uintr takes CAP_SYS_RAWIO: run as root")]
    SourceDenied,
    /// A test, or SPDK+'s hand-over, returns to an address that no call came from, which the CPU would compare with its
    /// own copy.
    #[error(
        "this thread has a shadow stack, which this use of user interrupts cannot keep: run without it, as GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    ShadowStack,
    /// The process has more threads with user interrupts than the handler distinguishes.
    #[error(
        "64 threads of this process take user interrupts already, and there are no more vectors"
    )]
    TooMany,
    /// The thread watches more eventfds than are allowed.
    #[error(
        "this thread watches 1024 eventfds already, and can watch no more: give each thread fewer queues"
    )]
    TooManyWatches,
    /// The thread already takes user interrupts of another device.
    #[error("this thread takes the user interrupts of another device already: one device a thread")]
    SecondOfThread,
    /// The thread is not pinned to one CPU, to which the interrupt is to be directed.
    #[error("a thread that takes user interrupts stays on one CPU: pin it, as --cpus_allowed does")]
    NotPinned,
    /// The receiver belongs to another thread, which registered it.
    #[error(
        "another thread registered for these user interrupts: register and wait for them on the same thread"
    )]
    OtherThread,
    /// No thread has registered.
    #[error("no thread is registered for user interrupts yet")]
    NotRegistered,
    /// No device interrupt signals the eventfd.
    #[error("no device interrupt signals this eventfd: enable the vector with it first")]
    NoInterrupt,
    /// The device interrupt shares its vector, or is level-triggered.
    #[error(
        "this device interrupt has no vector of its own, or is level-triggered: boot without intremap=posted_msi, and use MSI-X"
    )]
    NotDirect,
    /// Another receiver has the interrupt.
    #[error(
        "this device interrupt is bound to another thread already, or this thread to another one"
    )]
    Taken,
    /// The instruction is not in the window of a wait.
    #[error("{0:#x} is no instruction of the window")]
    NotInWindow(usize),
    /// Another error of a system call.
    #[error("/dev/joulio_uintr: {call}: {errno}")]
    Call {
        /// Name of the system call.
        call: &'static str,
        /// Error of the system call.
        errno: Errno,
    },
}

impl UintrError {
    /// Returns the function that makes an error of the `errno` of any call, here of `call`.
    pub(super) fn other(call: &'static str) -> impl Fn(Errno) -> UintrError {
        move |errno| UintrError::Call { call, errno }
    }
}
