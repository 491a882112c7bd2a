//! The costs of each engine, its requirements, and its refusals.

mod common;

use common::{Scratch, one, policy_rings, request, ring, rings};
use joulio_engine::Engine;
use joulio_job::CompletionMode;
use joulio_kernel_io::{
    Access, IoUring, KernelEngine, KernelEngineError, Libaio, Psync, RingOptions,
};
use joulio_units::{Nanos, Operation};
use std::sync::Arc;

#[test]
fn an_engine_is_made_in_one_thread_and_used_in_another() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Read);
    for (mode, options) in rings() {
        let Some(mut ring) = ring(&file, 2, mode, options) else {
            continue;
        };
        let user = std::thread::spawn(move || {
            let done = one(&mut ring, request(Operation::Read, 1, 1));
            assert_eq!(done.outcome, Ok(()));
        });
        user.join().unwrap();
    }
}

#[test]
fn the_kernels_thread_is_distinguished() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Read);
    let options = RingOptions::default();
    let Some(mut polled) = ring(&file, 1, CompletionMode::SqPoll, options) else {
        return;
    };
    let Some(second) = ring(&file, 1, CompletionMode::SqPoll, options) else {
        return;
    };
    one(&mut polled, request(Operation::Read, 0, 0));
    let (first, second) = (
        polled.kernel_thread().unwrap(),
        second.kernel_thread().unwrap(),
    );
    assert_ne!(first, second);
    let name = std::fs::read_to_string(format!("/proc/self/task/{first}/comm")).unwrap();
    assert!(name.starts_with("iou-sqp-"), "{name}");
    let plain = ring(&file, 1, CompletionMode::Interrupt, options).unwrap();
    let libaio = Libaio::new(file, 1, CompletionMode::Interrupt).unwrap();
    assert_eq!(
        (plain.kernel_thread(), libaio.kernel_thread()),
        (None, None)
    );
}

#[test]
fn an_io_costs_one_system_call_by_psync_two_by_the_others_none_by_sqpoll() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Read);
    let ios = 100;
    let per_run = |engine: &mut dyn FnMut()| (0..ios).for_each(|_| engine());
    let mut psync = Psync::new(Arc::clone(&file), 1, CompletionMode::Interrupt).unwrap();
    per_run(&mut || drop(one(&mut psync, request(Operation::Read, 1, 1))));
    assert_eq!(psync.calls().system_calls, ios);
    let mut libaio = Libaio::new(Arc::clone(&file), 1, CompletionMode::Interrupt).unwrap();
    per_run(&mut || drop(one(&mut libaio, request(Operation::Read, 1, 1))));
    let calls = libaio.calls();
    assert_eq!((calls.system_calls, calls.waiting.blocks), (2 * ios, ios));
    let options = RingOptions::default();
    if let Some(mut uring) = ring(&file, 1, CompletionMode::Interrupt, options) {
        per_run(&mut || drop(one(&mut uring, request(Operation::Read, 1, 1))));
        let calls = uring.calls();
        assert!((ios..=2 * ios).contains(&calls.system_calls), "{calls:?}");
        assert_eq!(calls.system_calls, ios + calls.waiting.blocks);
    }
    for (name, mut ring) in policy_rings(&file, 1) {
        per_run(&mut || drop(one(&mut ring, request(Operation::Read, 1, 1))));
        let calls = ring.calls();
        // A thread that spins makes a system call once a completion has been announced, or all the time if the ring
        // polls the device.
        let polled = calls.waiting.polls;
        let steps = calls.waiting.blocks + calls.waiting.sleeps + 3 * ios;
        assert!(calls.system_calls <= steps + polled, "{name}: {calls:?}");
        let polls_device = ring.polls_device();
        assert!(
            polls_device || calls.system_calls <= steps,
            "{name}: {calls:?}"
        );
    }
    if let Some(mut sqpoll) = ring(&file, 1, CompletionMode::SqPoll, options) {
        per_run(&mut || drop(one(&mut sqpoll, request(Operation::Read, 1, 1))));
        let calls = sqpoll.calls();
        // The rest are wake-ups, and yields of the core after 4096 empty polls each.
        let offered = calls.waiting.empty_polls / 4096;
        assert!(calls.system_calls <= offered + ios / 2, "{calls:?}");
        assert_eq!(calls.waiting.blocks, 0);
    }
}

#[test]
fn what_an_engine_cannot_do_is_refused_in_one_line() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Read);
    let error = |made: Result<(), KernelEngineError>| {
        let text = made.unwrap_err().to_string();
        assert!(!text.contains('\n'));
        text
    };
    let psync = |depth, mode| error(Psync::new(Arc::clone(&file), depth, mode).map(drop));
    assert_eq!(
        psync(2, CompletionMode::Interrupt),
        "psync: queue depth 2 is not within 1 to 1"
    );
    assert_eq!(
        psync(1, CompletionMode::SqPoll),
        "psync: sqpoll is unavailable: psync has only interrupt, poll, hybrid and hybrid=TIME"
    );
    let libaio = |depth, mode| error(Libaio::new(Arc::clone(&file), depth, mode).map(drop));
    assert_eq!(
        libaio(1, CompletionMode::Poll),
        "libaio: poll is unavailable: libaio has only interrupt"
    );
    assert!(libaio(0, CompletionMode::Interrupt).contains("queue depth 0"));
    let uring = |depth, mode| {
        let options = RingOptions::default();
        let ring = IoUring::new(Arc::clone(&file), depth, mode, options);
        error(ring.map(drop))
    };
    assert!(uring(40_000, CompletionMode::Interrupt).contains("1 to 32768"));
    assert!(
        uring(1, CompletionMode::HybridFixed(Nanos::from_micros(4)))
            .starts_with("io_uring: hybrid=4us is unavailable: io_uring has only ")
    );
}
