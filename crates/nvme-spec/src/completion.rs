//! The completion queue entry (Base 3.3.3.2, figures 89 to 91).

use crate::command::{CommandId, QueueId};
use crate::status::Status;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A completion queue entry: 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct CompletionEntry {
    /// Dword 0: command specific.
    pub dw0: U32,
    /// Dword 1: command specific.
    pub dw1: U32,
    /// SQHD: head of the submission queue, up to which the controller has read it.
    pub sqhd: U16,
    /// SQID: the submission queue of the command.
    pub sqid: U16,
    /// CID of the command.
    pub cid: U16,
    /// Status in bits 15:1, phase tag in bit 0.
    pub status: U16,
}

const _: () = assert!(size_of::<CompletionEntry>() == 16);

impl CompletionEntry {
    /// Byte offset of dword 3, which contains CID, phase and status, and is written last.
    pub const DWORD3: usize = 12;

    /// Returns CID.
    pub fn command_id(&self) -> CommandId {
        CommandId(self.cid.get())
    }

    /// Returns SQID.
    pub fn queue_id(&self) -> QueueId {
        QueueId(self.sqid.get())
    }

    /// Returns P, the phase tag, which the controller inverts each time it passes the end of the queue.
    pub fn phase(&self) -> bool {
        self.status.get() & 1 != 0
    }

    /// Returns the status field, without the phase tag.
    pub fn status(&self) -> Status {
        Status::from_field(self.status.get() >> 1)
    }
}
