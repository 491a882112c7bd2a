//! One function of joulio.h for each batch: it submits the next reads, and returns the completions of those before.

use crate::BLOCKS;
use joulio::{
    JOULIO_READ, controller_of, joulio_buffer_alloc_many, joulio_close, joulio_completion,
    joulio_io, joulio_queue, joulio_queue_create, joulio_queue_destroy, joulio_submit_and_wait,
};
use joulio_units::Nanos;
use std::hint::black_box;
use std::ptr::null_mut;

type SubmitAndWait = unsafe extern "C" fn(
    *mut joulio_queue,
    *const joulio_io,
    *mut u32,
    u32,
    u32,
    i64,
    *mut joulio_completion,
) -> i32;

struct Program {
    submit_and_wait: SubmitAndWait,
    queue: *mut joulio_queue,
    depth: usize,
    /// The next reads, complete except for their blocks.
    ios: *mut joulio_io,
    done: *mut joulio_completion,
    next: u64,
}

/// Submits the reads, waits for `min` that were submitted before, and uses their buffers for the next.
///
/// # Safety
/// Nobody else uses the program, but its function may: as in C, it is read again after a call.
#[inline(never)]
unsafe fn batch_submit(program: *mut Program, min: u32) -> usize {
    // SAFETY: by the caller; an open queue, buffers that are not in flight, and room for all completions.
    unsafe {
        for at in 0..(*program).depth {
            let io = (*program).ios.add(at);
            (*io).lba = (*program).next & 0xffff8;
            (*program).next += 8;
            (*io).tag = (*program).next;
        }
        let mut count = (*program).depth as u32;
        let (queue, ios, done) = ((*program).queue, (*program).ios, (*program).done);
        let max = (*program).depth as u32;
        let found = ((*program).submit_and_wait)(queue, ios, &raw mut count, min, max, -1, done);
        let mut good = 0;
        for at in 0..found as usize {
            let done = (*program).done.add(at);
            good += usize::from((*done).status == 0);
            (*(*program).ios.add(at)).buffer = (*done).buffer;
        }
        good
    }
}

pub fn run(ios: usize, depth: usize) {
    let (controller, stepper) = crate::open();
    let controller = controller_of(controller);
    let mut buffers = vec![null_mut(); 2 * depth];
    // SAFETY: an open controller, and room for as many buffers.
    let queue = unsafe {
        let count = buffers.len() as u32;
        joulio_buffer_alloc_many(controller, count, 4096, buffers.as_mut_ptr());
        joulio_queue_create(controller, count, c"poll".as_ptr())
    };
    let read = |&buffer: &_| joulio_io {
        lba: 0,
        buffer,
        tag: 0,
        blocks: BLOCKS,
        opcode: JOULIO_READ,
    };
    let nothing = joulio_completion {
        tag: 0,
        buffer: null_mut(),
        result: 0,
        status: 0,
    };
    let mut first: Vec<_> = buffers[..depth].iter().map(read).collect();
    let mut next: Vec<_> = buffers[depth..].iter().map(read).collect();
    let mut done = vec![nothing; depth];
    let mut program = Program {
        submit_and_wait: black_box(joulio_submit_and_wait),
        queue,
        depth,
        ios: first.as_mut_ptr(),
        done: done.as_mut_ptr(),
        next: 0,
    };
    // SAFETY: nobody else uses it.
    assert_eq!(unsafe { batch_submit(black_box(&raw mut program), 0) }, 0);
    program.ios = next.as_mut_ptr();
    for _ in 1..ios / depth {
        stepper.step(Nanos::ZERO);
        // SAFETY: nobody else uses it.
        let good = unsafe { batch_submit(black_box(&raw mut program), depth as u32) };
        assert_eq!(good, depth);
    }
    // SAFETY: once each; nobody uses the buffers any more.
    unsafe {
        joulio_queue_destroy(queue);
        joulio_close(controller);
    }
}
