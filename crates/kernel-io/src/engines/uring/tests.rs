//! Tests of what only some kernels have, forced.

use super::*;
use crate::Access;
use joulio_job::{CompletionMode, EngineName};
use std::io::Write;

/// A ring as Linux before 5.11 makes it, on a file beside this program: no timeout in
/// io_uring_enter, no handing over. None where io_uring is switched off.
fn old_ring(depth: usize) -> Option<IoUring> {
    let program = std::env::current_exe().unwrap();
    let mut file = tempfile::NamedTempFile::new_in(program.parent().unwrap()).unwrap();
    file.write_all(&[7; 65536]).unwrap();
    let file = Arc::new(DirectFile::open(file.path(), Access::Read).unwrap());
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
        FileRequests::new(file),
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
        let request = Request {
            device: 0,
            operation: Operation::Read,
            offset: tag * 4096,
            len: 4096,
            tag,
        };
        ring.prepare(request, buffer).unwrap();
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
    let request = Request {
        device: 0,
        operation: Operation::Read,
        offset: 0,
        len: 4096,
        tag: 0,
    };
    let buffer = ring.buffers(0, 1, 4096).unwrap().pop().unwrap();
    ring.ring.lose(&request, buffer);
    ring.abandon();
    let began = now();
    drop(ring);
    assert!(now() - began < MAX_WAIT);
}
