//! A reactor runs the work of all tenants on one core, and sleeps when there is none.

#[path = "../../examples/reactor.rs"]
mod example;

use crate::common::{instant, watched};
use joulio_emulator::{EmulatedDevice, Fault, Stepper};
use joulio_nvme::wait::{AnyPolicy, Outstanding, Policy, Slept, Step, StepKind, StepSet, now};
use joulio_nvme::{
    Completed, Controller, ControllerOptions, DmaBuffer, Namespace, NextCall, NvmeError, Poller,
    PollerQueues, QueuePair, Reactor,
};
use joulio_units::Nanos;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

const BLOCKS: u64 = 200;

#[test]
fn two_tenants_and_a_timer_each_get_their_work_done() {
    watched(|| {
        for policy in [|| AnyPolicy::INTERRUPT, || AnyPolicy::POLL] {
            let done = example::run(BLOCKS, policy).unwrap();
            assert_eq!((done.verified, done.wrong), (2 * BLOCKS, 0));
            let counters = done.reactor;
            // Each wait for commands ends by a completion, or by the timer.
            assert!(counters.calls >= counters.timers && counters.timers >= done.ticks);
            assert!(counters.waits > 0 && counters.wakes == 0, "{counters:?}");
        }
    });
}

#[test]
fn tenants_that_block_leave_the_core_to_the_kernel() {
    watched(|| {
        let waits = example::run(BLOCKS, || AnyPolicy::INTERRUPT).unwrap().waits;
        assert!(waits.blocks > 0, "{waits:?}");
        assert_eq!((waits.sleeps, waits.pauses), (0, 0), "{waits:?}");
        let waits = example::run(BLOCKS, || AnyPolicy::POLL).unwrap().waits;
        assert_eq!((waits.interrupts, waits.arms), (0, 0), "{waits:?}");
    });
}

/// Counts its calls and returns what `next` returns.
struct Calls<F> {
    calls: u64,
    next: F,
}

impl<F: FnMut(u64) -> NextCall> Poller<EmulatedDevice> for Calls<F> {
    fn completed(&mut self, _: usize, _: Completed) {
        unreachable!("it has no queues");
    }
    fn poll(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        assert!(queues.is_empty());
        self.calls += 1;
        (self.next)(self.calls)
    }
}

#[test]
fn a_poller_that_is_busy_is_called_again_without_a_wait() {
    let mut reactor = Reactor::new().unwrap();
    let next = |calls: u64| match calls {
        100 => NextCall::Done,
        _ => NextCall::Now,
    };
    let id = reactor.add(Calls { calls: 0, next }, Vec::new());
    reactor.run().unwrap();
    assert_eq!(reactor.poller(id).calls, 100);
    let counters = reactor.counters();
    assert_eq!((counters.waits, counters.idle_waits), (0, 0));
}

#[test]
fn a_reactor_that_nothing_can_call_returns() {
    let mut reactor = Reactor::new().unwrap();
    let next = |_: u64| NextCall::OnEvent;
    let id = reactor.add(Calls { calls: 0, next }, Vec::new());
    reactor.run().unwrap();
    assert_eq!(reactor.poller(id).calls, 1);
}

#[test]
fn a_timer_is_called_at_its_time_and_the_core_blocks_until_then() {
    watched(|| {
        let (mut due, mut early) = (now(), 0);
        let next = |calls: u64| {
            early += u32::from(now() < due);
            due = now() + Nanos::from_millis(2);
            match calls {
                // The kernel wakes the core for one of them, and the core itself wakes for the other.
                1..=3 => NextCall::At(due),
                4..=6 => NextCall::Promptly(due),
                _ => NextCall::Done,
            }
        };
        let mut reactor = Reactor::new().unwrap();
        reactor.add(Calls { calls: 0, next }, Vec::new());
        reactor.run().unwrap();
        let (counters, waits) = (reactor.counters(), reactor.group().counters());
        drop(reactor);
        assert_eq!((counters.timers, counters.calls), (6, 7));
        assert!(waits.blocks >= 3 && waits.sleeps == 0, "{waits:?}");
        assert_eq!(early, 0, "calls before their time");
    });
}

/// A tenant that another thread tells how many blocks to read.
struct Told {
    messages: Receiver<u64>,
    namespace: Namespace,
    buffer: Option<DmaBuffer>,
    wanted: u64,
    read: u64,
}

