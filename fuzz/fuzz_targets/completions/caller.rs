//! The driver's caller, which keeps a list of outstanding commands and checks that the driver handles them correctly.

use crate::script::DEPTH;
use crate::spy::Spy;
use crate::steps::Step;
use joulio_nvme::spec::Status;
use joulio_nvme::spec::feature::FeatureId;
use joulio_nvme::wait::{AnyPolicy, Hybrid, now};
use joulio_nvme::{
    Completed, Controller, DmaBuffer, Namespace, NvmeError, PollGroup, QueuePair, SubmitError,
};
use joulio_units::Nanos;
use std::collections::HashMap;
use std::sync::Arc;

/// Longest time that a call may take, whatever the device does: some resets, each with all its time limits.
const MAX_CALL_TIME: Nanos = Nanos::from_millis(3_600_000);
/// Time by which a wait may end later than requested when no reset came between: an interrupt that is not delivered
/// yet, the admin commands of a check.
const LATE: Nanos = Nanos::from_millis(250);

/// A command that was submitted and has not ended.
struct Open {
    queue: usize,
    /// The address of its buffer.
    buffer: Option<u64>,
}

pub struct Caller<'a> {
    controller: &'a Controller<Spy>,
    namespace: Namespace,
    group: PollGroup<Spy>,
    open: HashMap<u64, Open>,
    next_tag: u64,
}

fn queues(controller: &Controller<Spy>) -> Option<PollGroup<Spy>> {
    let create = |_| controller.create_queue_pair(DEPTH).ok();
    let queues: Vec<_> = (0..controller.max_queues()).map_while(create).collect();
    (!queues.is_empty()).then(|| PollGroup::new(queues))
}

/// Whether the error means that there is no controller any more.
fn is_end(error: &NvmeError) -> bool {
    matches!(
        error,
        NvmeError::Removed { .. }
            | NvmeError::RemovalRequested { .. }
            | NvmeError::ResetFailed { .. }
    )
}

