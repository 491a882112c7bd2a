//! All doorbells of a controller, and those that its thread polls.

use crate::bell::{Line, Side};
use crate::shadow::{Shadow, position};
use joulio_device::SharedMemory;
use joulio_nvme_spec::register::DOORBELLS;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The doorbells of queue pairs 0 up to the last of the controller. The stride is 0 (CAP.DSTRD).
#[derive(Debug)]
pub(crate) struct Doorbells {
    words: Words,
    /// Memory to which the host writes the doorbells of I/O queues instead (Base 5.8).
    shadow: Option<Shadow>,
    /// Number of times that all were zeroed: values from before cannot be compared with values after.
    resets: AtomicU64,
}

/// Memory of the doorbell registers.
#[derive(Clone, Debug)]
enum Words {
    /// In this process, one cache line per doorbell.
    Lines(Arc<[Arc<Line>]>),
    /// In memory that a host has mapped, at the offsets of the registers.
    Page(Arc<SharedMemory>, u16),
}

fn register_offset(qid: u16, side: Side) -> usize {
    DOORBELLS as usize + position(qid, side)
}

impl Doorbells {
    /// Makes doorbells of the admin queue and `queue_pairs` others.
    pub(crate) fn new(queue_pairs: u16) -> Doorbells {
        let lines = (0..=queue_pairs).map(|_| Arc::new(Line::new()));
        Doorbells::of(Words::Lines(lines.collect()))
    }

    /// Makes doorbells in `memory`, at the offsets that the registers have.
    ///
    /// # Panics
    /// When they do not fit.
    pub(crate) fn mapped(queue_pairs: u16, memory: Arc<SharedMemory>) -> Doorbells {
        assert!(register_offset(queue_pairs + 1, Side::Tail) <= memory.len());
        Doorbells::of(Words::Page(memory, queue_pairs + 1))
    }

    fn of(words: Words) -> Doorbells {
        Doorbells {
            words,
            shadow: None,
            resets: AtomicU64::new(0),
        }
    }

    /// Returns a copy of the doorbells with another shadow, or none.
    pub(crate) fn shadowed(&self, shadow: Option<Shadow>) -> Doorbells {
        Doorbells {
            words: self.words.clone(),
            shadow,
            resets: AtomicU64::new(self.resets.load(Ordering::Relaxed)),
        }
    }

    /// Returns the memory to which the host writes the doorbells of I/O queues instead.
    pub(crate) fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }

    /// Returns the doorbells of queue pair `qid` in this process; `None` when they are mapped into a host.
    ///
    /// # Panics
    /// When there is no such pair.
    #[inline]
    pub(crate) fn line(&self, qid: u16) -> Option<&Arc<Line>> {
        match &self.words {
            Words::Lines(lines) => Some(&lines[usize::from(qid)]),
            Words::Page(..) => None,
        }
    }

    /// Returns the value rung last, through the register or its shadow. The host's earlier writes to memory are visible
    /// after it.
    ///
    /// # Panics
    /// When there is no such pair.
    #[inline]
    pub(crate) fn load(&self, qid: u16, side: Side) -> u32 {
        match &self.shadow {
            Some(shadow) if qid > 0 => shadow.load(qid, side),
            _ => self.register(qid, side),
        }
    }

    /// Returns the value that was last written to the register.
    #[inline]
    pub(crate) fn register(&self, qid: u16, side: Side) -> u32 {
        match &self.words {
            Words::Lines(lines) => lines[usize::from(qid)].load(side),
            Words::Page(page, pairs) => {
                assert!(qid < *pairs);
                u32::from_le(page.load_u32(register_offset(qid, side)))
            }
        }
    }

    /// Zeroes the register for the device: a queue was created or deleted.
    pub(crate) fn clear_one(&self, qid: u16, side: Side) {
        match &self.words {
            Words::Lines(lines) => {
                lines[usize::from(qid)].clear(side);
            }
            Words::Page(page, _) => page.store_u32(register_offset(qid, side), 0),
        }
    }

    /// Writes the register for the host, if no thread sleeps at the doorbells.
    pub(crate) fn store(&self, qid: u16, side: Side, value: u32) {
        if let Words::Page(page, pairs) = &self.words {
            assert!(qid < *pairs);
            page.store_u32(register_offset(qid, side), value.to_le());
        }
    }

    /// Returns the number of queue pairs, the admin pair included.
    pub(crate) fn pairs(&self) -> u16 {
        match &self.words {
            Words::Lines(lines) => lines.len() as u16,
            Words::Page(_, pairs) => *pairs,
        }
    }

    /// Returns the offset of the end of the registers.
    pub(crate) fn end(&self) -> usize {
        DOORBELLS as usize + position(self.pairs(), Side::Tail)
    }

    /// Finds the queue and side of the doorbell at register `offset` (PCIe figures 5 and 6).
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

    /// Invalidates all values taken so far: later ones are not compared with them.
    pub(crate) fn reset(&self) {
        self.resets.fetch_add(1, Ordering::Release);
    }

    /// Zeroes both doorbells of every pair.
    pub(crate) fn clear(&self) {
        self.reset();
        for qid in 0..self.pairs() {
            self.clear_one(qid, Side::Tail);
            self.clear_one(qid, Side::Head);
        }
    }
}

