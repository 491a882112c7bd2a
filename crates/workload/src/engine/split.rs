//! I/Os longer than the device transfers at once, in parts: as the kernel splits them at
//! `queue/max_hw_sectors_kb`, which MDTS sets (Base specification, Identify Controller).

use super::Traced;
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_nvme::Faults;
use joulio_nvme::wait::{Counters, now};
use joulio_trace::Recorded;
use joulio_units::Nanos;
use std::collections::VecDeque;

/// An engine whose requests are split into parts of at most `part` bytes each. A request ends with
/// its last part, and fails as the first part that failed did.
pub struct Split<E: Engine> {
    inner: E,
    /// Bytes of a part; the last of a request may be shorter.
    part: u32,
    /// Parts of the longest request.
    parts: usize,
    /// Parts that may be in flight: the inner engine's queue depth.
    depth: usize,
    /// Parts in flight.
    in_flight: usize,
    /// Parts for which the inner engine had no room.
    waiting: VecDeque<(Request, E::Buffer)>,
    /// Requests in flight by slot; a part's tag is its slot x `parts` and its place.
    whole: Vec<Option<Whole<E>>>,
    free: Vec<usize>,
    /// Parts that completed and are not counted yet.
    completed: Vec<Completion<E::Buffer, E::Failure>>,
}

/// A request of which parts are in flight.
struct Whole<E: Engine> {
    tag: u64,
    left: usize,
    buffer: SplitBuffer<E::Buffer>,
    outcome: Result<(), E::Failure>,
}

/// The buffers of a request's parts, in their order; none while the part is in flight.
pub struct SplitBuffer<B> {
    parts: Vec<Option<B>>,
    /// Bytes of a part.
    part: usize,
}

impl<B: Buffer> Buffer for SplitBuffer<B> {
    fn copy_to(&self, to: &mut [u8]) {
        let parts = self.parts.iter().flatten();
        for (buffer, to) in parts.zip(to.chunks_mut(self.part)) {
            buffer.copy_to(to);
        }
    }

    fn copy_from(&mut self, from: &[u8]) {
        let parts = self.parts.iter_mut().flatten();
        for (buffer, from) in parts.zip(from.chunks(self.part)) {
            buffer.copy_from(from);
        }
    }
}

impl<E: Engine> Split<E> {
    /// `inner`, whose queue is `depth` deep, in parts of `part` bytes; up to `requests` requests of
    /// `longest` bytes are in flight.
    pub fn new(inner: E, depth: usize, part: u32, longest: u64, requests: usize) -> Split<E> {
        let parts = longest.div_ceil(part.into()).max(1) as usize;
        Split {
            inner,
            part,
            parts,
            depth,
            in_flight: 0,
            waiting: VecDeque::with_capacity(requests * parts),
            whole: (0..requests).map(|_| None).collect(),
            free: (0..requests).rev().collect(),
            completed: Vec::with_capacity(depth),
        }
    }

    /// Gives the inner engine the parts that wait, as far as it has room.
    fn prepare_waiting(&mut self) -> Result<(), E::Error> {
        while self.in_flight < self.depth
            && let Some((request, buffer)) = self.waiting.pop_front()
        {
            self.inner.prepare(request, buffer)?;
            self.in_flight += 1;
        }
        Ok(())
    }

    /// Counts a part that ended; its request, if that was the last.
    fn end(&mut self, part: Completion<E::Buffer, E::Failure>) -> Option<Whole<E>> {
        self.in_flight -= 1;
        let (slot, place) = (part.tag as usize / self.parts, part.tag as usize % self.parts);
        let whole = self.whole.get_mut(slot)?;
        let request = whole.as_mut()?;
        if let Some(buffer) = request.buffer.parts.get_mut(place) {
            *buffer = Some(part.buffer);
        }
        if request.outcome.is_ok() {
            request.outcome = part.outcome;
        }
        request.left -= 1;
        if request.left > 0 {
            return None;
        }
        self.free.push(slot);
        whole.take()
    }
}

impl<E: Engine> Engine for Split<E> {
    type Buffer = SplitBuffer<E::Buffer>;
    type Failure = E::Failure;
    type Error = E::Error;

    fn buffers(&mut self, count: usize, len: usize) -> Result<Vec<Self::Buffer>, E::Error> {
        let part = self.part as usize;
        let parts = len.div_ceil(part).max(1);
        let mut all = self.inner.buffers(count * parts, part.min(len))?.into_iter();
        let buffers = (0..count).map(|_| SplitBuffer {
            parts: all.by_ref().take(parts).map(Some).collect(),
            part,
        });
        Ok(buffers.collect())
    }

    fn waited(&mut self, time: Nanos) {
        self.inner.waited(time);
    }

    fn prepare(&mut self, request: Request, mut buffer: Self::Buffer) -> Result<(), E::Error> {
        let parts = request.len.div_ceil(self.part).max(1) as usize;
        let slot = self.free.pop().unwrap_or_else(|| {
            // A caller that has more requests than it said.
            self.whole.push(None);
            self.whole.len() - 1
        });
        for place in 0..parts {
            let before = place as u32 * self.part;
            let Some(part) = buffer.parts.get_mut(place).and_then(Option::take) else {
                continue;
            };
            let request = Request {
                direction: request.direction,
                offset: request.offset + u64::from(before),
                len: (request.len - before).min(self.part),
                tag: (slot * self.parts + place) as u64,
            };
            self.waiting.push_back((request, part));
        }
        self.whole[slot] = Some(Whole {
            tag: request.tag,
            left: parts,
            buffer,
            outcome: Ok(()),
        });
        self.prepare_waiting()
    }

    fn submit(&mut self) -> Result<(), E::Error> {
        self.inner.submit()
    }

    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        mut sink: impl FnMut(Completion<Self::Buffer, E::Failure>),
    ) -> Result<usize, E::Error> {
        let mut delivered = 0;
        loop {
            let wanted = usize::from(delivered < min);
            let completed = &mut self.completed;
            let reaped = self.inner.reap(wanted, deadline, |one| completed.push(one))?;
            let mut completed = std::mem::take(&mut self.completed);
            for part in completed.drain(..) {
                if let Some(whole) = self.end(part) {
                    delivered += 1;
                    sink(Completion {
                        tag: whole.tag,
                        outcome: whole.outcome,
                        buffer: whole.buffer,
                    });
                }
            }
            self.completed = completed;
            if !self.waiting.is_empty() {
                self.prepare_waiting()?;
                self.inner.submit()?;
            }
            // Nothing came although something was wanted: the deadline, or nothing is in flight.
            if delivered >= min || reaped == 0 || now() >= deadline {
                return Ok(delivered);
            }
        }
    }

    fn abandon(&mut self) {
        self.inner.abandon();
    }

    fn effective(&mut self) -> String {
        self.inner.effective()
    }

    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }

    fn counts_waiting(&self) -> bool {
        self.inner.counts_waiting()
    }

    fn system_calls(&self) -> Option<u64> {
        self.inner.system_calls()
    }

    fn kernel_thread(&self) -> Option<i32> {
        self.inner.kernel_thread()
    }

    fn learning(&mut self) -> Nanos {
        self.inner.learning()
    }
}

impl<E: Traced> Traced for Split<E> {
    fn start_trace(&mut self, capacity: usize) {
        self.inner.start_trace(capacity);
    }

    fn take_trace(&mut self) -> Vec<Recorded> {
        self.inner.take_trace()
    }

    fn faults(&self) -> Faults {
        self.inner.faults()
    }
}
