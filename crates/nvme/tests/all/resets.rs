//! Resets while commands of this thread and of others are in flight.

use crate::common::{Seen, Spy, open_spawned, watched};
use joulio_emulator::Fault;
use joulio_nvme::spec::Status;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, Faults, Namespace, NvmeError, PollGroup};
use rustix::thread::gettid;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

fn open(faults: &str, retries: u8) -> (Controller<Spy>, Namespace) {
    let options = ControllerOptions {
        queues: 4,
        retries,
        ..ControllerOptions::default()
    };
    let (controller, _) = open_spawned(faults, Seen::default(), options);
    let namespace = controller.namespace(1).unwrap();
    (controller, namespace)
}

fn group(controller: &Controller<Spy>, policy: AnyPolicy) -> PollGroup<Spy> {
    let mut queue = controller.create_queue_pair(8).unwrap();
    queue.set_policy(policy).unwrap();
    PollGroup::new(vec![queue])
}

/// Writes `ios` reads to a queue, without ringing the doorbell.
fn submit(
    controller: &Controller<Spy>,
    namespace: &Namespace,
    group: &mut PollGroup<Spy>,
    ios: u64,
) {
    let buffers = controller.allocate_buffers(ios as usize, 512).unwrap();
    for (tag, buffer) in (0..).zip(buffers) {
        group.queues()[0]
            .read(namespace, tag, 1, buffer, tag)
            .unwrap();
    }
}

/// Waits for all of them, each once and with its buffer; returns their statuses.
fn all_of(group: &mut PollGroup<Spy>, ios: u64) -> Vec<Status> {
    let mut ended = Vec::new();
    let reaped = group.reap(ios as usize, None, |_, done| {
        assert!(done.buffer.is_some(), "a buffer was lost");
        ended.push((done.tag, done.status));
    });
    assert_eq!(reaped.unwrap(), ios as usize);
    assert_eq!(group.outstanding(), 0);
    ended.sort_unstable_by_key(|&(tag, _)| tag);
    assert!(ended.iter().map(|&(tag, _)| tag).eq(0..ios), "{ended:?}");
    ended.into_iter().map(|(_, status)| status).collect()
}

fn faults_of(controller: &Controller<Spy>) -> joulio_emulator::Faulted {
    controller.device().emulated().activity().faults
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns true if a thread of this process waits for an interrupt, in ppoll (x86-64); also if the kernel does not
/// report it.
fn is_blocked(thread: i32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall"));
    call.map_or(true, |call| call.is_empty() || call.starts_with("271 "))
}

/// Resets the controller under six commands that will never complete, on a queue that is polled and on one on which
/// another thread is blocked, beside a queue without commands.
fn under_outstanding_commands(retries: u8, status: Status, expected: (Faults, Faults)) {
    let (controller, namespace) = open("drop@#1,drop@#2,drop@#3,drop@#4,drop@#5,drop@#6", retries);
    let mut polled = group(&controller, AnyPolicy::POLL);
    let mut idle = group(&controller, AnyPolicy::INTERRUPT);
    let mut blocked = group(&controller, AnyPolicy::INTERRUPT);
    submit(&controller, &namespace, &mut polled, 2);
    polled.queues()[0].ring();
    let thread = AtomicI32::new(0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            thread.store(gettid().as_raw_pid(), Ordering::Relaxed);
            submit(&controller, &namespace, &mut blocked, 4);
            blocked.queues()[0].ring();
            all_of(&mut blocked, 4)
        });
        wait_until(|| faults_of(&controller).dropped == 6);
        wait_until(|| is_blocked(thread.load(Ordering::Relaxed)));
        controller.reset().unwrap();
        assert_eq!(waiter.join().unwrap(), [status; 4]);
    });
    assert_eq!(all_of(&mut polled, 2), [status; 2]);
    assert!(blocked.counters().blocks > 0);
    assert_eq!((polled.faults(), blocked.faults()), expected);
    // A queue with nothing in flight has lost nothing, and can be used again.
    submit(&controller, &namespace, &mut idle, 3);
    idle.queues()[0].ring();
    assert_eq!(all_of(&mut idle, 3), [Status::SUCCESS; 3]);
    let resets = 1;
    let once = Faults {
        resets,
        ..Faults::default()
    };
    assert_eq!((idle.faults(), controller.resets()), (once, 1));
}

#[test]
fn a_reset_ends_the_commands_of_all_queues_and_wakes_who_is_blocked() {
    let of = |ended_by_reset| Faults {
        resets: 1,
        ended_by_reset,
        ..Faults::default()
    };
    let expected = (of(2), of(4));
    watched(move || under_outstanding_commands(0, Status::ABORTED_BY_HOST, expected));
}

#[test]
fn with_retries_a_reset_ends_nothing() {
    let of = |retries| Faults {
        resets: 1,
        retries,
        ..Faults::default()
    };
    let expected = (of(2), of(4));
    watched(move || under_outstanding_commands(1, Status::SUCCESS, expected));
}