impl<'a> Caller<'a> {
    pub fn new(controller: &'a Controller<Spy>, namespace: Namespace) -> Option<Caller<'a>> {
        Some(Caller {
            controller,
            namespace,
            group: queues(controller)?,
            open: HashMap::new(),
            next_tag: 0,
        })
    }

    fn queue(&mut self, which: u8) -> (usize, &mut QueuePair<Spy>) {
        let queues = self.group.queues();
        let index = usize::from(which) % queues.len();
        (index, &mut queues[index])
    }

    /// Executes `step`; `false`: there is nothing left to execute it with.
    pub fn take(&mut self, step: &Step) -> bool {
        match *step {
            Step::Submit {
                queue,
                kind,
                lba,
                blocks,
                buffer,
            } => self.submit(queue, kind, (lba.into(), blocks.into()), buffer),
            Step::Ring(queue) => self.queue(queue).1.ring(),
            Step::Reap { queue, max } => self.reap(queue, max.into()),
            Step::Wait { min, within } => self.wait(min.into(), within),
            Step::Policy { queue, policy } => {
                let policy = match policy % 4 {
                    0 => AnyPolicy::POLL,
                    1 => AnyPolicy::INTERRUPT,
                    2 => AnyPolicy::Hybrid(Hybrid::automatic()),
                    _ => AnyPolicy::Hybrid(Hybrid::fixed(Nanos::from_micros(50))),
                };
                let _ = self.queue(queue).1.set_policy(policy);
            }
            Step::Redirect(queue) => {
                if let Ok(memory) = self.controller.allocate(4096) {
                    let index = self.queue(queue).0;
                    let _ = self.group.redirect(index, &Arc::new(memory), 64, 7);
                }
            }
            Step::Ask(what) => self.ask(what),
            Step::Reset => drop(self.controller.reset()),
            Step::Replace => return self.replace(),
            Step::Trace(capacity) => {
                let _ = self.group.take_trace();
                self.group.start_trace(1 + usize::from(capacity));
            }
        }
        self.check();
        true
    }

    fn submit(&mut self, which: u8, kind: u8, (lba, blocks): (u64, u32), buffer: u8) {
        let tag = self.next_tag;
        let namespace = self.namespace;
        let bytes = [512, 8192, 20_480][usize::from(buffer % 3)];
        let (index, queue) = self.queue(which);
        let dataless = match kind % 8 {
            0 => Some(queue.flush(&namespace, tag)),
            1 => Some(queue.verify(&namespace, lba, blocks, tag)),
            2 => Some(queue.write_zeroes(&namespace, lba, blocks, buffer > 127, tag)),
            _ => None,
        };
        if let Some(taken) = dataless {
            return self.note(index, tag, taken.map(|()| None));
        }
        let Some(buffer) = self.buffer(bytes) else {
            return;
        };
        let address = buffer.iova().0;
        let (_, queue) = self.queue(which);
        let taken = match kind % 8 {
            3 => queue.read(&namespace, lba, blocks, buffer, tag),
            4 => queue.write(&namespace, lba, blocks, buffer, tag),
            5 => queue.write_through(&namespace, lba, blocks, buffer, tag),
            6 => queue.compare(&namespace, lba, blocks, buffer, tag),
            _ => {
                let ranges = [lba..lba + u64::from(blocks), 0..1];
                queue.deallocate(&namespace, &ranges, buffer, tag)
            }
        };
        let taken = taken.map_err(|rejected| {
            assert_eq!(rejected.buffer.iova().0, address, "another's buffer");
            rejected.reason
        });
        self.note(index, tag, taken.map(|()| Some(address)));
    }

    fn buffer(&self, bytes: usize) -> Option<DmaBuffer> {
        self.controller.allocate_buffers(1, bytes).ok()?.pop()
    }

    fn note(&mut self, queue: usize, tag: u64, taken: Result<Option<u64>, SubmitError>) {
        if let Ok(buffer) = taken {
            self.open.insert(tag, Open { queue, buffer });
        }
        self.next_tag += 1;
    }

    fn reap(&mut self, which: u8, max: usize) {
        let (index, _) = self.queue(which);
        let mut delivered = 0;
        let open = &mut self.open;
        let result = self.group.queues()[index].reap(max, |done| {
            delivered += 1;
            assert!(!end(open, index, done), "a queue alone keeps no buffer");
        });
        assert!(delivered <= max);
        assert!(result.is_err() || result == Ok(delivered));
    }

    fn wait(&mut self, min: usize, within: Option<u8>) {
        let (start, resets) = (now(), self.controller.resets());
        let deadline = within.map(|time| start + Nanos::from_millis(time.into()));
        let outstanding = self.open.len();
        let (mut delivered, mut kept) = (0, 0);
        let open = &mut self.open;
        let result = self.group.reap(min, deadline, |queue, done| {
            delivered += 1;
            kept += usize::from(end(open, queue, done));
        });
        let time = now() - start;
        assert!(time <= MAX_CALL_TIME, "{time:?}");
        let is_end = result.as_ref().is_err_and(is_end);
        if !is_end && resets == self.controller.resets() {
            let requested = deadline.map_or(MAX_CALL_TIME, |deadline| deadline - start);
            assert!(time <= requested + LATE, "{time:?} of {requested:?}");
        }
        assert!(is_end || kept == 0, "a buffer was kept");
        match result {
            Ok(count) => {
                assert_eq!(count, delivered);
                assert!(deadline.is_some() || count >= min.min(outstanding));
            }
            Err(error) if is_end => {
                assert!(self.open.is_empty(), "outstanding after {error}");
                self.check_end();
            }
            Err(_) => {}
        }
    }

    /// Checks that whatever is requested of a controller that was lost for good ends.
    fn check_end(&mut self) {
        let namespace = self.namespace;
        let requested = self.controller.smart_log();
        assert!(requested.is_err_and(|error| is_end(&error)));
        for index in 0..self.group.queues().len() {
            let taken = self.group.queues()[index].flush(&namespace, 0);
            taken.expect("nothing is outstanding");
            let mut ended = Vec::new();
            // Completions that a dead device has left in the queue are polled first.
            let error = (0..=DEPTH).find_map(|_| {
                let end = |queue, done: Completed| ended.push((queue, done.status));
                let result = self.group.reap(1, None, end);
                result.err().filter(is_end)
            });
            if error.is_some() {
                assert_eq!(ended, [(index, Status::ABORTED_BY_HOST)]);
            }
            assert_eq!(ended.len(), 1);
        }
    }

    fn ask(&mut self, what: u8) {
        let controller = self.controller;
        match what % 8 {
            0 => drop(controller.smart_log()),
            1 => drop(controller.active_namespaces()),
            2 => drop(controller.namespace(1)),
            3 => drop(controller.apst()),
            4 => drop(controller.feature(FeatureId(what))),
            5 => drop(controller.set_feature(FeatureId(what), 1)),
            6 => drop(controller.events()),
            _ => drop(controller.check()),
        }
    }

    /// Drops the queues with all outstanding commands, and makes new ones.
    fn replace(&mut self) -> bool {
        self.group = PollGroup::new(Vec::new());
        self.open.clear();
        match queues(self.controller) {
            Some(group) => {
                self.group = group;
                true
            }
            None => false,
        }
    }

    fn check(&mut self) {
        for (index, queue) in self.group.queues().iter().enumerate() {
            let open = self.open.values().filter(|open| open.queue == index);
            assert_eq!(queue.outstanding(), open.count());
        }
        assert!(self.group.outstanding() == self.open.len());
    }

    /// Waits for all outstanding commands, which have to end, whatever the device does.
    pub fn finish(&mut self) {
        for queue in self.group.queues() {
            queue.ring();
        }
        // Each bad entry of the queues costs a call.
        for _ in 0..1_000 {
            if self.open.is_empty() {
                return;
            }
            self.wait(self.open.len(), None);
            self.check();
        }
        panic!("{} commands never end", self.open.len());
    }
}

/// Checks that a command of `queue` has ended once, and with its own buffer; returns whether that was kept.
fn end(open: &mut HashMap<u64, Open>, queue: usize, done: Completed) -> bool {
    let was = open.remove(&done.tag).expect("it was outstanding");
    assert_eq!(was.queue, queue);
    let buffer = done.buffer.map(|buffer| buffer.iova().0);
    if buffer.is_none() && was.buffer.is_some() {
        assert_eq!(done.status, Status::ABORTED_BY_HOST);
        return true;
    }
    assert_eq!(buffer, was.buffer);
    false
}
