//! Splits I/Os that are longer than the device's largest transfer into parts, as the kernel splits them at
//! `queue/max_hw_sectors_kb`, which MDTS determines (Base specification, Identify Controller).

use super::Traced;
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_nvme::Faults;
use joulio_nvme::wait::{WaitCounters, now};
use joulio_trace::Recorded;
use joulio_units::Nanos;
use std::collections::BTreeSet;
use std::collections::VecDeque;

/// An engine whose requests are split into parts of at most `part` bytes. A request ends with its last part; if
/// parts fail, it fails with the error of the first that failed.
pub struct Split<E: Engine> {
    inner: E,
    /// Bytes of a part; the last part of a request may be shorter.
    part: u32,
    /// Number of parts of the longest request.
    parts: usize,
    /// Number of parts that may be in flight on a device: the inner engine's queue depth.
    depth: usize,
    devices: Vec<DeviceParts<E::Buffer>>,
    /// Requests in flight, by slot. A part's tag is its slot times `parts` plus its index in the request.
    whole: Vec<Option<Whole<E>>>,
    free: Vec<usize>,
    /// Parts that have completed and are not counted yet.
    completed: Vec<Completion<E::Buffer, E::Failure>>,
}

/// The parts of one device.
struct DeviceParts<B> {
    in_flight: usize,
    /// Parts for which the inner engine had no room.
    waiting: VecDeque<(Request, B)>,
}

/// A request with parts in flight.
struct Whole<E: Engine> {
    tag: u64,
    device: usize,
    left: usize,
    buffer: SplitBuffer<E::Buffer>,
    outcome: Result<(), E::Failure>,
}

/// The buffers of a request's parts, in their order; `None` while the part is in flight.
pub struct SplitBuffer<B> {
    parts: Vec<Option<B>>,
    /// Bytes of a part.
    part: usize,
}

impl<B: Buffer> Buffer for SplitBuffer<B> {
    /// Returns the address of the first part that is not in flight.
    fn address(&self) -> u64 {
        self.parts.iter().flatten().next().map_or(0, B::address)
    }

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
    /// Creates an engine on `inner`, whose queues are `depth` deep. It splits requests of up to `longest` bytes
    /// into parts of `part` bytes; up to `requests` requests may be in flight on each of `devices` devices.
    pub fn new(
        inner: E,
        (depth, part): (usize, u32),
        longest: u64,
        (requests, devices): (usize, usize),
    ) -> Split<E> {
        let parts = longest.div_ceil(part.into()).max(1) as usize;
        let all = requests * devices;
        let device = || DeviceParts {
            in_flight: 0,
            waiting: VecDeque::with_capacity(requests * parts),
        };
        Split {
            inner,
            part,
            parts,
            depth,
            devices: (0..devices).map(|_| device()).collect(),
            whole: (0..all).map(|_| None).collect(),
            free: (0..all).rev().collect(),
            completed: Vec::with_capacity(depth * devices),
        }
    }

    /// Submits waiting parts to the inner engine, as many as it has room for; returns true if it submitted any.
    fn prepare_waiting(&mut self) -> Result<bool, E::Error> {
        let mut any = false;
        for device in &mut self.devices {
            while device.in_flight < self.depth
                && let Some((request, buffer)) = device.waiting.pop_front()
            {
                self.inner.prepare(request, buffer)?;
                device.in_flight += 1;
                any = true;
            }
        }
        Ok(any)
    }

    /// Counts a part that has completed; returns its request if that was the last part.
    fn end(&mut self, part: Completion<E::Buffer, E::Failure>) -> Option<Whole<E>> {
        let (slot, place) = (
            part.tag as usize / self.parts,
            part.tag as usize % self.parts,
        );
        let whole = self.whole.get_mut(slot)?;
        let request = whole.as_mut()?;
        if let Some(device) = self.devices.get_mut(request.device) {
            device.in_flight -= 1;
        }
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

    fn buffers(
        &mut self,
        device: usize,
        count: usize,
        len: usize,
    ) -> Result<Vec<Self::Buffer>, E::Error> {
        let part = self.part as usize;
        let parts = len.div_ceil(part).max(1);
        let all = self.inner.buffers(device, count * parts, part.min(len))?;
        let mut all = all.into_iter();
        let buffers = (0..count).map(|_| SplitBuffer {
            parts: all.by_ref().take(parts).map(Some).collect(),
            part,
        });
        Ok(buffers.collect())
    }

    fn waited(&mut self, device: usize, time: Nanos) {
        self.inner.waited(device, time);
    }

    fn prepare(&mut self, request: Request, mut buffer: Self::Buffer) -> Result<(), E::Error> {
        // A request without data is not split.
        let part_len = match request.operation.moves_data() {
            true => self.part,
            false => request.len.max(1),
        };
        let parts = request.len.div_ceil(part_len).max(1) as usize;
        let slot = self.free.pop().unwrap_or_else(|| {
            // The caller has more requests in flight than it announced.
            self.whole.push(None);
            self.whole.len() - 1
        });
        for place in 0..parts {
            let before = place as u32 * part_len;
            let Some(part) = buffer.parts.get_mut(place).and_then(Option::take) else {
                continue;
            };
            let request = Request {
                device: request.device,
                operation: request.operation,
                offset: request.offset + u64::from(before),
                len: (request.len - before).min(part_len),
                tag: (slot * self.parts + place) as u64,
            };
            if let Some(device) = self.devices.get_mut(request.device) {
                device.waiting.push_back((request, part));
            }
        }
        self.whole[slot] = Some(Whole {
            tag: request.tag,
            device: request.device,
            left: parts,
            buffer,
            outcome: Ok(()),
        });
        self.prepare_waiting().map(|_| ())
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
            let reaped = self
                .inner
                .reap(wanted, deadline, |one| completed.push(one))?;
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
            if self.prepare_waiting()? {
                self.inner.submit()?;
            }
            // Nothing completed although the caller wants completions: the deadline has passed, or nothing is in
            // flight.
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

    fn counters(&mut self) -> WaitCounters {
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

    fn interrupt_cpus(&self) -> (BTreeSet<u32>, Option<String>) {
        self.inner.interrupt_cpus()
    }

    fn faults(&self) -> Faults {
        self.inner.faults()
    }
}