impl Poller<EmulatedDevice> for Told {
    fn completed(&mut self, _: usize, completed: Completed) {
        assert!(completed.status.is_success());
        self.read += 1;
        self.buffer = completed.buffer;
    }
    fn poll(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        self.wanted += self.messages.try_iter().sum::<u64>();
        if self.read < self.wanted
            && let Some(buffer) = self.buffer.take()
        {
            queues[0].read(&self.namespace, 0, 1, buffer, 0).unwrap();
            queues[0].ring();
        }
        match self.read {
            30.. => NextCall::Done,
            _ => NextCall::OnEvent,
        }
    }
}

#[test]
fn a_wake_of_another_thread_reaches_a_core_however_it_waits() {
    watched(|| {
        for policy in [|| AnyPolicy::INTERRUPT, || AnyPolicy::POLL] {
            let device = EmulatedDevice::spawn(&instant()).unwrap();
            let controller = Controller::open(device, ControllerOptions::default()).unwrap();
            let mut queue = controller.create_queue_pair(1).unwrap();
            queue.set_policy(policy()).unwrap();
            let (sender, messages) = channel();
            let told = Told {
                messages,
                namespace: controller.namespace(1).unwrap(),
                buffer: controller.allocate_buffers(1, 512).unwrap().pop(),
                wanted: 0,
                read: 0,
            };
            let mut reactor = Reactor::new().unwrap();
            let id = reactor.add(told, vec![queue]);
            let waker = reactor.waker();
            let telling = thread::spawn(move || {
                for _ in 0..30 {
                    sender.send(1).unwrap();
                    waker.wake();
                }
            });
            reactor.run().unwrap();
            telling.join().unwrap();
            assert_eq!(reactor.poller(id).read, 30);
        }
    });
}

#[test]
fn a_reactor_whose_last_waker_is_dropped_returns() {
    watched(|| {
        let (called, calls) = channel();
        let next = move |_| {
            called.send(()).unwrap();
            NextCall::OnEvent
        };
        let mut reactor = Reactor::new().unwrap();
        reactor.add(Calls { calls: 0, next }, Vec::new());
        let waker = reactor.waker();
        let waking = thread::spawn(move || {
            calls.recv().unwrap();
            waker.wake();
            // The wake-up has been taken: only the end of the handle is left to come.
            calls.recv().unwrap();
            drop(waker);
            calls
        });
        reactor.run().unwrap();
        assert!(reactor.counters().wakes > 0);
        drop(waking.join().unwrap());
    });
}

/// A tenant whose device completes nothing until another poller steps it.
struct Stuck {
    namespace: Namespace,
    buffer: Option<DmaBuffer>,
    completed: bool,
}

enum Tenant {
    Stuck(Stuck),
    Timer(Stepper, Nanos, u32),
    Reader(Reader),
}

/// A tenant that reads a number of blocks, one after the other.
struct Reader {
    namespace: Namespace,
    buffer: Option<DmaBuffer>,
    left: u32,
    /// Device of another tenant, which is stepped when this tenant is done.
    last: Option<Stepper>,
}

impl Stuck {
    fn call(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        if let Some(buffer) = self.buffer.take() {
            queues[0].read(&self.namespace, 0, 1, buffer, 0).unwrap();
            queues[0].ring();
        }
        match self.completed {
            true => NextCall::Done,
            false => NextCall::OnEvent,
        }
    }
}

impl Reader {
    fn call(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        if self.left == 0 {
            if let Some(stepper) = self.last.take() {
                stepper.step(Nanos::ZERO);
            }
            return NextCall::Done;
        }
        if let Some(buffer) = self.buffer.take() {
            queues[0].read(&self.namespace, 0, 1, buffer, 0).unwrap();
            queues[0].ring();
        }
        NextCall::OnEvent
    }
}

