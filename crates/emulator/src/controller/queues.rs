//! The rings of submission and completion queues, and the doorbells in front of them
//! (Base 3.3.1; PCIe 3.1.2).

use super::arbitration::Arbiter;
use crate::bell::Side;
use crate::doorbells::{Doorbells, Watch};
use crate::shadow::Shadow;
use joulio_nvme_spec::command::QueuePriority;
use joulio_nvme_spec::{Command, CompletionEntry};
use std::collections::VecDeque;

/// A submission queue.
#[derive(Debug)]
pub(super) struct SubmissionQueue {
    /// The address of entry 0.
    pub(super) base: u64,
    /// Number of entries, 2 to 65536.
    pub(super) entries: u32,
    /// The next entry to fetch.
    pub(super) head: u32,
    /// Index after the last entry submitted.
    tail: u32,
    /// The doorbell's value at the last poll, valid or not.
    taken: u32,
    /// The completion queue.
    pub(super) cqid: u16,
    /// Priority class, which round robin ignores.
    pub(super) priority: QueuePriority,
    /// Commands fetched whose completions are not posted yet: never more than the queue has entries, however often a
    /// host rings.
    pub(super) in_service: u32,
}

/// A doorbell was rung with an invalid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidDoorbell;

impl SubmissionQueue {
    pub(super) fn new(base: u64, entries: u32, cqid: u16) -> SubmissionQueue {
        SubmissionQueue {
            priority: QueuePriority::MEDIUM,
            base,
            entries,
            head: 0,
            tail: 0,
            taken: 0,
            cqid,
            in_service: 0,
        }
    }

    /// Accepts the doorbell's value as the new tail. A value that is no entry of the queue is ignored.
    #[inline]
    pub(super) fn poll(&mut self, value: u32) -> Result<(), InvalidDoorbell> {
        if value == self.taken {
            return Ok(());
        }
        self.taken = value;
        if value >= self.entries {
            return Err(InvalidDoorbell);
        }
        self.tail = value;
        Ok(())
    }

    /// Whether there are commands to fetch.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.head != self.tail
    }

    /// Returns the addresses of the entries that are submitted and not fetched.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u64> + '_ {
        let size = size_of::<Command>() as u64;
        let indices = std::iter::successors(Some(self.head), |&at| Some(next(at, self.entries)));
        let waiting = indices.take_while(|&at| at != self.tail);
        waiting.map(move |at| self.base + u64::from(at) * size)
    }

    /// Returns the index of the next entry to fetch, if there is one and room to serve it.
    #[inline]
    pub(super) fn fetch(&mut self) -> Option<u32> {
        if !self.is_waiting() || self.in_service >= self.entries {
            return None;
        }
        let index = self.head;
        self.head = next(index, self.entries);
        self.in_service += 1;
        Some(index)
    }
}

/// A completion queue.
#[derive(Debug)]
pub(super) struct CompletionQueue {
    /// The address of entry 0.
    pub(super) base: u64,
    /// Number of entries, 2 to 65536.
    entries: u32,
    /// Index of the entry that the host reads next.
    head: u32,
    /// The next entry to write.
    tail: u32,
    /// The doorbell's value at the last poll, valid or not.
    taken: u32,
    /// Phase tag of this pass.
    phase: bool,
    /// Interrupt vector, if interrupts are enabled.
    pub(super) vector: Option<u16>,
    /// Number of submission queues that complete here.
    pub(super) users: u32,
    /// Completions that found the queue full, oldest first.
    pub(super) held: VecDeque<CompletionEntry>,
}

impl CompletionQueue {
    pub(super) fn new(base: u64, entries: u32, vector: Option<u16>) -> CompletionQueue {
        CompletionQueue {
            base,
            entries,
            head: 0,
            tail: 0,
            taken: 0,
            phase: true,
            vector,
            users: 0,
            held: VecDeque::new(),
        }
    }

