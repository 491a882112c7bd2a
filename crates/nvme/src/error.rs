//! Errors, each with its remedy.

use joulio_device::kernel::KernelError;
use joulio_device::{BufferList, DeviceError, DmaBuffer};
use joulio_nvme_spec::Status;
use joulio_nvme_spec::status::StatusType;
use joulio_wait::{UintrError, WaitError};
use std::{fmt, io};

/// A failure of the controller, or of a command to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NvmeError {
    /// The back end failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device was removed or is switched off: its registers read as all ones.
    #[error(
        "{device} does not answer (its registers read as all ones): it was removed or is switched off"
    )]
    Removed {
        /// The device.
        device: String,
    },
    /// The controller did not become ready, or idle, within its time: CSTS.RDY did not follow CC.EN.
    #[error("{device} did not become {} within {milliseconds} ms (CAP.TO)", if *.enabled { "ready" } else { "idle" })]
    NotReady {
        /// The device.
        device: String,
        /// Value of CC.EN.
        enabled: bool,
        /// Time limit.
        milliseconds: u64,
    },
    /// The controller has failed: CSTS.CFS is set.
    #[error("{device} reports a fatal error (CSTS.CFS): it needs a reset")]
    Fatal {
        /// The device.
        device: String,
    },
    /// Something else has stopped the controller: CSTS.RDY is clear.
    #[error("{device} is not ready any more (CSTS.RDY): something else has reset it")]
    Stopped {
        /// The device.
        device: String,
    },
    /// The registers do not answer as a controller's, or do not keep what is written to them.
    #[error(
        "{device} does not answer as an NVMe controller: it is being reset by something else, or its memory space is off"
    )]
    Unresponsive {
        /// The device.
        device: String,
    },
    /// The controller lacks what this driver needs.
    #[error("{device}: {what}")]
    Unsupported {
        /// The device.
        device: String,
        /// The missing part.
        what: String,
    },
    /// The controller lacks an optional feature.
    #[error("{device}: {what}: not supported by this device")]
    NotSupported {
        /// The device.
        device: String,
        /// Optional part that was needed.
        what: &'static str,
    },
    /// An admin command ended with an error status.
    #[error("{device}: {command}: {status}")]
    Admin {
        /// The device.
        device: String,
        /// Name of the command in the specification.
        command: &'static str,
        /// Status of the completion.
        status: Status,
    },
    /// An admin command did not complete within its time limit.
    #[error(
        "{device}: {command} did not complete within {milliseconds} ms: the admin queue is stuck"
    )]
    AdminStuck {
        /// The device.
        device: String,
        /// Name of the command in the specification.
        command: &'static str,
        /// Time limit.
        milliseconds: u64,
    },
    /// The wait was cancelled ([`crate::Cancel`]).
    #[error("{device}: {what} was not waited for: stopped")]
    Cancelled {
        /// The device.
        device: String,
        /// The event waited for.
        what: String,
    },
    /// An admin command was under way when the controller was reset.
    #[error("{device}: {command} was ended by a reset of the controller: it may be repeated")]
    EndedByReset {
        /// The device.
        device: String,
        /// Name of the command in the specification.
        command: &'static str,
    },
    /// An I/O command did not complete, and its abort did not end it.
    #[error(
        "{device}: an I/O command did not complete within {milliseconds} ms, nor did its abort end it"
    )]
    IoStuck {
        /// The device.
        device: String,
        /// Time limit.
        milliseconds: u64,
    },
    /// The system requests the device's removal: it must be closed.
    #[error("{device} is being unplugged")]
    RemovalRequested {
        /// The device.
        device: String,
    },
    /// Neither a reset of the controller helped, nor one of the whole function.
    #[error("{controller}; nor does a function-level reset help: {function}")]
    FunctionReset {
        /// Error of the reset of the controller.
        controller: Box<NvmeError>,
        /// Error of the reset of the function.
        function: DeviceError,
    },
    /// A reset did not bring the controller back: it can no longer be used.
    #[error("{device} is no longer used: a controller reset failed: {reason}")]
    ResetFailed {
        /// The device.
        device: String,
        /// Error of the reset.
        reason: String,
    },
    /// The namespace does not exist.
    #[error("{device} has no active namespace {nsid}; it has: {active}")]
    NoNamespace {
        /// The device.
        device: String,
        /// Requested value.
        nsid: u32,
        /// Active namespaces.
        active: String,
    },
    /// The namespace has a format that this driver does not support.
    #[error("{device}, namespace {nsid}: {what}")]
    Format {
        /// The device.
        device: String,
        /// NSID.
        nsid: u32,
        /// Unsupported part of the format.
        what: String,
    },
    /// The queue depth is out of range.
    #[error("{device}: a queue depth of {wanted} is out of range: 1 to {max}")]
    Depth {
        /// The device.
        device: String,
        /// Requested value.
        wanted: usize,
        /// Largest depth that CAP.MQES and the command identifier allow.
        max: usize,
    },
    /// No queue pair is left: all are in use.
    #[error("{device} has no queue pair left: it gave {have}; use fewer jobs")]
    NoQueue {
        /// The device.
        device: String,
        /// Number of queue pairs.
        have: usize,
    },
    /// The controller sent a completion of no outstanding command.
    #[error("{0}")]
    Completion(#[from] crate::CompletionFault),
    /// An admin command was refused before it was submitted.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// Waiting failed.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// The policy turned out not to be available.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl NvmeError {
    /// Returns true if the controller did not answer the command that ended with this error: it may have executed it.
    pub fn is_unanswered(&self) -> bool {
        match self {
            // The kernel ends commands that it aborts, as at a reset, with a status of its own, or interrupts the
            // call.
            NvmeError::Admin { status, .. } => status.status_type() == StatusType::Path,
            NvmeError::Device(DeviceError::Kernel(error)) => match error {
                KernelError::Removed { .. } => true,
                KernelError::Os { source, .. } => source.kind() == io::ErrorKind::Interrupted,
                _ => false,
            },
            NvmeError::Device(DeviceError::VfioUser(_))
            | NvmeError::Removed { .. }
            | NvmeError::Fatal { .. }
            | NvmeError::Stopped { .. }
            | NvmeError::Unresponsive { .. }
            | NvmeError::AdminStuck { .. }
            | NvmeError::Cancelled { .. }
            | NvmeError::EndedByReset { .. }
            | NvmeError::RemovalRequested { .. }
            | NvmeError::FunctionReset { .. }
            | NvmeError::ResetFailed { .. } => true,
            _ => false,
        }
    }

    /// Returns whether the remedy is a reset of the controller; a controller that is gone, or that no caller waits
    /// for any more, is given up instead.
    pub(crate) fn asks_for_reset(&self) -> bool {
        matches!(
            self,
            NvmeError::Removed { .. }
                | NvmeError::Fatal { .. }
                | NvmeError::Stopped { .. }
                | NvmeError::AdminStuck { .. }
                | NvmeError::IoStuck { .. }
                | NvmeError::RemovalRequested { .. }
                | NvmeError::Cancelled { .. }
        )
    }

    /// Reports whether the controller takes no queue with an interrupt vector, since MSI-X is off
    /// (Base 5.4).
    pub(crate) fn lacks_vectors(&self) -> bool {
        matches!(self, NvmeError::Admin { status, .. } if status.kind() == Status::INVALID_INTERRUPT_VECTOR)
    }

    /// Reports whether a reset of the whole function may help where one of the controller ended
    /// with this error.
    pub(crate) fn asks_for_function_reset(&self) -> bool {
        matches!(
            self,
            NvmeError::NotReady { .. }
                | NvmeError::Fatal { .. }
                | NvmeError::Stopped { .. }
                | NvmeError::Unresponsive { .. }
                | NvmeError::AdminStuck { .. }
        )
    }
}

