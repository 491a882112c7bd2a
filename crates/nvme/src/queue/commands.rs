//! The I/O commands of a queue (NVM 3.2). Format NVM and Sanitize are missing here and everywhere in this driver:
//! they destroy all data of a namespace or a device, and nvme-cli has them.

use super::QueuePair;
use super::slots::Entry;
use crate::namespace::Ability;
use crate::{Namespace, Rejected, SubmitError};
use joulio_device::{Device, DmaBuffer};
use joulio_nvme_spec::{Command, CommandId, DsmAttributes, DsmRange, NvmOpcode};
use joulio_units::Direction;
use std::ops::Range;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

/// Largest number of ranges of one Dataset Management command (NVM 1.0, figure 45).
pub const MAX_RANGES: usize = 256;

/// Direction and bytes of a command that moves no data of the caller's.
const NOTHING: (Direction, u32) = (Direction::Other, 0);

/// Alignment of data in bytes (Base 4.1.1).
pub(super) const DWORD: usize = 4;

/// Kind of a command that moves data between logical blocks and a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub(super) opcode: NvmOpcode,
    pub(super) direction: Direction,
    pub(super) fua: bool,
}

impl Transfer {
    /// Read (NVM 1.0, 3.2.4).
    pub const READ: Transfer = Transfer {
        opcode: NvmOpcode::READ,
        direction: Direction::Read,
        fua: false,
    };
    /// Write (NVM 1.0, 3.2.6).
    pub const WRITE: Transfer = Transfer {
        opcode: NvmOpcode::WRITE,
        direction: Direction::Write,
        fua: false,
    };
    /// Write with FUA.
    pub const WRITE_THROUGH: Transfer = Transfer {
        fua: true,
        ..Transfer::WRITE
    };
    const COMPARE: Transfer = Transfer {
        opcode: NvmOpcode::COMPARE,
        direction: Direction::Other,
        fua: false,
    };
}

impl<D: Device> QueuePair<D> {
    /// Reads `blocks` logical blocks from `lba` into `buffer` (NVM 1.0, 3.2.4).
    ///
    /// # Errors
    /// The queue is full, the range or the buffer does not fit ([`SubmitError`]); nothing was
    /// submitted, and the buffer comes back.
    #[inline]
    pub fn read(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        tag: u64,
    ) -> Result<(), Rejected> {
        self.transfer(
            Transfer::READ,
            namespace,
            (lba, blocks),
            (buffer.into(), 0),
            tag,
        )
    }

    /// Writes `blocks` logical blocks from `buffer` to `lba` (NVM 1.0, 3.2.6).
    ///
    /// # Errors
    /// As [`QueuePair::read`].
    #[inline]
    pub fn write(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        tag: u64,
    ) -> Result<(), Rejected> {
        self.transfer(
            Transfer::WRITE,
            namespace,
            (lba, blocks),
            (buffer.into(), 0),
            tag,
        )
    }

    /// Reads as [`QueuePair::read`] does, to `offset` of `buffer`, a multiple of 4. The whole buffer moves into the
    /// command; [`DmaBuffer::split_off`] divides a buffer for two commands.
    ///
    /// # Errors
    /// As [`QueuePair::read`]; [`SubmitError::Alignment`].
    pub fn read_at(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        offset: usize,
        tag: u64,
    ) -> Result<(), Rejected> {
        self.transfer(
            Transfer::READ,
            namespace,
            (lba, blocks),
            (buffer.into(), offset),
            tag,
        )
    }

    /// Writes as [`QueuePair::write`] does, from `offset` of `buffer`, a multiple of 4.
    ///
    /// # Errors
    /// As [`QueuePair::read_at`].
    pub fn write_at(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        offset: usize,
        tag: u64,
    ) -> Result<(), Rejected> {
        self.transfer(
            Transfer::WRITE,
            namespace,
            (lba, blocks),
            (buffer.into(), offset),
            tag,
        )
    }

    /// Writes as [`QueuePair::write`] does, with FUA: the command completes when the data is on non-volatile media.
    ///
    /// # Errors
    /// As [`QueuePair::read`].
    pub fn write_through(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        tag: u64,
    ) -> Result<(), Rejected> {
        self.transfer(
            Transfer::WRITE_THROUGH,
            namespace,
            (lba, blocks),
            (buffer.into(), 0),
            tag,
        )
    }