    /// Accepts the doorbell's value as the new head, which can only move on towards the tail.
    pub(super) fn poll(&mut self, value: u32) -> Result<(), InvalidDoorbell> {
        if value == self.taken {
            return Ok(());
        }
        self.taken = value;
        let from_head = |index: u32| (index + self.entries - self.head) % self.entries;
        if value >= self.entries || from_head(value) > from_head(self.tail) {
            return Err(InvalidDoorbell);
        }
        self.head = value;
        Ok(())
    }

    /// Whether the host has consumed every entry.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether there is no room for another entry.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        next(self.tail, self.entries) == self.head
    }

    /// Returns address and phase of the next entry, and moves the tail past it.
    #[inline]
    pub(super) fn advance(&mut self) -> (u64, bool) {
        let at = self.base + u64::from(self.tail) * size_of::<CompletionEntry>() as u64;
        let phase = self.phase;
        self.tail = next(self.tail, self.entries);
        self.phase ^= self.tail == 0;
        (at, phase)
    }
}

#[inline]
fn next(index: u32, entries: u32) -> u32 {
    if index + 1 == entries { 0 } else { index + 1 }
}

/// The queues of a controller, by identifier; 0 is the admin pair.
#[derive(Debug)]
pub(super) struct Queues {
    pub(super) submission: Vec<Option<SubmissionQueue>>,
    pub(super) completion: Vec<Option<CompletionQueue>>,
    /// The submission queues that exist, ascending: the order of the round robin.
    pub(super) live: Vec<u16>,
    /// The state of a weighted round robin.
    pub(super) arbiter: Arbiter,
    /// Completions held in all queues together.
    pub(super) held: usize,
}

impl Queues {
    /// Makes an empty table with room for `pairs` queue pairs.
    pub(super) fn new(pairs: u16) -> Queues {
        Queues {
            submission: (0..pairs).map(|_| None).collect(),
            completion: (0..pairs).map(|_| None).collect(),
            live: Vec::with_capacity(usize::from(pairs)),
            arbiter: Arbiter::default(),
            held: 0,
        }
    }

    /// Removes all queues.
    pub(super) fn clear(&mut self) {
        self.submission.fill_with(|| None);
        self.completion.fill_with(|| None);
        self.live.clear();
        self.arbiter = Arbiter::default();
        self.held = 0;
    }

    #[inline]
    pub(super) fn submission(&mut self, qid: u16) -> Option<&mut SubmissionQueue> {
        self.submission.get_mut(usize::from(qid))?.as_mut()
    }

    #[inline]
    pub(super) fn completion(&mut self, qid: u16) -> Option<&mut CompletionQueue> {
        self.completion.get_mut(usize::from(qid))?.as_mut()
    }

    /// Whether completion queue `qid` exists and raises `vector`.
    pub(super) fn completes_to(&mut self, qid: u16, vector: u16) -> bool {
        let queue = self.completion(qid);
        queue.is_some_and(|queue| queue.vector == Some(vector))
    }

    /// Whether an I/O completion queue raises `vector`.
    pub(super) fn has_vector(&self, vector: u16) -> bool {
        let mut queues = self.completion.iter().skip(1).flatten();
        queues.any(|queue| queue.vector == Some(vector))
    }

    /// Adds submission queue `qid`, which is within range and free; its completion queue exists.
    pub(super) fn add_submission(&mut self, qid: u16, queue: SubmissionQueue) {
        if let Some(completion) = self.completion(queue.cqid) {
            completion.users += 1;
        }
        self.submission[usize::from(qid)] = Some(queue);
        let at = self.live.partition_point(|&other| other < qid);
        self.live.insert(at, qid);
    }

    /// Adds completion queue `qid`, which is within range and free.
    pub(super) fn add_completion(&mut self, qid: u16, queue: CompletionQueue) {
        self.completion[usize::from(qid)] = Some(queue);
    }

    /// Removes submission queue `qid` and its completions that are still held.
    pub(super) fn remove_submission(&mut self, qid: u16) -> Option<SubmissionQueue> {
        let queue = self.submission.get_mut(usize::from(qid))?.take()?;
        self.live.retain(|&other| other != qid);
        let mut dropped = 0;
        if let Some(completion) = self.completion(queue.cqid) {
            completion.users -= 1;
            let before = completion.held.len();
            completion.held.retain(|entry| entry.sqid.get() != qid);
            dropped = before - completion.held.len();
        }
        self.held -= dropped;
        Some(queue)
    }

