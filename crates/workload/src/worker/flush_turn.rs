//! Counts when flushes are due between writes.

use joulio_job::Flushes;
use joulio_units::Operation;

/// Writes to one device since its last flushes.
#[derive(Clone, Debug)]
pub(super) struct FlushTurn {
    flushes: Flushes,
    /// True if there are flushes between writes.
    any: bool,
    /// Number of writes that were issued.
    writes: u64,
    /// True if a write has been issued since the last check for a flush.
    fresh: bool,
}

impl FlushTurn {
    pub(super) fn new(flushes: Flushes) -> FlushTurn {
        FlushTurn {
            flushes,
            any: flushes.fsync > 0 || flushes.fdatasync > 0,
            writes: 0,
            fresh: false,
        }
    }

    /// Counts a write that is issued.
    #[inline]
    pub(super) fn wrote(&mut self) {
        self.writes += 1;
        self.fresh = true;
    }

    /// Returns the flush that is due before the next I/O, if one is. If both kinds are due, it is the one of data
    /// and metadata, as in fio.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Operation> {
        if !self.any || !self.fresh {
            return None;
        }
        self.fresh = false;
        let turn = |every: u32| every > 0 && self.writes.is_multiple_of(every.into());
        if turn(self.flushes.fsync) {
            return Some(Operation::Sync);
        }
        turn(self.flushes.fdatasync).then_some(Operation::DataSync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_comes_after_as_many_writes_and_fsync_goes_first() {
        let flushes = Flushes {
            fsync: 4,
            fdatasync: 2,
            end_fsync: true,
        };
        let mut turn = FlushTurn::new(flushes);
        assert_eq!(turn.next(), None);
        let mut seen = Vec::new();
        for _ in 0..8 {
            turn.wrote();
            seen.push(turn.next());
            assert_eq!(turn.next(), None, "once");
        }
        let (data, all) = (Some(Operation::DataSync), Some(Operation::Sync));
        assert_eq!(seen, [None, data, None, all, None, data, None, all]);
    }
}
