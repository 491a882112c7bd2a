//! Tests of behaviour that only some kernels have, which the tests force.

use super::*;
use crate::Access;
use joulio_job::{CompletionMode, EngineName};
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