/// Reason why a command was not submitted. Nothing was written to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The queue is full: the number of outstanding commands has reached its depth.
    #[error("the queue is full: reap completions first")]
    QueueFull,
    /// The blocks lie outside of the namespace.
    #[error("blocks {lba} to {lba}+{blocks} lie outside of the namespace of {size} blocks")]
    Range {
        /// First block.
        lba: u64,
        /// Number of them.
        blocks: u32,
        /// Size of the namespace in blocks.
        size: u64,
    },
    /// The transfer is empty, or larger than the controller's largest (MDTS).
    #[error("a transfer of {bytes} bytes is out of range: 1 block to {max} bytes")]
    Length {
        /// Bytes requested.
        bytes: u64,
        /// Largest transfer in bytes: MDTS, or this driver's limit.
        max: u32,
    },
    /// The buffer is shorter than the blocks.
    #[error("the buffer is shorter than the {bytes} bytes to transfer")]
    Buffer {
        /// Bytes to transfer.
        bytes: u64,
    },
    /// The command names no blocks, or more than 65536.
    #[error("{blocks} blocks are out of range: 1 to 65536 in one command")]
    Blocks {
        /// Blocks requested.
        blocks: u32,
    },
    /// The command has no ranges, or more than 256.
    #[error("{ranges} ranges are out of range: 1 to 256 in one command")]
    Ranges {
        /// Ranges requested.
        ranges: usize,
    },
    /// The controller does not support the command (ONCS).
    #[error("the controller does not do {command} (ONCS)")]
    Unsupported {
        /// Name of the command in the specification.
        command: &'static str,
    },
    /// A raw command has a field set that the driver sets: FUSE, PSDT, CID, MPTR or a PRP.
    #[error(
        "opcode {opcode:02x}h: FUSE, PSDT, CID, MPTR and both PRPs are the driver's to set: leave them zero"
    )]
    DriverFields {
        /// Opcode.
        opcode: u8,
    },
    /// A raw command whose dwords do not say how many bytes it moves. For a vendor's command the caller may say it:
    /// [`QueuePair::submit_vendor`](crate::QueuePair::submit_vendor),
    /// [`Controller::submit_admin_vendor`](crate::Controller::submit_admin_vendor).
    #[error(
        "opcode {opcode:02x}h: how many bytes it moves is not known, and the device could reach past the buffer"
    )]
    UnknownLength {
        /// Opcode.
        opcode: u8,
    },
    /// A raw command whose length the caller gives, and whose opcode is not a vendor's.
    #[error(
        "opcode {opcode:02x}h is not a vendor's, which begin at {first:02x}h: submit it without a length, as its own dwords say how many bytes it moves"
    )]
    NotVendor {
        /// Opcode.
        opcode: u8,
        /// First of the vendors' opcodes of this kind of queue.
        first: u8,
    },
    /// A raw command moves data and has no buffer, or moves none and has one.
    #[error("opcode {opcode:02x}h {}", if *.moves { "moves data: submit it with a buffer" } else { "moves no data: submit it without a buffer" })]
    Data {
        /// Opcode.
        opcode: u8,
        /// Whether the command moves data.
        moves: bool,
    },
    /// A raw admin command that only the driver may send, or that would remove what the driver needs.
    #[error("admin opcode {opcode:02x}h is not submitted: {why}")]
    DriverCommand {
        /// Opcode.
        opcode: u8,
        /// Reason.
        why: &'static str,
    },
    /// A part of a buffer, or the offset in a buffer, is not a multiple of a dword.
    #[error(
        "data begins or ends within a dword of its buffer: offsets and lengths are multiples of 4"
    )]
    Alignment,
    /// The list's parts are not pages, and the controller has no SGLs to describe them.
    #[error(
        "the controller has no SGLs: let each part of the list but the first begin at a multiple of 4096 bytes, and each but the last end at one"
    )]
    Pages,
    /// The list has too many parts for one command.
    #[error("{parts} parts that are not adjacent are too many: at most {max} in one command here")]
    Parts {
        /// Parts, adjacent ones joined.
        parts: usize,
        /// Number of descriptors that a command of this queue has room for.
        max: usize,
    },
    /// The buffer or the namespace belongs to another device.
    #[error("the buffer or the namespace belongs to another device")]
    Foreign,
}