#[test]
fn commands_that_were_not_rung_for_are_sent_after_the_reset() {
    watched(|| {
        let (controller, namespace) = open("drop@#1,drop@#2", 0);
        let mut group = group(&controller, AnyPolicy::POLL);
        let buffers = controller.allocate_buffers(5, 512).unwrap();
        for (tag, buffer) in (0..).zip(buffers) {
            let queue = &mut group.queues()[0];
            queue.read(&namespace, tag, 1, buffer, tag).unwrap();
            if tag == 1 {
                queue.ring();
                wait_until(|| faults_of(&controller).dropped == 2);
            }
        }
        controller.reset().unwrap();
        // Too late: the controller does not have the queue any more.
        group.queues()[0].ring();
        let ended = all_of(&mut group, 5);
        assert_eq!(ended[..2], [Status::ABORTED_BY_HOST; 2]);
        assert_eq!(ended[2..], [Status::SUCCESS; 3]);
        assert_eq!(group.faults().ended_by_reset, 2);
    });
}

#[test]
fn an_admin_command_under_way_is_ended_by_a_reset() {
    watched(|| {
        let (controller, _) = open("", 0);
        // After the Asynchronous Event Requests, which are commands too.
        controller.smart_log().unwrap();
        controller.device().emulated().inject(Fault::AdminStuck);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| controller.smart_log());
            wait_until(|| faults_of(&controller).admin_stuck == 1);
            controller.reset().unwrap();
            let ended = waiter.join().unwrap();
            assert!(
                matches!(ended, Err(NvmeError::EndedByReset { .. })),
                "{:?}",
                ended.err()
            );
        });
        // The command may be repeated, as its status says.
        controller.smart_log().unwrap();
        assert_eq!(controller.resets(), 1);
    });
}

#[test]
fn queues_dropped_after_a_reset_are_free_again() {
    watched(|| {
        let (controller, namespace) = open("drop@0.5,seed=3", 0);
        for round in 1..=3 {
            let mut groups: Vec<_> = (0..controller.max_queues())
                .map(|_| group(&controller, AnyPolicy::INTERRUPT))
                .collect();
            for group in &mut groups {
                submit(&controller, &namespace, group, 8);
                group.queues()[0].ring();
            }
            assert!(controller.create_queue_pair(8).is_err());
            controller.reset().unwrap();
            assert_eq!(controller.resets(), round);
            // No queue has been waited on since.
            drop(groups);
        }
        controller
            .device()
            .emulated()
            .plan_faults(&Default::default());
        let mut groups: Vec<_> = (0..controller.max_queues())
            .map(|_| group(&controller, AnyPolicy::INTERRUPT))
            .collect();
        for group in &mut groups {
            submit(&controller, &namespace, group, 8);
            group.queues()[0].ring();
            assert_eq!(all_of(group, 8), [Status::SUCCESS; 8]);
        }
    });
}

/// Number of resets of the storm.
const RESETS: u64 = 200;

/// Reads until `stop`; each read must succeed. Returns their number.
fn read_on(
    controller: &Controller<Spy>,
    namespace: &Namespace,
    group: &mut PollGroup<Spy>,
    stop: &AtomicBool,
) -> u64 {
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        submit(controller, namespace, group, 8);
        group.queues()[0].ring();
        let ended = all_of(group, 8);
        assert_eq!(ended, [Status::SUCCESS; 8]);
        done += 8;
    }
    done
}

#[test]
fn a_storm_of_resets_loses_no_command_and_the_counters_tie_up() {
    watched(|| {
        let (controller, namespace) = open("", u8::MAX);
        let mut polled = group(&controller, AnyPolicy::POLL);
        let mut blocked = group(&controller, AnyPolicy::INTERRUPT);
        let stop = AtomicBool::new(false);
        let (logs, cut) = (AtomicU64::new(0), AtomicU64::new(0));
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| read_on(&controller, &namespace, &mut polled, &stop));
            let second = scope.spawn(|| read_on(&controller, &namespace, &mut blocked, &stop));
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    match controller.smart_log() {
                        Ok(_) => logs.fetch_add(1, Ordering::Relaxed),
                        Err(NvmeError::EndedByReset { .. }) => cut.fetch_add(1, Ordering::Relaxed),
                        Err(error) => panic!("{error}"),
                    };
                }
            });
            for reset in 0..RESETS {
                controller.reset().unwrap();
                std::thread::sleep(Duration::from_micros(200 * (reset % 16)));
            }
            stop.store(true, Ordering::Relaxed);
            (first.join().unwrap(), second.join().unwrap())
        });
        println!("{first} and {second} reads, {logs:?} logs, {cut:?} cut short");
        // No queue had a reason to reset in addition to the requested resets.
        assert_eq!(controller.resets(), RESETS);
        for (group, reads) in [(&polled, first), (&blocked, second)] {
            let faults = group.faults();
            let expected = Faults {
                resets: faults.resets,
                retries: faults.retries,
                ..Faults::default()
            };
            assert_eq!(faults, expected);
            assert!((1..=RESETS).contains(&faults.resets) && reads > 0);
            // A reset ends at most the commands in flight.
            assert!(faults.retries <= 8 * faults.resets);
        }
        assert!(logs.load(Ordering::Relaxed) > 0);
    });
}
