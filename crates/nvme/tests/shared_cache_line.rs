//! A line that the interrupts of several queues are to write.

mod common;

use common::{Seen, Spy};
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, PolicyError, PollGroup};
use joulio_units::Nanos;

struct Pair {
    controller: Controller<Spy>,
    stepper: joulio_emulator::Stepper,
    group: PollGroup<Spy>,
}

fn pair(seen: Seen) -> Pair {
    let (controller, stepper, _) = common::open_stepped(seen, ControllerOptions::default());
    let queues = (0..2).map(|_| controller.create_queue_pair(1).unwrap());
    Pair {
        group: PollGroup::new(queues.collect()),
        controller,
        stepper,
    }
}

impl Pair {
    /// Has the device read a block on queue `index`.
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
fn a_redirected_interrupt_that_writes_nothing_is_told_and_set_back() {
    common::watched(|| {
        let seen = Seen::deaf();
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
        // It is not tried again, and the vectors interrupt as before.
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
fn a_word_that_is_taken_before_anybody_looked_proves_it_too() {
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
