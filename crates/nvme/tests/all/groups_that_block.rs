//! Groups of several queues, with any calls of the program between two waits: no wake-up is lost, and every command
//! ends once.

use joulio_emulator::EmulatedDevice;
use joulio_nvme::spec::Status;
use joulio_nvme::wait::{AnyPolicy, SkiRental, now};
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, Namespace, PollGroup};
use joulio_units::Nanos;
use proptest::prelude::*;

/// Number of queues of the group, divided among two controllers.
const QUEUES: usize = 7;
/// Depth of each queue.
const DEPTH: usize = 4;

/// A call that the program makes.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// Submits reads on a queue.
    Submit { queue: usize, reads: usize },
    /// Reaps at least `min` of the commands in flight.
    Reap { min: usize },
    /// Reaps a queue by itself, bypassing the group.
    ReapQueue { queue: usize },
    /// Sets another policy for a queue.
    Policy { queue: usize, policy: usize },
    /// Waits for a moment, whatever is in flight.
    Wait,
    /// Removes the first queue and adds it again as the last.
    Move,
    /// Resets a controller.
    Reset { controller: usize },
}

fn calls(resets: u32) -> impl Strategy<Value = Vec<Call>> {
    let queue = 0..QUEUES;
    let call = prop_oneof![
        8 => (queue.clone(), 1..=DEPTH).prop_map(|(queue, reads)| Call::Submit { queue, reads }),
        8 => (1..6_usize).prop_map(|min| Call::Reap { min }),
        2 => queue.clone().prop_map(|queue| Call::ReapQueue { queue }),
        2 => (queue, 0..3_usize).prop_map(|(queue, policy)| Call::Policy { queue, policy }),
        1 => Just(Call::Wait),
        1 => Just(Call::Move),
        resets => (0..2_usize).prop_map(|controller| Call::Reset { controller }),
    ];
    prop::collection::vec(call, 1..80)
}

fn policy(number: usize) -> AnyPolicy {
    match number {
        0 => AnyPolicy::INTERRUPT,
        1 => AnyPolicy::POLL,
        _ => AnyPolicy::SkiRental(SkiRental::new(Nanos::from_micros(1))),
    }
}

/// A group, its controllers, and the buffers of its commands.
struct Caller {
    group: PollGroup<EmulatedDevice>,
    controllers: Vec<Controller<EmulatedDevice>>,
    namespaces: Vec<Namespace>,
    /// Index of the controller of each queue, in the group's order.
    owners: Vec<usize>,
    /// Free buffers of each controller.
    free: Vec<Vec<DmaBuffer>>,
    submitted: u64,
    ended: u64,
    aborted: u64,
}