    /// Compares `blocks` logical blocks from `lba` with `buffer`; the status is Compare Failure if they differ (NVM
    /// 1.0, 3.2.1). For controllers with ONCS bit 0.
    ///
    /// # Errors
    /// As [`QueuePair::read`]; [`SubmitError::Unsupported`].
    pub fn compare(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        tag: u64,
    ) -> Result<(), Rejected> {
        let buffer = buffer.into();
        if let Err(reason) = namespace.able(Ability::Compare) {
            return Err(Rejected { reason, buffer });
        }
        self.transfer(
            Transfer::COMPARE,
            namespace,
            (lba, blocks),
            (buffer, 0),
            tag,
        )
    }

    /// Commits writes to the namespace that have completed to non-volatile media (Base 7.1).
    ///
    /// # Errors
    /// The queue is full, or the namespace is another device's.
    pub fn flush(&mut self, namespace: &Namespace, tag: u64) -> Result<(), SubmitError> {
        let command = Command::nvm(NvmOpcode::FLUSH, namespace.id());
        self.dataless(command, namespace, tag)
    }

    /// Makes `blocks` logical blocks from `lba` read as zeroes, and with `deallocate` gives them
    /// back to the device (NVM 1.0, 3.2.8). For controllers with ONCS bit 3.
    ///
    /// # Errors
    /// The queue is full, the range lies outside of the namespace, or the controller does not
    /// support the command.
    pub fn write_zeroes(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        deallocate: bool,
        tag: u64,
    ) -> Result<(), SubmitError> {
        namespace.able(Ability::WriteZeroes)?;
        namespace.check_dataless(lba, blocks)?;
        let command = Command::write_zeroes(namespace.id(), lba, blocks, deallocate);
        self.dataless(command, namespace, tag)
    }

    /// Makes the device read `blocks` logical blocks from `lba` and report whether they can be read (NVM 1.0, 3.2.5).
    /// For controllers with ONCS bit 7.
    ///
    /// # Errors
    /// As [`QueuePair::write_zeroes`].
    pub fn verify(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        tag: u64,
    ) -> Result<(), SubmitError> {
        namespace.able(Ability::Verify)?;
        namespace.check_dataless(lba, blocks)?;
        let command = Command::transfer(NvmOpcode::VERIFY, namespace.id(), lba, blocks);
        self.dataless(command, namespace, tag)
    }

    /// Deallocates the blocks of `ranges` (Dataset Management, AD: NVM 1.0, 3.2.3). Their content afterwards depends
    /// on the namespace (DLFEAT). `buffer` carries the ranges, 16 bytes each, at most [`MAX_RANGES`]. For controllers
    /// with ONCS bit 2.
    ///
    /// # Errors
    /// As [`QueuePair::read`]; [`SubmitError::Ranges`], [`SubmitError::Unsupported`].
    pub fn deallocate(
        &mut self,
        namespace: &Namespace,
        ranges: &[Range<u64>],
        mut buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), Rejected> {
        if let Err(reason) = self.put_ranges(namespace, ranges, &mut buffer) {
            return Err(Rejected { reason, buffer });
        }
        let attributes = DsmAttributes::new().with_ad(true);
        let mut command = Command::dataset_management(namespace.id(), ranges.len(), attributes);
        let bytes = (ranges.len() * size_of::<DsmRange>()) as u32;
        let start = buffer.iova();
        let cid = self.take_slot(buffer, tag)?;
        self.lists
            .describe(cid, start, bytes)
            .put_into(&mut command);
        self.issue(cid, command, NOTHING);
        Ok(())
    }

    fn put_ranges(
        &self,
        namespace: &Namespace,
        ranges: &[Range<u64>],
        buffer: &mut DmaBuffer,
    ) -> Result<(), SubmitError> {
        if buffer.domain() != self.domain || namespace.controller != self.controller {
            return Err(SubmitError::Foreign);
        }
        namespace.able(Ability::Deallocate)?;
        if ranges.is_empty() || ranges.len() > MAX_RANGES {
            return Err(SubmitError::Ranges {
                ranges: ranges.len(),
            });
        }
        let bytes = ranges.len() * size_of::<DsmRange>();
        if bytes > buffer.len() {
            return Err(SubmitError::Buffer {
                bytes: bytes as u64,
            });
        }
        for (index, range) in ranges.iter().enumerate() {
            let blocks = range.end.saturating_sub(range.start);
            let Ok(blocks) = u32::try_from(blocks) else {
                // More blocks than a range can name; the rest must not be dropped.
                return Err(SubmitError::Range {
                    lba: range.start,
                    blocks: u32::MAX,
                    size: namespace.blocks(),
                });
            };
            namespace.check_range(range.start, blocks)?;
            let entry = DsmRange {
                context_attributes: U32::ZERO,
                blocks: U32::new(blocks),
                slba: U64::new(range.start),
            };
            buffer.write(index * size_of::<DsmRange>(), entry.as_bytes());
        }
        Ok(())
    }