impl Poller<EmulatedDevice> for Tenant {
    fn completed(&mut self, _: usize, completed: Completed) {
        match self {
            Tenant::Stuck(stuck) => stuck.completed = true,
            Tenant::Timer(..) => unreachable!("it has no queues"),
            Tenant::Reader(reader) => {
                assert!(completed.status.is_success());
                reader.left -= 1;
                reader.buffer = completed.buffer;
            }
        }
    }
    fn poll(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        match self {
            Tenant::Stuck(stuck) => stuck.call(queues),
            Tenant::Timer(stepper, due, calls) => {
                *calls += 1;
                if *calls > 3 {
                    stepper.step(Nanos::ZERO);
                    return NextCall::Done;
                }
                *due += Nanos::from_millis(1);
                NextCall::Promptly(*due)
            }
            Tenant::Reader(reader) => reader.call(queues),
        }
    }
}

/// A controller, its queue, and a tenant that uses them.
type Opened = (
    Controller<EmulatedDevice>,
    Tenant,
    QueuePair<EmulatedDevice>,
);

fn open(
    device: EmulatedDevice,
    policy: AnyPolicy,
    tenant: impl FnOnce(Namespace, Option<DmaBuffer>) -> Tenant,
) -> Opened {
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    queue.set_policy(policy).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let buffer = controller.allocate_buffers(1, 512).unwrap().pop();
    (controller, tenant(namespace, buffer), queue)
}

fn stuck(device: EmulatedDevice, policy: AnyPolicy) -> Opened {
    open(device, policy, |namespace, buffer| {
        Tenant::Stuck(Stuck {
            namespace,
            buffer,
            completed: false,
        })
    })
}

fn reader(policy: AnyPolicy, left: u32, last: Option<Stepper>) -> Opened {
    let device = EmulatedDevice::spawn(&instant()).unwrap();
    open(device, policy, |namespace, buffer| {
        Tenant::Reader(Reader {
            namespace,
            buffer,
            left,
            last,
        })
    })
}

#[test]
fn no_queue_of_a_reactor_moves_to_the_place_of_another() {
    let (device, _stepper) = EmulatedDevice::stepped(&instant()).unwrap();
    let (_controller, stuck, queue) = stuck(device, AnyPolicy::POLL);
    let mut reactor = Reactor::new().unwrap();
    reactor.add(stuck, vec![queue]);
    let remove = AssertUnwindSafe(|| reactor.group().remove(0).map(drop));
    assert!(catch_unwind(remove).is_err());
    assert_eq!(reactor.group().queues().len(), 1);
}

#[test]
fn a_poller_that_panics_leaves_the_others_to_be_run_again() {
    watched(|| {
        let mut reactor = Reactor::new().unwrap();
        let next: [fn(u64) -> NextCall; 3] = [
            |_| NextCall::Done,
            |calls| match calls {
                1 => panic!("of the poller"),
                _ => NextCall::Done,
            },
            |_| NextCall::Done,
        ];
        let ids = next.map(|next| reactor.add(Calls { calls: 0, next }, Vec::new()));
        assert!(catch_unwind(AssertUnwindSafe(|| reactor.run())).is_err());
        // The other two are done, and nothing calls this one any more.
        reactor.run().unwrap();
        assert_eq!(ids.map(|id| reactor.poller(id).calls), [1, 1, 1]);
    });
}

#[test]
fn a_tenant_whose_device_does_not_answer_holds_up_no_other() {
    watched(|| {
        for policy in [|| AnyPolicy::INTERRUPT, || AnyPolicy::POLL] {
            let (device, stepper) = EmulatedDevice::stepped(&instant()).unwrap();
            let (_silent, stuck, queue) = stuck(device, policy());
            let mut reactor = Reactor::new().unwrap();
            let silent = reactor.add(stuck, vec![queue]);
            let (_other, reader, queue) = reader(policy(), 50, Some(stepper));
            let other = reactor.add(reader, vec![queue]);
            reactor.run().unwrap();
            // In that order: one is stepped when the other has read all its blocks.
            assert!(matches!(reactor.poller(other), Tenant::Reader(r) if r.left == 0));
            assert!(matches!(reactor.poller(silent), Tenant::Stuck(s) if s.completed));
        }
    });
}

