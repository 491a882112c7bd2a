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

/// I/Os in flight by tag, at most as many as the queue depth.
pub(super) struct InFlight {
    ios: Vec<Option<InFlightIo>>,
    free: Vec<u64>,
}

impl InFlight {
    pub(super) fn new(depth: usize) -> InFlight {
        InFlight {
            ios: vec![None; depth],
            free: (0..depth as u64).rev().collect(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.ios.len()
    }

    /// Adds an I/O and returns its tag; `None` if as many as the queue depth are in flight.
    #[inline]
    pub(super) fn start(&mut self, io: InFlightIo) -> Option<u64> {
        let tag = self.free.pop()?;
        self.ios[tag as usize] = Some(io);
        Some(tag)
    }

    /// Removes and returns the I/O with `tag`; `None` if no such I/O is in flight.
    #[inline]
    pub(super) fn end(&mut self, tag: u64) -> Option<InFlightIo> {
        let io = self.ios.get_mut(tag as usize)?.take()?;
        self.free.push(tag);
        Some(io)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &InFlightIo> {
        self.ios.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_ends_once_and_no_more_than_the_depth_are_in_flight() {
        let io = |block| InFlightIo {
            arrival: Nanos::ZERO,
            block,
            len: 4096,
            operation: Operation::Read,
            measured: true,
        };
        let mut in_flight = InFlight::new(2);
        let first = in_flight.start(io(7)).unwrap();
        in_flight.start(io(8)).unwrap();
        assert!(in_flight.is_full() && in_flight.start(io(9)).is_none());
        assert_eq!(in_flight.end(first).unwrap().block, 7);
        assert!(in_flight.end(first).is_none() && in_flight.end(99).is_none());
        assert_eq!(in_flight.iter().map(|io| io.block).collect::<Vec<_>>(), [8]);
    }
}
