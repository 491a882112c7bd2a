//! A cache line to which the interrupts of several queues should write.

use crate::common::{Seen, Spy};
use joulio_emulator::Options;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, PolicyError, PollGroup};
use joulio_units::Nanos;

/// A group of queues, with their controller.
struct Pair {
    controller: Controller<Spy>,
    stepper: joulio_emulator::Stepper,
    group: PollGroup<Spy>,
}

fn pair(seen: Seen) -> Pair {
    group(seen, 2)
}

fn group(seen: Seen, queues: u16) -> Pair {
    let make = Options {
        queue_pairs: queues,
        vectors: queues + 1,
        ..crate::common::instant()
    };
    let options = ControllerOptions {
        queues,
        ..ControllerOptions::default()
    };
    let (controller, stepper, _) = crate::common::open_stepped_as(&make, seen, options);
    let queues = (0..queues).map(|_| controller.create_queue_pair(1).unwrap());
    Pair {
        group: PollGroup::new(queues.collect()),
        controller,
        stepper,
    }
}

impl Pair {
    /// Submits the read of a block on queue `index` and steps the device.
    fn read(&mut self, index: usize, buffer: DmaBuffer) {
        let namespace = self.controller.namespace(1).unwrap();
        let queue = &mut self.group.queues()[index];
        queue.read(&namespace, 0, 1, buffer, 7).unwrap();
        queue.ring();
        self.stepper.step(Nanos::ZERO);
    }

    fn reap(&mut self) -> DmaBuffer {
        let mut back = None;
        self.group
            .reap(1, None, |_, done| {
                assert!(done.status.is_success());
                back = done.buffer;
            })
            .unwrap();
        back.unwrap()
    }
}

#[test]
fn a_redirected_interrupt_that_writes_nothing_is_reported_and_restored() {
    crate::common::watched(|| {
        let seen = Seen::unredirectable();
        let mut pair = pair(seen.clone());
        let buffer = pair.controller.allocate_buffers(1, 512).unwrap().remove(0);
        assert!(pair.group.shared_cache_line().is_ok());
        assert_eq!(seen.redirected(), 2);
        pair.read(1, buffer);
        let error = loop {
            if let Err(error) = pair.group.shared_cache_line() {
                break error;
            }
        };
        assert!(
            matches!(error, PolicyError::NotRedirected { queue: 2, .. }),
            "{error}"
        );
        assert_eq!(seen.redirected(), 0);
        let buffer = pair.reap();
        // Redirection is not tried again, and the vectors interrupt as before.
        assert!(pair.group.shared_cache_line().is_err());
        for queue in pair.group.queues() {
            queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
        }
        pair.read(1, buffer);
        pair.reap();
        assert_eq!(seen.redirected(), 0);
    });
}

#[test]
fn the_first_completion_of_each_queue_proves_its_redirection() {
    let mut pair = pair(Seen::default());
    let mut buffer = pair.controller.allocate_buffers(1, 512).unwrap().remove(0);
    for index in 0..2 {
        assert!(!pair.group.shared_cache_line().unwrap().is_proven(index));
        pair.read(index, buffer);
        assert!(pair.group.shared_cache_line().unwrap().is_proven(index));
        assert!(pair.group.shared_cache_line().unwrap().take(index));
        buffer = pair.reap();
        assert!(pair.group.shared_cache_line().unwrap().is_proven(index));
    }
}

#[test]
fn queues_that_share_a_word_are_distinguished() {
    for queues in [17, 40] {
        let mut group = group(Seen::default(), queues);
        let mut buffer = group.controller.allocate_buffers(1, 512).unwrap().remove(0);
        // From the last to the first: each later write overwrites the word of the one before.
        for index in (0..usize::from(queues)).rev() {
            let line = group.group.shared_cache_line().unwrap();
            assert!((0..=index).all(|index| !line.is_proven(index)));
            group.read(index, buffer);
            assert!(group.group.shared_cache_line().unwrap().is_proven(index));
            buffer = group.reap();
        }
        // If two have completed in the meantime, the latest is seen, and neither vector is taken for broken.
        let mut second = group.controller.allocate_buffers(1, 512).unwrap();
        group.read(0, buffer);
        group.read(16, second.remove(0));
        let line = group.group.shared_cache_line().unwrap();
        assert!(!line.take(0) && line.take(16));
        let mut found = Vec::new();
        let reaped = group.group.reap(2, None, |index, _| found.push(index));
        assert_eq!((reaped.unwrap(), found), (2, vec![0, 16]));
    }
}

#[test]
fn a_word_that_is_taken_before_the_first_check_proves_it_too() {
    let mut pair = pair(Seen::default());
    let buffer = pair.controller.allocate_buffers(1, 512).unwrap().remove(0);
    let namespace = pair.controller.namespace(1).unwrap();
    let queue = &mut pair.group.queues()[0];
    queue.read(&namespace, 0, 1, buffer, 7).unwrap();
    queue.ring();
    let line = pair.group.shared_cache_line().unwrap();
    pair.stepper.step(Nanos::ZERO);
    assert!(line.take(0) && line.is_proven(0) && !line.is_proven(1));
}
