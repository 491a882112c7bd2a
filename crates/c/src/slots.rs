//! Tags and buffers of the commands in flight, by the tag that the driver has of each.

use crate::buffer::joulio_buffer;
use crate::error::Failure;
use crate::queue::refused;
use joulio_nvme::SubmitError;
use std::ptr::null_mut;

/// What comes back with a completion.
#[derive(Clone, Copy)]
pub(crate) struct InFlight {
    /// The caller's tag.
    pub(crate) tag: u64,
    /// NULL: the command has none.
    pub(crate) buffer: *mut joulio_buffer,
}

/// A place for each command that a queue has room for.
pub(crate) struct Slots {
    /// A free one has no buffer.
    in_flight: Vec<InFlight>,
    /// Indices of `in_flight` that are free.
    free: Vec<u32>,
}

impl Slots {
    pub(crate) fn new(depth: u32) -> Slots {
        Slots {
            in_flight: vec![FREE; depth as usize],
            free: (0..depth).rev().collect(),
        }
    }

    /// A tag for the driver, of a command with the caller's `tag` and `buffer`.
    #[inline]
    pub(crate) fn enter(&mut self, tag: u64, buffer: *mut joulio_buffer) -> Result<u64, Failure> {
        let full = || refused(&SubmitError::QueueFull);
        let slot = self.free.pop().ok_or_else(full)?;
        self.in_flight[slot as usize] = InFlight { tag, buffer };
        Ok(slot.into())
    }

    /// What the driver's tag stood for; it is free after that.
    #[inline]
    pub(crate) fn leave(&mut self, slot: u64) -> InFlight {
        self.free.push(slot as u32);
        std::mem::replace(&mut self.in_flight[slot as usize], FREE)
    }

    /// Buffers of the commands in flight, or NULL.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = *mut joulio_buffer> {
        self.in_flight.iter().map(|in_flight| in_flight.buffer)
    }
}

const FREE: InFlight = InFlight {
    tag: 0,
    buffer: null_mut(),
};
