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
    /// SQHD: how far the controller has read the submission queue.
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
    /// Byte offset of dword 3, which holds CID, phase and status and is written last.
    pub const DWORD3: usize = 12;

    /// CID.
    pub fn command_id(&self) -> CommandId {
        CommandId(self.cid.get())
    }

    /// SQID.
    pub fn queue_id(&self) -> QueueId {
        QueueId(self.sqid.get())
    }

    /// P: the phase tag, inverted by the controller each time it passes the queue's end.
    pub fn phase(&self) -> bool {
        self.status.get() & 1 != 0
    }

    /// The status field without the phase tag.
    pub fn status(&self) -> Status {
        Status::from_field(self.status.get() >> 1)
    }
}
