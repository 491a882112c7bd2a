//! Commands with a list of buffers: scatter on a read, gather on a write.

use super::QueuePair;
use super::commands::{DWORD, Transfer};
use super::prp::{DataPointer, Lists, PAGE, SHORT};
use super::raw::addressed;
use super::slots::Entry;
use crate::{Namespace, RejectedList, SubmitError};
use joulio_device::{BufferList, Device, Iova};
use joulio_nvme_spec::{Command, CommandId, Psdt, SglDescriptor};
use joulio_units::Direction;
use zerocopy::little_endian::U64;

/// Number of PRP list words that a descriptor takes.
const DESCRIPTOR_WORDS: usize = size_of::<SglDescriptor>() / 8;

impl<D: Device> QueuePair<D> {
    /// Reads `blocks` logical blocks from `lba` into the parts of `buffers`, one after the other. Parts that are
    /// adjacent for the device are described as one.
    ///
    /// ```
    /// # use joulio_nvme::{BufferList, Controller, ControllerOptions};
    /// # use joulio_emulator::{EmulatedDevice, Options};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let profile = joulio_model::DeviceProfile::builtin("instant")?;
    /// # let device = EmulatedDevice::spawn(&Options::new(profile))?;
    /// # let controller = Controller::open(device, ControllerOptions::default())?;
    /// # let namespace = controller.namespace(1)?;
    /// # let mut queue = controller.create_queue_pair(1)?;
    /// let pages: BufferList = controller.allocate_buffers(8, 4096)?.into_iter().rev().collect();
    /// queue.readv(&namespace, 0, 64, pages, 0)?;
    /// queue.ring();
    /// while queue.reap(1, |done| assert_eq!(done.into_buffers().into_iter().count(), 8))? == 0 {}
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`QueuePair::read`]. A controller with SGLs takes parts of whole dwords
    /// ([`SubmitError::Alignment`]), as many as the queue has room to describe
    /// ([`SubmitError::Parts`]); one without takes pages ([`SubmitError::Pages`]).
    pub fn readv(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffers: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList> {
        self.transfer_list(Transfer::READ, namespace, (lba, blocks), buffers, tag)
    }

    /// Writes `blocks` logical blocks to `lba` from the parts of `buffers`, one after the other.
    ///
    /// # Errors
    /// As [`QueuePair::readv`].
    pub fn writev(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffers: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList> {
        self.transfer_list(Transfer::WRITE, namespace, (lba, blocks), buffers, tag)
    }

    /// Submits `command` as [`QueuePair::submit_with_data`] does, with a list of buffers.
    ///
    /// # Errors
    /// As [`QueuePair::submit_with_data`] and [`QueuePair::readv`].
    pub fn submit_with_list(
        &mut self,
        namespace: &Namespace,
        command: Command,
        buffers: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList> {
        let room = self.is_ours(&buffers).then(|| buffers.bytes());
        let checked = self.checked_transfer(namespace, &command, room);
        self.submit_list(checked, addressed(command, namespace), buffers, tag)
    }

    fn transfer_list(
        &mut self,
        kind: Transfer,
        namespace: &Namespace,
        (lba, blocks): (u64, u32),
        buffers: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList> {
        let command = Command::transfer(kind.opcode, namespace.id(), lba, blocks);
        let checked = self.checked_list(namespace, lba, blocks, &buffers);
        let checked = checked.map(|bytes| (kind.direction, bytes));
        self.submit_list(checked, command, buffers, tag)
    }

    /// Bytes of a transfer that fits.
    fn checked_list(
        &self,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        buffers: &BufferList,
    ) -> Result<u32, SubmitError> {
        if namespace.controller != self.controller || !self.is_ours(buffers) {
            return Err(SubmitError::Foreign);
        }
        let bytes = u64::from(blocks) << namespace.shift();
        let max = self.max_transfer;
        if bytes == 0 || bytes > u64::from(max) {
            return Err(SubmitError::Length { bytes, max });
        }
        if bytes > buffers.bytes() {
            return Err(SubmitError::Buffer { bytes });
        }
        namespace.check_range(lba, blocks)?;
        Ok(bytes as u32)
    }

    fn is_ours(&self, buffers: &BufferList) -> bool {
        buffers.iter().all(|buffer| buffer.domain() == self.domain)
    }

    fn submit_list(
        &mut self,
        checked: Result<(Direction, u32), SubmitError>,
        mut command: Command,
        buffers: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList> {
        let shape = checked.and_then(|(direction, bytes)| {
            let shape = self.lists.shape(&buffers, bytes)?;
            Ok((direction, bytes, shape))
        });
        let (direction, bytes, shape) = match shape {
            Ok(known) => known,
            Err(reason) => return Err(RejectedList { reason, buffers }),
        };
        let Some(cid) = self.slots.upcoming() else {
            let reason = SubmitError::QueueFull;
            return Err(RejectedList { reason, buffers });
        };
        let pointer = self.lists.describe_list(cid, &buffers, bytes, shape);
        pointer.put_into(&mut command);
        let buffer = buffers.into_chain();
        let taken = self.slots.insert(Entry { tag, buffer });
        debug_assert_eq!(taken.ok(), Some(cid));
        self.issue(cid, command, (direction, bytes));
        Ok(())
    }
}

/// How the data of a command is described to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One part: the buffer of an ordinary command.
    One(Iova),
    /// Whole pages, by PRPs.
    Prps,
    /// Number of parts, each with an SGL descriptor.
    Sgl(usize),
}

impl Lists {
    /// Chooses how the first `bytes` of `buffers` are described.
    fn shape(&self, buffers: &BufferList, bytes: u32) -> Result<Shape, SubmitError> {
        let (mut parts, mut dwords, mut pages) = (0, true, true);
        let (mut first, mut end) = (Iova(0), 0);
        for (start, len) in Joined::new(buffers.parts(), bytes) {
            if parts == 0 {
                first = start;
            } else {
                // The part before it ended on a page, and this one begins on one.
                pages &= (start.0 | end) & (PAGE - 1) == 0;
            }
            dwords &= (start.0 | u64::from(len)).is_multiple_of(DWORD as u64);
            end = start.0 + u64::from(len);
            parts += 1;
        }
        let max = match self.sgls {
            true => self.per_slot / DESCRIPTOR_WORDS,
            false => 0,
        };
        match parts {
            _ if !dwords => Err(SubmitError::Alignment),
            1 => Ok(Shape::One(first)),
            _ if pages && (bytes <= SHORT || parts > max) => Ok(Shape::Prps),
            _ if parts <= max => Ok(Shape::Sgl(parts)),
            _ if max == 0 => Err(SubmitError::Pages),
            _ => Err(SubmitError::Parts { parts, max }),
        }
    }

    /// Describes the first `bytes` of `buffers`, of that `shape`, for the command `cid`.
    fn describe_list(
        &self,
        cid: CommandId,
        buffers: &BufferList,
        bytes: u32,
        shape: Shape,
    ) -> DataPointer {
        let base = self.base(cid);
        let list = self.entries.iova().offset(base * 8);
        let parts = Joined::new(buffers.parts(), bytes);
        match shape {
            Shape::One(start) => self.describe(cid, start, bytes),
            Shape::Prps => {
                let write = |index, entry: u64| self.entries.write(base + index, entry.to_le());
                let (first, second) = pages(parts, list, write);
                DataPointer {
                    first,
                    second,
                    psdt: Psdt::PRP,
                }
            }
            Shape::Sgl(count) => {
                for (index, (start, len)) in parts.enumerate() {
                    let descriptor = SglDescriptor::data_block(start.0, len);
                    let words: [U64; DESCRIPTOR_WORDS] = zerocopy::transmute!(descriptor);
                    for (word, value) in words.into_iter().enumerate() {
                        let at = base + index * DESCRIPTOR_WORDS + word;
                        self.entries.write(at, value.get().to_le());
                    }
                }
                let len = (count * size_of::<SglDescriptor>()) as u32;
                DataPointer::sgl(SglDescriptor::last_segment(list.0, len))
            }
        }
    }
}

/// Sets PRP1 and PRP2 of `parts`; if there are more than two pages, those from the second on go through `write`.
fn pages(
    parts: impl Iterator<Item = (Iova, u32)>,
    list: Iova,
    mut write: impl FnMut(usize, u64),
) -> (u64, u64) {
    let (mut first, mut second, mut count) = (0, 0, 0);
    for (start, len) in parts {
        let (mut at, end) = (start.0, start.0 + u64::from(len));
        while at < end {
            match count {
                0 => first = at,
                1 => second = at,
                _ => {
                    if count == 2 {
                        write(0, std::mem::replace(&mut second, list.0));
                    }
                    write(count - 1, at);
                }
            }
            count += 1;
            at = (at & !(PAGE - 1)) + PAGE;
        }
    }
    (first, second)
}

/// The first bytes of some parts: adjacent parts are joined, empty ones left out.
struct Joined<I> {
    parts: I,
    next: Option<(Iova, u32)>,
    left: u32,
}

impl<I: Iterator<Item = (Iova, u32)>> Joined<I> {
    fn new(parts: I, bytes: u32) -> Joined<I> {
        let mut joined = Joined {
            parts,
            next: None,
            left: bytes,
        };
        joined.next = joined.part();
        joined
    }

    /// Returns the next part that is not empty, cut to the bytes that are left.
    fn part(&mut self) -> Option<(Iova, u32)> {
        if self.left == 0 {
            return None;
        }
        let (start, len) = self.parts.find(|&(_, len)| len > 0)?;
        let len = len.min(self.left);
        self.left -= len;
        Some((start, len))
    }
}

impl<I: Iterator<Item = (Iova, u32)>> Iterator for Joined<I> {
    type Item = (Iova, u32);

    fn next(&mut self) -> Option<(Iova, u32)> {
        let (start, mut len) = self.next.take()?;
        loop {
            self.next = self.part();
            match self.next {
                Some((behind, more)) if behind == start.offset(len as usize) => len += more,
                _ => return Some((start, len)),
            }
        }
    }
}
