//! All doorbells of a controller, and what its thread watches of them.

use crate::bell::{Line, Side};
use joulio_nvme_spec::register::DOORBELLS;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The doorbells of queue pairs 0 up to the most the controller has. The stride is 0 (CAP.DSTRD).
#[derive(Debug)]
pub(crate) struct Doorbells {
    lines: Box<[Arc<Line>]>,
    /// How often all were zeroed. The values taken before say nothing about those after.
    resets: AtomicU64,
}

impl Doorbells {
    /// Doorbells of the admin queue and `queue_pairs` others.
    pub(crate) fn new(queue_pairs: u16) -> Doorbells {
        Doorbells {
            lines: (0..=queue_pairs).map(|_| Arc::new(Line::new())).collect(),
            resets: AtomicU64::new(0),
        }
    }

    /// The doorbells of queue pair `qid`.
    ///
    /// # Panics
    /// When there is no such pair.
    #[inline]
    pub(crate) fn line(&self, qid: u16) -> &Arc<Line> {
        &self.lines[usize::from(qid)]
    }

    /// The queue pairs, the admin one included.
    pub(crate) fn pairs(&self) -> u16 {
        self.lines.len() as u16
    }

    /// The end of the registers.
    pub(crate) fn end(&self) -> usize {
        DOORBELLS as usize + self.lines.len() * 8
    }

    /// What stands at register `offset` (PCIe figures 5 and 6).
    pub(crate) fn decode(&self, offset: u32) -> Option<(u16, Side)> {
        let index = offset.checked_sub(DOORBELLS)?;
        if !index.is_multiple_of(4) || offset as usize >= self.end() {
            return None;
        }
        let side = if index & 4 == 0 {
            Side::Tail
        } else {
            Side::Head
        };
        Some(((index / 8) as u16, side))
    }

    /// Zeroes both doorbells of every pair.
    pub(crate) fn clear(&self) {
        self.resets.fetch_add(1, Ordering::Release);
        for line in &self.lines {
            line.clear(Side::Tail);
            line.clear(Side::Head);
        }
    }
}

/// The doorbells that may give the controller work, with the value it has taken from each.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    entries: Vec<(u16, Side, u32)>,
    heads: bool,
    resets: u64,
}

impl Watch {
    /// Begins a new list, under the lock that keeps `doorbells` from being zeroed.
    pub(crate) fn clear(&mut self, doorbells: &Doorbells) {
        self.entries.clear();
        self.heads = false;
        self.resets = doorbells.resets.load(Ordering::Acquire);
    }

    pub(crate) fn add(&mut self, qid: u16, side: Side, taken: u32) {
        self.entries.push((qid, side, taken));
        self.heads |= side == Side::Head;
    }

    /// Whether heads are among them.
    pub(crate) fn heads(&self) -> bool {
        self.heads
    }

    /// How many doorbells a look reads.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Looks at all of them: whether one has moved.
    pub(crate) fn moved(&self, doorbells: &Doorbells) -> bool {
        let moved = self
            .entries
            .iter()
            .any(|&(qid, side, taken)| doorbells.line(qid).load(side) != taken);
        // After the doorbells: who saw one that was rung after a reset, sees the reset.
        moved || doorbells.resets.load(Ordering::Acquire) != self.resets
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use joulio_nvme_spec::register::{completion_doorbell, submission_doorbell};

    #[test]
    fn the_same_value_after_a_reset_is_another_ring() {
        let doorbells = Doorbells::new(1);
        let bell = crate::bell::Bell::new();
        bell.ring(doorbells.line(0), Side::Tail, 1);
        let mut watch = Watch::default();
        watch.clear(&doorbells);
        watch.add(0, Side::Tail, 1);
        assert!(!watch.moved(&doorbells));
        doorbells.clear();
        bell.ring(doorbells.line(0), Side::Tail, 1);
        assert!(watch.moved(&doorbells));
    }

    #[test]
    fn offsets_name_the_doorbells_that_exist_and_no_others() {
        let doorbells = Doorbells::new(2);
        assert_eq!(
            doorbells.decode(submission_doorbell(2, 0)),
            Some((2, Side::Tail))
        );
        assert_eq!(
            doorbells.decode(completion_doorbell(2, 0)),
            Some((2, Side::Head))
        );
        for offset in [0, 0xfff, 0x1002, submission_doorbell(3, 0), u32::MAX] {
            assert_eq!(doorbells.decode(offset), None);
        }
    }
}
