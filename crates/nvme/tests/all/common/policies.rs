//! Every policy, in waits that a test counts.

use super::Spy;
use joulio_emulator::Stepper;
use joulio_nvme::wait::{AnyPolicy, Hybrid, Policy, PollPause, SkiRental, StepKind, Waiter};
use joulio_nvme::{Controller, PollGroup};
use joulio_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Returns all policies, some of them with several parameters.
fn all() -> Vec<AnyPolicy> {
    let micros = Nanos::from_micros;
    let mut all = AnyPolicy::all();
    all.extend([
        AnyPolicy::PollPause(PollPause::new(0)),
        AnyPolicy::Hybrid(Hybrid::fixed(micros(4))),
        AnyPolicy::SkiRental(SkiRental::new(micros(0))),
        AnyPolicy::SkiRental(SkiRental::new(micros(20))),
    ]);
    all
}

/// Returns why `policy` cannot run here; `None`: it can.
fn lacks(policy: &AnyPolicy) -> Option<String> {
    if policy.asks_others() {
        return Some("a queue does not know which threads are runnable".into());
    }
    let waiter = Waiter::new();
    Some(match policy.steps().missing_in(waiter.can())? {
        // They need a real device, and a waiter has them only while it is attached to one.
        StepKind::UserInterrupt => "the emulated device raises no user interrupts".into(),
        kind => waiter.lacks(kind),
    })
}

/// Returns all policies that run here.
pub fn at_hand() -> Vec<AnyPolicy> {
    let mut all = all();
    all.retain(|policy| lacks(policy).is_none());
    all
}

/// Prints the names of the other policies, each with the reason.
pub fn print_lacking() {
    for policy in all() {
        if let Some(why) = lacks(&policy) {
            println!("not counted: {}: {why}", policy.name());
        }
    }
}

/// A group whose waits are tested, with its controller.
pub struct Waits {
    controller: Controller<Spy>,
    stepper: Stepper,
    /// The group with its queues, which have the same policy.
    pub group: PollGroup<Spy>,
    /// Number of queues with I/Os.
    busy: usize,
}

impl Waits {
    /// Returns queues with policy `which` of [`at_hand`]; the first `busy` of them have I/Os.
    pub fn of(which: usize, queues: usize, busy: usize) -> Waits {
        let (controller, stepper, _) = super::open();
        let members = (0..queues).map(|_| {
            let mut queue = controller.create_queue_pair(1).unwrap();
            queue.set_policy(at_hand().swap_remove(which)).unwrap();
            queue
        });
        Waits {
            group: PollGroup::new(members.collect()),
            controller,
            stepper,
            busy,
        }
    }

    /// Calls `each` around every one of `rounds` rounds, with one I/O at a time on each busy queue. Another thread
    /// steps the device, so that the core has to wait.
    pub fn run(
        &mut self,
        rounds: usize,
        mut each: impl FnMut(usize, &mut PollGroup<Spy>, &mut dyn FnMut(&mut PollGroup<Spy>)),
    ) {
        let namespace = self.controller.namespace(1).unwrap();
        let busy = self.busy;
        let mut buffers = self.controller.allocate_buffers(busy, 512).unwrap();
        let stop = AtomicBool::new(false);
        let stepper = &self.stepper;
        std::thread::scope(|scope| {
            let stepping = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    stepper.step(Nanos::ZERO);
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            let mut io = |group: &mut PollGroup<Spy>| {
                for queue in group.queues().iter_mut().take(busy) {
                    let buffer = buffers.pop().unwrap();
                    queue.read(&namespace, 0, 1, buffer, 0).unwrap();
                    queue.ring();
                }
                group
                    .reap(busy, None, |_, done| buffers.extend(done.buffer))
                    .unwrap();
            };
            for round in 0..rounds {
                each(round, &mut self.group, &mut io);
            }
            stop.store(true, Ordering::Relaxed);
            stepping.join().unwrap();
        });
    }
}
