//! Tests of behaviour that only some kernels have, which the tests force.

use super::*;
use crate::{Access, Release};
use joulio_job::{CompletionMode, EngineName};
use std::collections::BTreeSet;
use std::io::Write;

/// Returns a file beside this program.
fn file() -> Arc<DirectFile> {
    let program = std::env::current_exe().unwrap();
    let mut file = tempfile::NamedTempFile::new_in(program.parent().unwrap()).unwrap();
    file.write_all(&[7; 65536]).unwrap();
    Arc::new(DirectFile::open(file.path(), Access::Read).unwrap())
}

fn read(tag: u64) -> Request {
    Request {
        device: 0,
        operation: Operation::Read,
        offset: tag * 4096,
        len: 4096,
        tag,
    }
}

/// Creates a ring as before Linux 5.11: without timeouts in io_uring_enter, and without deferred delivery. `None`
/// if io_uring is switched off.
fn old_ring(depth: usize) -> Option<IoUring> {
    let ring = match raw_ring::setup(depth as u32, 0, 0, 0) {
        Ok(ring) => ring,
        Err(errno) => {
            eprintln!("not here: {errno}");
            return None;
        }
    };
    let opened = Opened {
        ring,
        disabled: false,
    };
    let slots = Slots::new(EngineName::IoUring, depth, depth).unwrap();
    let options = RingOptions::default();
    let mut ring = IoUring::around(
        opened,
        None,
        FileRequests::new(file()),
        slots,
        CompletionMode::Interrupt,
        options,
    )
    .unwrap();
    ring.timeouts = false;
    Some(ring)
}

#[test]
fn without_timeouts_the_ring_is_waited_for_by_poll() {
    let Some(mut ring) = old_ring(4) else { return };
    let buffers = ring.buffers(0, 4, 4096).unwrap();
    for (tag, buffer) in (0..).zip(buffers) {
        ring.prepare(read(tag), buffer).unwrap();
    }
    ring.submit().unwrap();
    let mut ended = Vec::new();
    let reaped = ring.reap(4, now() + Nanos::from_millis(30_000), |done| {
        ended.push(done)
    });
    assert_eq!(reaped.unwrap(), 4);
    assert!(
        ended
            .iter()
            .all(|done| done.outcome.is_ok() && done.buffer[..] == [7; 4096])
    );
}

#[test]
fn a_ring_that_gave_up_its_requests_is_dropped_at_once() {
    let Some(mut ring) = old_ring(1) else { return };
    let buffer = ring.buffers(0, 1, 4096).unwrap().pop().unwrap();
    ring.ring.lose(&read(0), buffer);
    ring.abandon();
    let began = now();
    drop(ring);
    assert!(now() - began < MAX_WAIT);
}

/// Reads block `tag` by a request alone.
fn read_one(ring: &mut IoUring, tag: u64) {
    let buffer = ring.buffers(0, 1, 4096).unwrap().pop().unwrap();
    ring.prepare(read(tag), buffer).unwrap();
    ring.submit().unwrap();
    let mut ended = Vec::new();
    let end = now() + Nanos::from_millis(30_000);
    let reaped = ring.reap(1, end, |done| ended.push(done));
    assert_eq!((reaped.unwrap(), ended.len()), (1, 1));
    assert_eq!((ended[0].tag, ended[0].outcome), (tag, Ok(())));
    assert!(ended[0].buffer[..] == [7; 4096]);
}

/// Returns true if the kernel has a table of rings for each thread.
fn has_table() -> bool {
    Release::running() >= Some(Release::new(5, 18))
}

#[test]
fn a_thread_has_sixteen_rings_by_number_and_the_others_by_descriptor() {
    let file = file();
    let new = || {
        let options = RingOptions::default();
        IoUring::new(Arc::clone(&file), 1, CompletionMode::Interrupt, options)
    };
    let mut rings = Vec::new();
    for _ in 0..20 {
        match new() {
            Ok(ring) => rings.push(ring),
            Err(error) => {
                eprintln!("not here: {error}");
                return;
            }
        }
    }
    for round in 1..=2 {
        for (tag, ring) in (0..).zip(&mut rings) {
            read_one(ring, tag % 16);
        }
        let numbers = rings.iter().filter_map(|ring| ring.ring.registered_index());
        let numbers: BTreeSet<_> = numbers.collect();
        assert_eq!(numbers.len(), if has_table() { 16 } else { 0 });
        for ring in &rings {
            let calls = ring.calls();
            let counts = (calls.submitted, calls.completed, calls.strange);
            assert_eq!(counts, (round, round, 0));
        }
    }
    drop(rings);
    // A ring that is dropped leaves its place to others.
    let mut last = new().unwrap();
    assert_eq!(last.ring.registered_index(), None);
    read_one(&mut last, 5);
    assert_eq!(last.ring.registered_index().is_some(), has_table());
}

#[test]
fn a_ring_is_not_mistaken_for_another_threads_of_the_same_number() {
    let (Some(mut ring), Some(mut other)) = (old_ring(1), old_ring(1)) else {
        return;
    };
    read_one(&mut ring, 1);
    let user = std::thread::spawn(move || {
        read_one(&mut other, 2);
        assert_eq!(other.ring.registered_index().is_some(), has_table());
        assert_eq!(ring.ring.registered_index(), None);
        read_one(&mut ring, 3);
        let completed = (ring.calls().completed, other.calls().completed);
        assert_eq!(completed, (2, 1));
        ring
    });
    // The table that has the ring is this thread's.
    drop(user.join().unwrap());
}

/// The kernel's thread ends a request before it frees its entry. Here the thread sleeps in between.
#[test]
fn a_request_for_whose_entry_there_is_no_room_yet_is_sent_and_ends() {
    let options = RingOptions {
        poller_idle_ms: 1,
        ..RingOptions::default()
    };
    let mut ring = match IoUring::new(file(), 1, CompletionMode::SqPoll, options) {
        Ok(ring) => ring,
        Err(error) => {
            eprintln!("not here: {error}");
            return;
        }
    };
    let [first, second] = ring.buffers(0, 2, 4096).unwrap().try_into().unwrap();
    while !ring.ring.needs_wakeup() {
        yield_now();
    }
    ring.prepare(read(0), first).unwrap();
    assert_eq!(ring.ring.publish(), 1);
    let early = ring.ring.end_early(1 << 32).unwrap();
    assert_eq!((early.tag, ring.ring.untaken()), (0, 1));
    ring.prepare(read(1), second).unwrap();
    assert_eq!(ring.ring.publish(), 0, "there is no room");
    ring.submit().unwrap();
    let mut ended = Vec::new();
    let end = now() + Nanos::from_millis(30_000);
    let reaped = ring.reap(1, end, |done| ended.push(done.tag));
    assert_eq!((reaped.unwrap(), ended), (1, vec![1]));
    // The kernel has the first request's buffer until it ends that request too.
    while ring.calls().strange == 0 {
        ring.reap(0, now(), |_| {}).unwrap();
    }
    assert_eq!(ring.calls().completed, 1);
}