#[test]
fn a_controller_that_fails_ends_the_run_once_and_the_others_go_on() {
    watched(|| {
        for policy in [|| AnyPolicy::INTERRUPT, || AnyPolicy::POLL] {
            let (device, stepper) = EmulatedDevice::stepped(&instant()).unwrap();
            let (_failing, stuck, queue) = stuck(device, policy());
            let mut reactor = Reactor::new().unwrap();
            let failed = reactor.add(stuck, vec![queue]);
            let (_other, reader, queue) = reader(policy(), 50, None);
            let other = reactor.add(reader, vec![queue]);
            stepper.inject(Fault::Removed);
            let error = reactor.run().unwrap_err();
            assert!(matches!(error, NvmeError::Removed { .. }), "{error}");
            // Its command was returned to it.
            reactor.run().unwrap();
            assert!(matches!(reactor.poller(failed), Tenant::Stuck(s) if s.completed));
            assert!(matches!(reactor.poller(other), Tenant::Reader(r) if r.left == 0));
        }
    });
}

#[test]
fn a_timer_comes_while_commands_are_outstanding() {
    watched(|| {
        for policy in [|| AnyPolicy::INTERRUPT, || AnyPolicy::POLL] {
            let (device, stepper) = EmulatedDevice::stepped(&instant()).unwrap();
            let (_controller, stuck, queue) = stuck(device, policy());
            let mut reactor = Reactor::new().unwrap();
            reactor.add(stuck, vec![queue]);
            reactor.add(Tenant::Timer(stepper, now(), 0), Vec::new());
            reactor.run().unwrap();
            let counters = reactor.counters();
            assert_eq!(counters.timers, 3);
            assert!(counters.waits >= 3, "{counters:?}");
        }
    });
}

/// A policy that announces each of its sleeps, and counts those that lasted until their time.
struct Sleeps {
    announced: Sender<()>,
    until: Nanos,
    whole: Arc<AtomicU32>,
}

impl Policy for Sleeps {
    fn name(&self) -> Cow<'static, str> {
        "sleeps".into()
    }
    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Sleep)
    }
    fn timed(&self) -> bool {
        true
    }
    fn woke(&mut self, _: Slept, at: Nanos) {
        let whole = u32::from(at >= self.until);
        self.whole.fetch_add(whole, Ordering::Relaxed);
    }
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        self.until = now + Nanos::from_millis(30);
        self.announced.send(()).unwrap();
        Step::sleep_until(self.until)
    }
}

/// A tenant whose device completes nothing until the tenant was called [`WAKES`] times.
struct Called {
    stuck: Stuck,
    stepper: Stepper,
    calls: u32,
}

const WAKES: u32 = 20;

impl Poller<EmulatedDevice> for Called {
    fn completed(&mut self, _: usize, completed: Completed) {
        assert!(completed.status.is_success());
        self.stuck.completed = true;
    }
    fn poll(&mut self, queues: &mut PollerQueues<'_, EmulatedDevice>) -> NextCall {
        let next = self.stuck.call(queues);
        self.calls += 1;
        if self.calls == WAKES {
            self.stepper.step(Nanos::ZERO);
        }
        next
    }
}

#[test]
fn a_wake_of_another_thread_ends_a_sleep() {
    watched(|| {
        let (announced, sleeps) = channel();
        let whole = Arc::new(AtomicU32::new(0));
        let policy = Sleeps {
            announced,
            until: Nanos::ZERO,
            whole: Arc::clone(&whole),
        };
        let (device, stepper) = EmulatedDevice::stepped(&instant()).unwrap();
        let policy = AnyPolicy::Other(Box::new(policy));
        let (_controller, tenant, queue) = stuck(device, policy);
        let Tenant::Stuck(stuck) = tenant else {
            unreachable!("made so");
        };
        let called = Called {
            stuck,
            stepper,
            calls: 0,
        };
        let mut reactor = Reactor::new().unwrap();
        let id = reactor.add(called, vec![queue]);
        let waker = reactor.waker();
        let waking = thread::spawn(move || {
            // The policy is asked after the last look for a wake before the sleep.
            for () in sleeps {
                waker.wake();
            }
        });
        reactor.run().unwrap();
        let (waits, called) = (reactor.group().counters(), reactor.poller(id));
        assert!(called.stuck.completed && called.calls >= WAKES);
        assert_eq!((waits.blocks, waits.arms, waits.interrupts), (0, 0, 0));
        drop(reactor);
        waking.join().unwrap();
        // Without the wakes at least two of three would: a check of the queues, which ends one too, comes each 100 ms.
        assert!(whole.load(Ordering::Relaxed) < WAKES / 2);
    });
}
