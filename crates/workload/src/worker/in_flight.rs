//! The I/Os that a job has in flight.

use crate::engine::RequestError;
use joulio_units::{Nanos, Operation};

/// An I/O in flight.
#[derive(Clone, Copy)]
pub(super) struct InFlightIo {
    /// Time from which its latency is counted.
    pub(super) arrival: Nanos,
    /// Number of the block; meaningless for a flush.
    pub(super) block: u64,
    /// Bytes.
    pub(super) len: u32,
    /// Read, write, trim or flush.
    pub(super) operation: Operation,
    /// True if the I/O was issued in the measured part.
    pub(super) measured: bool,
}

impl InFlightIo {
    /// Describes the I/O's failure; blocks are `bs` bytes apart.
    pub(super) fn describe(&self, bs: u64, error: RequestError) -> String {
        let what = self.operation.name();
        if self.operation.is_sync() {
            return format!("{what}: {error}");
        }
        format!(
            "{what} of {} bytes at offset {}: {error}",
            self.len,
            self.block * bs
        )
    }
}

/// I/Os in flight by tag, at most as many as the queue depth, and the buffers of the tags that are free.
pub(super) struct InFlight<B> {
    slots: Vec<Slot>,
    /// Tags of no I/O in flight, with their buffers: a tag always has the same one.
    free: Vec<(u64, B)>,
}

/// The I/Os of a tag, one after the other.
#[derive(Clone, Copy)]
struct Slot {
    /// The I/O in flight, or the last one that was.
    io: InFlightIo,
    /// True if it is in flight.
    busy: bool,
}

impl<B> InFlight<B> {
    /// Returns a free tag for each of `buffers`, which are filled.
    pub(super) fn new(buffers: Vec<B>) -> InFlight<B> {
        // A filled buffer is as after a write.
        let io = InFlightIo {
            arrival: Nanos::ZERO,
            block: 0,
            len: 0,
            operation: Operation::Write,
            measured: false,
        };
        let slots = vec![Slot { io, busy: false }; buffers.len()];
        let tagged = buffers.into_iter().enumerate().rev();
        InFlight {
            slots,
            free: tagged.map(|(tag, buffer)| (tag as u64, buffer)).collect(),
        }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Takes a free tag with its buffer; `None` if as many I/Os as the queue depth are in flight.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u64, B)> {
        self.free.pop()
    }

    /// Returns true if the last I/O with `tag` was no write, so that its buffer may have other data.
    #[inline]
    pub(super) fn is_overwritten(&self, tag: u64) -> bool {
        self.slots[tag as usize].io.operation != Operation::Write
    }

    /// Adds an I/O with `tag`, which was taken.
    #[inline]
    pub(super) fn start(&mut self, tag: u64, io: InFlightIo) {
        self.slots[tag as usize] = Slot { io, busy: true };
    }

    /// Sets the time from which the latency of the only I/O is counted; with a greater depth it does nothing.
    #[inline]
    pub(super) fn only_arrived(&mut self, at: Nanos) {
        if let [slot] = self.slots.as_mut_slice() {
            slot.io.arrival = at;
        }
    }

    /// Ends the I/O with `tag` and returns it; `None` if no such I/O is in flight.
    #[inline]
    pub(super) fn end(&mut self, tag: u64) -> Option<InFlightIo> {
        let slot = self.slots.get_mut(tag as usize)?;
        std::mem::take(&mut slot.busy).then_some(slot.io)
    }

    /// Frees `tag`, whose I/O has ended, with its buffer.
    #[inline]
    pub(super) fn release(&mut self, tag: u64, buffer: B) {
        self.free.push((tag, buffer));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &InFlightIo> {
        let busy = self.slots.iter().filter(|slot| slot.busy);
        busy.map(|slot| &slot.io)
    }

    /// Returns the buffers of the free tags.
    pub(super) fn into_buffers(self) -> Vec<B> {
        self.free.into_iter().map(|(_, buffer)| buffer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(block: u64, operation: Operation) -> InFlightIo {
        InFlightIo {
            arrival: Nanos::ZERO,
            block,
            len: 4096,
            operation,
            measured: true,
        }
    }

    #[test]
    fn a_tag_ends_once_and_no_more_than_the_depth_are_in_flight() {
        let mut in_flight = InFlight::new(vec!['a', 'b']);
        let (first, buffer) = in_flight.take().unwrap();
        in_flight.start(first, io(7, Operation::Read));
        let (second, _) = in_flight.take().unwrap();
        in_flight.start(second, io(8, Operation::Read));
        assert!(in_flight.is_full() && in_flight.take().is_none());
        assert_eq!(in_flight.end(first).unwrap().block, 7);
        assert!(in_flight.end(first).is_none() && in_flight.end(99).is_none());
        assert_eq!(in_flight.iter().map(|io| io.block).collect::<Vec<_>>(), [8]);
        in_flight.release(first, buffer);
        assert_eq!(in_flight.into_buffers(), [buffer]);
    }

    #[test]
    fn a_buffer_is_overwritten_after_other_ios_than_writes() {
        let mut in_flight = InFlight::new(vec!['a', 'b']);
        for (operation, overwritten) in [
            (Operation::Read, true),
            (Operation::Write, false),
            (Operation::Sync, true),
        ] {
            let (tag, buffer) = in_flight.take().unwrap();
            in_flight.start(tag, io(7, operation));
            in_flight.end(tag);
            in_flight.release(tag, buffer);
            assert_eq!((tag, buffer), (0, 'a'));
            assert_eq!(in_flight.is_overwritten(0), overwritten);
        }
        assert!(!in_flight.is_overwritten(1));
    }
}