    pub(super) fn dataless(
        &mut self,
        command: Command,
        namespace: &Namespace,
        tag: u64,
    ) -> Result<(), SubmitError> {
        if namespace.controller != self.controller {
            return Err(SubmitError::Foreign);
        }
        let buffer = None;
        let inserted = self.slots.insert(Entry { tag, buffer });
        let cid = inserted.map_err(|_| SubmitError::QueueFull)?;
        self.issue(cid, command, NOTHING);
        Ok(())
    }

    /// Reads or writes as `kind` says, for callers that choose at run time: `blocks` logical blocks from `lba`, to or
    /// from `offset` of `buffer`.
    ///
    /// # Errors
    /// As [`QueuePair::read_at`].
    // Inlined into each of the commands above too, whose kind it then knows.
    #[inline(always)]
    pub fn transfer(
        &mut self,
        kind: Transfer,
        namespace: &Namespace,
        (lba, blocks): (u64, u32),
        (buffer, offset): (DmaBuffer, usize),
        tag: u64,
    ) -> Result<(), Rejected> {
        let bytes = u64::from(blocks) << namespace.shift();
        let behind = buffer.len().saturating_sub(offset) as u64;
        let room = u64::from(self.max_transfer).min(behind);
        // All conditions are computed, without a branch for each.
        let refuse = (bytes.wrapping_sub(1) >= room)
            | (buffer.domain() != self.domain)
            | (namespace.controller != self.controller)
            | !offset.is_multiple_of(DWORD)
            | !namespace.has_range(lba, blocks);
        if refuse {
            return Err(self.refused(namespace, (lba, blocks), buffer, offset));
        }
        let start = buffer.iova().offset(offset);
        let cid = self.take_slot(buffer, tag)?;
        let mut command = Command::transfer(kind.opcode, namespace.id(), lba, blocks);
        if kind.fua {
            command = command.with_fua();
        }
        self.lists
            .describe(cid, start, bytes as u32)
            .put_into(&mut command);
        self.issue(cid, command, (kind.direction, bytes as u32));
        Ok(())
    }

    /// Takes a slot for a command with `buffer`, which comes back if the queue is full.
    #[inline]
    pub(super) fn take_slot(&mut self, buffer: DmaBuffer, tag: u64) -> Result<CommandId, Rejected> {
        let buffer = Some(buffer);
        match self.slots.insert(Entry { tag, buffer }) {
            Ok(cid) => Ok(cid),
            Err(Entry { buffer, .. }) => Err(full(buffer)),
        }
    }

    /// Returns the error of a transfer that is refused.
    #[cold]
    #[inline(never)]
    fn refused(
        &self,
        namespace: &Namespace,
        range: (u64, u32),
        buffer: DmaBuffer,
        offset: usize,
    ) -> Rejected {
        let reason = self.refusal(namespace, range, (&buffer, offset));
        Rejected { reason, buffer }
    }

    fn refusal(
        &self,
        namespace: &Namespace,
        (lba, blocks): (u64, u32),
        (buffer, offset): (&DmaBuffer, usize),
    ) -> SubmitError {
        if buffer.domain() != self.domain || namespace.controller != self.controller {
            return SubmitError::Foreign;
        }
        let bytes = u64::from(blocks) << namespace.shift();
        if bytes == 0 || bytes > u64::from(self.max_transfer) {
            return SubmitError::Length {
                bytes,
                max: self.max_transfer,
            };
        }
        if bytes > buffer.len().saturating_sub(offset) as u64 {
            return SubmitError::Buffer { bytes };
        }
        if !offset.is_multiple_of(DWORD) {
            return SubmitError::Alignment;
        }
        let size = namespace.blocks();
        SubmitError::Range { lba, blocks, size }
    }
}

#[cold]
fn full(buffer: Option<DmaBuffer>) -> Rejected {
    Rejected {
        reason: SubmitError::QueueFull,
        buffer: buffer.expect("it came with one"),
    }
}
