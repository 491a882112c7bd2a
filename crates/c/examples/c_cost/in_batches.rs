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
    /// The next reads, complete except for their blocks.
    ios: Vec<joulio_io>,
    done: Vec<joulio_completion>,
    next: u64,
}

/// Submits the reads, waits for as many that were submitted before, and uses their buffers for the next.
#[inline(never)]
fn batch_submit(program: &mut Program, min: usize) -> usize {
    for io in &mut program.ios {
        io.lba = program.next & 0xffff8;
        program.next += 8;
        io.tag = program.next;
    }
    let mut count = program.ios.len() as u32;
    let (ios, done) = (program.ios.as_ptr(), program.done.as_mut_ptr());
    let (min, max) = (min as u32, program.done.len() as u32);
    // SAFETY: an open queue, buffers that are not in flight, and room for all completions.
    let found = unsafe {
        (program.submit_and_wait)(program.queue, ios, &raw mut count, min, max, -1, done)
    };
    let mut good = 0;
    for (done, io) in program.done[..found as usize].iter().zip(&mut program.ios) {
        good += usize::from(done.status == 0);
        io.buffer = done.buffer;
    }
    good
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
    let mut program = Program {
        submit_and_wait: black_box(joulio_submit_and_wait),
        queue,
        ios: buffers[..depth].iter().map(read).collect(),
        done: vec![nothing; depth],
        next: 0,
    };
    assert_eq!(batch_submit(black_box(&mut program), 0), 0);
    program.ios = buffers[depth..].iter().map(read).collect();
    for _ in 1..ios / depth {
        stepper.step(Nanos::ZERO);
        assert_eq!(batch_submit(black_box(&mut program), depth), depth);
    }
    // SAFETY: once each; nobody uses the buffers any more.
    unsafe {
        joulio_queue_destroy(queue);
        joulio_close(controller);
    }
}
