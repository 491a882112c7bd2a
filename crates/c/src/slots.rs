//! Tags of commands in flight: the driver's tag of a command leads to the caller's.

use crate::buffer_handle::joulio_buffer;
use crate::error::{Failure, refused};
use joulio_nvme::SubmitError;

/// The driver's tag of a command: the address of its buffer's handle, a multiple of 8, which has the caller's tag; 2
/// more for the first buffer of a list; or, for a command without a buffer, an odd number that encodes its slot here.
pub(crate) enum DriverTag {
    Buffer(*mut joulio_buffer),
    List(*mut joulio_buffer),
    Slot(u32),
}

const SLOT: u64 = 1;
const LIST: u64 = 2;

impl DriverTag {
    #[inline]
    pub(crate) fn of_buffer(buffer: *mut joulio_buffer) -> u64 {
        buffer.expose_provenance() as u64
    }

    pub(crate) fn of_list(first: *mut joulio_buffer) -> u64 {
        DriverTag::of_buffer(first) | LIST
    }

    /// Whether the tag is of a command with one buffer.
    #[inline]
    pub(crate) fn is_buffer(tag: u64) -> bool {
        tag & (SLOT | LIST) == 0
    }

    /// Returns the buffer of a command that is known to have one, by its tag.
    #[inline]
    pub(crate) fn buffer(tag: u64) -> *mut joulio_buffer {
        std::ptr::with_exposed_provenance_mut(tag as usize)
    }

    pub(crate) fn read(tag: u64) -> DriverTag {
        match tag & (SLOT | LIST) {
            0 => DriverTag::Buffer(DriverTag::buffer(tag)),
            LIST => DriverTag::List(DriverTag::buffer(tag & !LIST)),
            _ => DriverTag::Slot((tag >> 1) as u32),
        }
    }
}

/// Slots for the tags of commands without a buffer.
#[derive(Default)]
pub(crate) struct Slots {
    tags: Vec<u64>,
    free: Vec<u32>,
}

impl Slots {
    /// Makes slots for as many commands as a queue of `depth` has room for.
    pub(crate) fn new(depth: u32) -> Slots {
        Slots {
            tags: vec![0; depth as usize],
            free: (0..depth).rev().collect(),
        }
    }

    /// Returns a tag for the driver, of a command with the caller's `tag`.
    pub(crate) fn enter(&mut self, tag: u64) -> Result<u64, Failure> {
        let full = || refused(&SubmitError::QueueFull);
        let slot = self.free.pop().ok_or_else(full)?;
        self.tags[slot as usize] = tag;
        Ok(u64::from(slot) << 1 | SLOT)
    }

    /// Returns the caller's tag in `slot`, which is free after that.
    pub(crate) fn leave(&mut self, slot: u32) -> u64 {
        self.free.push(slot);
        self.tags[slot as usize]
    }
}