/// A command that was not submitted, with its buffer.
pub struct Rejected {
    /// Reason.
    pub reason: SubmitError,
    /// The buffer, the caller's again.
    pub buffer: DmaBuffer,
}

impl fmt::Debug for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rejected({:?})", self.reason)
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for Rejected {}

/// An admin command that has failed, with its buffer.
pub struct AdminRejected {
    /// Reason.
    pub reason: NvmeError,
    /// Buffer of the command, which is the caller's again; none if the device may still use it.
    pub buffer: Option<DmaBuffer>,
}

impl fmt::Debug for AdminRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdminRejected({:?})", self.reason)
    }
}

impl fmt::Display for AdminRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for AdminRejected {}

/// A command that was not submitted, with the buffers of its list.
pub struct RejectedList {
    /// Reason.
    pub reason: SubmitError,
    /// The buffers, the caller's again.
    pub buffers: BufferList,
}

impl fmt::Debug for RejectedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RejectedList({:?})", self.reason)
    }
}

impl fmt::Display for RejectedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for RejectedList {}

fn vectors_had(had: u16, wanted: u16) -> String {
    if had < wanted {
        format!("the system gave {had} of the {wanted} vectors that were requested")
    } else {
        format!("the device has {had} vectors")
    }
}

/// Reason why a policy is unavailable on this queue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The policy blocks, and the queue has no interrupt vector.
    #[error(
        "{policy} needs an interrupt vector and this queue has none: {}, the first is the admin queue's; use fewer jobs or poll",
        vectors_had(*.had, *.wanted)
    )]
    NoVector {
        /// The policy.
        policy: String,
        /// Number of vectors given.
        had: u16,
        /// Number of vectors requested: as many as the queues need and the device has.
        wanted: u16,
    },
    /// The policy plans steps that this machine lacks.
    #[error("{reason}")]
    NoStep {
        /// The policy.
        policy: String,
        /// Missing feature.
        reason: String,
    },
    /// The policy asks which other threads are runnable on its CPU.
    #[error(
        "{policy} asks before each wait whether another thread is runnable on its CPU, which no stock kernel says: simulate it, as by joulio bench --twin"
    )]
    AsksOthers {
        /// The policy.
        policy: String,
    },
    /// The policy takes user interrupts, which are unavailable.
    #[error(transparent)]
    UserInterrupt(#[from] UintrError),
    /// The policy takes interrupts, which a redirected vector does not raise, or the memory belongs to another
    /// device.
    #[error(
        "{policy}: the interrupt cannot be redirected to memory: the policy takes interrupts itself, or the memory is another device's"
    )]
    NotRedirectable {
        /// The policy.
        policy: String,
    },
    /// The vector was redirected to memory, but its interrupts do not write there.
    #[error(
        "{device}: queue {queue} completed commands and its redirected interrupt wrote nothing: this machine does not let an MSI-X entry be redirected; the queues are polled each microsecond instead, or give each a thread of its own"
    )]
    NotRedirected {
        /// The device.
        device: String,
        /// QID.
        queue: u16,
    },
    /// An event loop would wait for a queue whose policy never blocks, so that no event would end the wait.
    #[error(
        "queue {queue} raises no interrupt: its policy, {policy}, never blocks; set one that does, such as interrupt, before the event loop waits"
    )]
    NeverBlocks {
        /// The policy.
        policy: String,
        /// QID.
        queue: u16,
    },
    /// The group has no queue.
    #[error("the group has no queue")]
    NoQueue,
    /// The vector could not be masked or unmasked.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_refused_for_its_vector_is_known_whether_it_may_be_tried_again_or_not() {
        let admin = |status| NvmeError::Admin {
            device: "d".into(),
            command: "Create I/O Completion Queue",
            status,
        };
        let lacking = Status::INVALID_INTERRUPT_VECTOR;
        assert!(admin(lacking).lacks_vectors());
        assert!(admin(lacking.do_not_retry()).lacks_vectors());
        assert!(!admin(Status::INVALID_FIELD.do_not_retry()).lacks_vectors());
    }

    #[test]
    fn a_command_is_unanswered_unless_the_controller_or_the_kernel_refused_it() {
        let admin = |field| NvmeError::Admin {
            device: "d".into(),
            command: "Set Features",
            status: Status::from_field(field),
        };
        let os = |number| {
            let source = io::Error::from_raw_os_error(number);
            let device = "d".into();
            NvmeError::Device(KernelError::Os { device, source }.into())
        };
        const EINTR: i32 = 4;
        const EINVAL: i32 = 22;
        // Host aborted command, of type 3h: the kernel's.
        assert!(admin(0x371).is_unanswered() && os(EINTR).is_unanswered());
        let stuck = NvmeError::AdminStuck {
            device: "d".into(),
            command: "Set Features",
            milliseconds: 1,
        };
        assert!(stuck.is_unanswered());
        assert!(!admin(Status::INVALID_FIELD.field()).is_unanswered());
        assert!(!os(EINVAL).is_unanswered());
    }
}
