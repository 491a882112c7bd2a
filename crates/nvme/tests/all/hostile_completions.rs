//! Completions that belong to no command: rejected and counted, never delivered.

use crate::common::{Seen, open};
use crate::forged::forge;
use joulio_device::SharedMemory;
use joulio_nvme::trace::FaultKind;
use joulio_nvme::{Completed, CompletionFault, Controller, Namespace, QueuePair};
use joulio_units::Nanos;
use proptest::prelude::*;
use std::sync::Arc;

const DEPTH: usize = 4;

struct Fixture {
    stepper: joulio_emulator::Stepper,
    namespace: Namespace,
    queue: QueuePair<crate::common::Spy>,
    memory: Arc<SharedMemory>,
    controller: Controller<crate::common::Spy>,
}

fn fixture() -> Fixture {
    let (controller, stepper, seen): (_, _, Seen) = open();
    let namespace = controller.namespace(1).unwrap();
    let queue = controller.create_queue_pair(DEPTH).unwrap();
    let memory = seen.last_memory();
    Fixture {
        stepper,
        namespace,
        queue,
        memory,
        controller,
    }
}

impl Fixture {
    /// Writes a completion into slot `index` of the queue, as the controller would.
    fn forge(&self, index: usize, sqid: u16, cid: u16, phase: bool) {
        forge(&self.memory, index, 0, (sqid, cid), phase.into());
    }

    fn submit(&mut self, tag: u64) {
        let buffer = self.controller.allocate_buffers(1, 512).unwrap().remove(0);
        self.queue
            .read(&self.namespace, tag, 1, buffer, tag)
            .unwrap();
        self.queue.ring();
    }

    fn reap(&mut self) -> (Result<usize, CompletionFault>, Vec<u64>) {
        let mut tags = Vec::new();
        let result = self
            .queue
            .reap(usize::MAX, |done: Completed| tags.push(done.tag));
        (result, tags)
    }

    /// Returns the identifier of the command in slot `index` of the submission queue.
    fn cid(&self, index: usize) -> u16 {
        (self.memory.load_u32(index * 64) >> 16) as u16
    }
}

/// Returns the kind of the fault with which a call failed.
fn kind(result: Result<usize, CompletionFault>) -> Result<usize, FaultKind> {
    result.map_err(|fault| fault.kind)
}

#[test]
fn an_unknown_completion_is_rejected_not_delivered() {
    let mut fixture = fixture();
    fixture.submit(7);
    fixture.forge(0, 1, 0x0fff, true);
    let (result, tags) = fixture.reap();
    assert_eq!(kind(result), Err(FaultKind::Unknown));
    assert!(tags.is_empty());
    assert_eq!(fixture.queue.outstanding(), 1);
    assert_eq!(fixture.queue.faults().unknown, 1);
}

#[test]
fn a_completion_of_another_queue_is_rejected() {
    let mut fixture = fixture();
    fixture.submit(7);
    let cid = fixture.cid(0);
    fixture.forge(0, 2, cid, true);
    assert_eq!(kind(fixture.reap().0), Err(FaultKind::Unknown));
    assert_eq!(fixture.queue.outstanding(), 1);
}

#[test]
fn a_doubled_completion_is_rejected_and_the_next_io_is_well() {
    let mut fixture = fixture();
    fixture.submit(7);
    let cid = fixture.cid(0);
    fixture.stepper.step(Nanos::ZERO);
    fixture.forge(1, 1, cid, true);
    let (result, tags) = fixture.reap();
    assert_eq!(tags, [7]);
    assert_eq!(kind(result), Err(FaultKind::Doubled));
    assert_eq!(
        (fixture.queue.outstanding(), fixture.queue.faults().doubled),
        (0, 1)
    );
}

#[test]
fn a_stale_completion_is_rejected_not_delivered() {
    let mut fixture = fixture();
    fixture.submit(1);
    let old = fixture.cid(0);
    fixture.stepper.step(Nanos::ZERO);
    assert_eq!(fixture.reap().1, [1]);
    fixture.submit(2);
    fixture.forge(1, 1, old, true);
    let (result, tags) = fixture.reap();
    assert_eq!((kind(result), tags), (Err(FaultKind::Stale), vec![]));
    assert_eq!(fixture.queue.outstanding(), 1);
}

proptest! {
    #[test]
    fn no_completion_whatever_delivers_more_than_was_requested(
        forged in proptest::collection::vec((0u16..4, any::<u16>(), any::<bool>()), 0..40),
    ) {
        let mut fixture = fixture();
        for tag in 0..DEPTH as u64 {
            fixture.submit(tag);
        }
        let mut delivered = Vec::new();
        for (at, (sqid, cid, phase)) in forged.into_iter().enumerate() {
            fixture.forge(at % (DEPTH + 1), sqid, cid & 0xf00f, phase);
            delivered.extend(fixture.reap().1);
        }
        delivered.sort_unstable();
        let all = delivered.len();
        delivered.dedup();
        prop_assert_eq!(delivered.len(), all);
        prop_assert_eq!(fixture.queue.outstanding() + all, DEPTH);
    }
}