    /// Removes completion queue `qid`, which no submission queue uses.
    pub(super) fn remove_completion(&mut self, qid: u16) {
        if let Some(queue) = self.completion[usize::from(qid)].take() {
            self.held -= queue.held.len();
        }
    }

    /// Adds the doorbells that may give work to `watch`: every tail, and heads where completions wait.
    pub(super) fn watch(&self, watch: &mut Watch) {
        for &qid in &self.live {
            if let Some(queue) = &self.submission[usize::from(qid)] {
                watch.add(qid, Side::Tail, queue.taken);
            }
        }
        if self.held == 0 {
            return;
        }
        for (qid, queue) in self.completion.iter().enumerate() {
            if let Some(queue) = queue
                && !queue.held.is_empty()
            {
                watch.add(qid as u16, Side::Head, queue.taken);
            }
        }
    }

    /// Requests that the host rings the registers when a doorbell moves that may give work: the same that
    /// [`Queues::watch`] lists.
    pub(super) fn request_ring(&self, shadow: &Shadow) {
        for &qid in self.live.iter().filter(|&&qid| qid > 0) {
            if let Some(queue) = &self.submission[usize::from(qid)] {
                shadow.request_ring(qid, Side::Tail, queue.taken);
            }
        }
        for (qid, queue) in (0..).zip(&self.completion).skip(1) {
            if let Some(queue) = queue
                && !queue.held.is_empty()
            {
                shadow.request_ring(qid, Side::Head, queue.taken);
            }
        }
    }

    /// Zeroes the doorbells of queues that do not exist; returns how many had been rung.
    pub(super) fn sweep(&self, doorbells: &Doorbells) -> u32 {
        let mut rung = 0;
        for qid in 0..doorbells.pairs() {
            let at = usize::from(qid);
            for (side, exists) in [
                (Side::Tail, self.submission[at].is_some()),
                (Side::Head, self.completion[at].is_some()),
            ] {
                if !exists && doorbells.register(qid, side) != 0 {
                    doorbells.clear_one(qid, side);
                    rung += 1;
                }
            }
        }
        rung
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_phase_turns_each_time_the_tail_passes_the_end() {
        let mut queue = CompletionQueue::new(0x1000, 3, None);
        let mut written = Vec::new();
        for head in [1, 2, 0, 1, 2, 0] {
            written.push(queue.advance());
            queue.poll(head).unwrap();
        }
        let phases: Vec<bool> = written.iter().map(|&(_, phase)| phase).collect();
        assert_eq!(phases, [true, true, true, false, false, false]);
        assert_eq!(written[2].0, 0x1020);
        assert_eq!(written[3].0, 0x1000);
    }

    #[test]
    fn a_head_cannot_pass_the_tail() {
        let mut queue = CompletionQueue::new(0, 4, None);
        queue.advance();
        queue.advance();
        assert_eq!(queue.poll(3), Err(InvalidDoorbell));
        assert_eq!(queue.poll(4), Err(InvalidDoorbell));
        assert_eq!(queue.poll(2), Ok(()));
        assert_eq!(queue.poll(1), Err(InvalidDoorbell));
    }

    #[test]
    fn a_tail_beyond_the_end_is_ignored_and_reported_once() {
        let mut queue = SubmissionQueue::new(0, 4, 0);
        assert_eq!(queue.poll(1), Ok(()));
        assert_eq!(queue.poll(u32::MAX), Err(InvalidDoorbell));
        assert_eq!(queue.poll(u32::MAX), Ok(()));
        assert_eq!(queue.fetch(), Some(0));
        assert_eq!(queue.fetch(), None);
    }

    #[test]
    fn a_queue_never_has_more_in_service_than_it_has_entries() {
        let mut queue = SubmissionQueue::new(0, 4, 0);
        let mut fetched = 0;
        for ring in 0..100 {
            queue.poll(ring % 4).unwrap();
            while queue.fetch().is_some() {
                fetched += 1;
            }
        }
        assert_eq!(fetched, 4);
    }
}