/// The doorbells that may give the controller work, with the value last read of each.
#[derive(Debug)]
pub(crate) struct Watch {
    doorbells: Arc<Doorbells>,
    entries: Vec<(u16, Side, u32)>,
    heads: bool,
    resets: u64,
}

impl Watch {
    /// Makes an empty list for `doorbells`.
    pub(crate) fn new(doorbells: Arc<Doorbells>) -> Watch {
        Watch {
            doorbells,
            entries: Vec::new(),
            heads: false,
            resets: 0,
        }
    }

    /// Begins a new list, under the lock that keeps `doorbells` from being zeroed.
    pub(crate) fn clear(&mut self, doorbells: &Arc<Doorbells>) {
        if !Arc::ptr_eq(&self.doorbells, doorbells) {
            self.doorbells = Arc::clone(doorbells);
        }
        self.entries.clear();
        self.heads = false;
        self.resets = doorbells.resets.load(Ordering::Acquire);
    }

    pub(crate) fn add(&mut self, qid: u16, side: Side, taken: u32) {
        self.entries.push((qid, side, taken));
        self.heads |= side == Side::Head;
    }

    /// Whether the list has heads of completion queues.
    pub(crate) fn heads(&self) -> bool {
        self.heads
    }

    /// Whether some doorbells have shadows, whose writes wake the device only at the values it requested.
    pub(crate) fn shadowed(&self) -> bool {
        self.doorbells.shadow.is_some()
    }

    /// Returns the number of doorbells that a poll reads.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Polls all doorbells of the list; returns whether one has moved.
    pub(crate) fn moved(&self) -> bool {
        let doorbells = &*self.doorbells;
        let moved = self
            .entries
            .iter()
            .any(|&(qid, side, taken)| doorbells.load(qid, side) != taken);
        // After the doorbells: a thread that sees one that was rung after a reset sees the reset too.
        moved || doorbells.resets.load(Ordering::Acquire) != self.resets
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use joulio_nvme_spec::register::{completion_doorbell, submission_doorbell};

    #[test]
    fn the_same_value_after_a_reset_is_another_ring() {
        let doorbells = Arc::new(Doorbells::new(1));
        let bell = crate::bell::Bell::new();
        bell.ring(doorbells.line(0).unwrap(), Side::Tail, 1);
        let mut watch = Watch::new(Arc::clone(&doorbells));
        watch.clear(&doorbells);
        watch.add(0, Side::Tail, 1);
        assert!(!watch.moved());
        doorbells.clear();
        bell.ring(doorbells.line(0).unwrap(), Side::Tail, 1);
        assert!(watch.moved());
    }

    #[test]
    fn doorbells_in_a_page_stand_where_the_registers_would() {
        let page = Arc::new(SharedMemory::allocate(8192).unwrap());
        let doorbells = Doorbells::mapped(2, Arc::clone(&page));
        page.store_u32(0x100c, 7);
        assert_eq!(doorbells.load(1, Side::Head), 7);
        assert_eq!(doorbells.load(1, Side::Tail), 0);
        doorbells.clear();
        assert_eq!(page.load_u32(0x100c), 0);
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