impl Caller {
    fn new() -> Caller {
        // One controller takes a millisecond, so that its commands stay in flight while those of the other
        // complete.
        let controllers: Vec<_> = [0.0, 1_000.0]
            .into_iter()
            .map(|us| {
                let mut make = crate::common::instant();
                make.profile.service.read[0].us.value = us;
                let device = EmulatedDevice::spawn(&make).unwrap();
                let options = ControllerOptions {
                    queues: QUEUES as u16,
                    ..ControllerOptions::default()
                };
                Controller::open(device, options).unwrap()
            })
            .collect();
        let owners: Vec<_> = (0..QUEUES).map(|queue| queue % 2).collect();
        let queues = owners.iter().map(|&owner| {
            let mut queue = controllers[owner].create_queue_pair(DEPTH).unwrap();
            queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
            queue
        });
        let group = PollGroup::new(queues.collect());
        let namespaces = controllers
            .iter()
            .map(|it| it.namespace(1).unwrap())
            .collect();
        let free = controllers.iter();
        let free = free.map(|it| it.allocate_buffers(QUEUES * DEPTH, 512).unwrap());
        Caller {
            group,
            free: free.collect(),
            controllers,
            namespaces,
            owners,
            submitted: 0,
            ended: 0,
            aborted: 0,
        }
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Submit { queue, reads } => {
                let owner = self.owners[queue];
                let namespace = self.namespaces[owner];
                for _ in 0..reads {
                    let buffer = self.free[owner].pop().unwrap();
                    let pair = &mut self.group.queues()[queue];
                    match pair.read(&namespace, 0, 1, buffer, owner as u64) {
                        Ok(()) => self.submitted += 1,
                        Err(full) => self.free[owner].push(full.buffer),
                    }
                }
                self.group.queues()[queue].ring();
            }
            Call::Reap { min } => self.reap(min.min(self.group.outstanding()), None),
            Call::ReapQueue { queue } => {
                let (mut ended, mut aborted) = (0, 0);
                let free = &mut self.free;
                let reaped = self.group.queues()[queue].reap(DEPTH, |done| {
                    ended += 1;
                    aborted += u64::from(done.status == Status::ABORTED_BY_HOST);
                    free[done.tag as usize].extend(done.buffer);
                });
                reaped.unwrap();
                (self.ended, self.aborted) = (self.ended + ended, self.aborted + aborted);
            }
            Call::Policy {
                queue,
                policy: number,
            } => {
                self.group.queues()[queue]
                    .set_policy(policy(number))
                    .unwrap();
            }
            Call::Wait => self.reap(usize::MAX, Some(now() + Nanos::from_micros(50))),
            Call::Move => {
                let queue = self.group.remove(0).unwrap();
                self.group.push(queue);
                self.owners.rotate_left(1);
            }
            Call::Reset { controller } => self.controllers[controller].reset().unwrap(),
        }
    }

    fn reap(&mut self, min: usize, deadline: Option<Nanos>) {
        let (mut ended, mut aborted) = (0, 0);
        let free = &mut self.free;
        let reaped = self.group.reap(min, deadline, |_, done| {
            ended += 1;
            let by_reset = done.status == Status::ABORTED_BY_HOST;
            assert!(done.status.is_success() || by_reset, "{}", done.status);
            aborted += u64::from(by_reset);
            free[done.tag as usize].extend(done.buffer);
        });
        assert_eq!(reaped.unwrap(), ended);
        assert!(ended >= min || deadline.is_some());
        self.ended += ended as u64;
        self.aborted += aborted;
    }
}

/// A spin for one queue's command masks the vector of another that blocks: the next block unmasks it again.
#[test]
fn a_block_after_a_spin_is_ended_by_its_interrupt() {
    let mut caller = Caller::new();
    for queue in (0..QUEUES).step_by(2) {
        caller.call(Call::Policy { queue, policy: 1 });
    }
    let submit = |queue| Call::Submit { queue, reads: 1 };
    for _ in 0..20 {
        caller.call(submit(1));
        caller.call(Call::Wait);
        caller.call(submit(0));
        caller.call(Call::Reap { min: 1 });
        caller.call(Call::Reap { min: 1 });
        assert_eq!(caller.ended, caller.submitted);
    }
    let counters = caller.group.counters();
    assert_eq!(counters.lost_interrupts, 0, "{counters:?}");
}

/// A policy that polls masks the vector. A policy that blocks and replaces it unmasks the vector, although the
/// queue has had a command in flight all the time.
#[test]
fn a_block_after_another_policy_is_ended_by_its_interrupt() {
    let mut caller = Caller::new();
    for _ in 0..20 {
        caller.call(Call::Submit { queue: 1, reads: 1 });
        caller.call(Call::Wait);
        caller.call(Call::Policy {
            queue: 1,
            policy: 1,
        });
        caller.call(Call::Policy {
            queue: 1,
            policy: 0,
        });
        caller.call(Call::Reap { min: 1 });
        assert_eq!(caller.ended, caller.submitted);
    }
    let counters = caller.group.counters();
    assert_eq!(counters.lost_interrupts, 0, "{counters:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_wake_up_is_lost_whatever_the_caller_does(calls in calls(0)) {
        let mut caller = Caller::new();
        calls.iter().for_each(|&call| caller.call(call));
        caller.reap(caller.group.outstanding(), None);
        prop_assert_eq!(caller.ended, caller.submitted);
        let counters = caller.group.counters();
        prop_assert_eq!((counters.lost_interrupts, caller.aborted), (0, 0), "{:?}", counters);
    }

    #[test]
    fn every_command_ends_once_whatever_is_reset(calls in calls(2)) {
        let mut caller = Caller::new();
        calls.iter().for_each(|&call| caller.call(call));
        caller.reap(caller.group.outstanding(), None);
        prop_assert_eq!(caller.ended, caller.submitted);
        prop_assert_eq!(caller.free.iter().map(Vec::len).sum::<usize>(), 2 * QUEUES * DEPTH);
    }
}
