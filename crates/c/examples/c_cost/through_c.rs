//! The functions of joulio.h, called as C calls them: the caller's compiler sees none of their code.

use crate::BLOCKS;
use joulio::{
    controller_of, joulio_buffer, joulio_buffer_alloc_many, joulio_close, joulio_completion,
    joulio_queue, joulio_queue_create, joulio_queue_destroy, joulio_read, joulio_reap, joulio_ring,
};
use joulio_units::Nanos;
use std::hint::black_box;
use std::ptr::null_mut;

type Read = unsafe extern "C" fn(*mut joulio_queue, u64, u32, *mut joulio_buffer, u64) -> i32;
type Ring = unsafe extern "C" fn(*mut joulio_queue) -> i32;
type Reap = unsafe extern "C" fn(*mut joulio_queue, u32, u32, i64, *mut joulio_completion) -> i32;

struct Program {
    read: Read,
    ring: Ring,
    reap: Reap,
    queue: *mut joulio_queue,
    buffers: Vec<*mut joulio_buffer>,
    done: Vec<joulio_completion>,
    next: u64,
}

#[inline(never)]
fn c_submit(program: &mut Program) {
    while let Some(buffer) = program.buffers.pop() {
        let lba = program.next & 0xffff8;
        program.next += 8;
        // SAFETY: an open queue, and a buffer that is not in flight.
        let sent = unsafe { (program.read)(program.queue, lba, BLOCKS, buffer, program.next) };
        if sent != 0 {
            unreachable!("there are as many buffers as slots");
        }
    }
    // SAFETY: an open queue.
    unsafe { (program.ring)(program.queue) };
}

#[inline(never)]
fn c_reap(program: &mut Program, depth: usize) -> usize {
    let (depth, done) = (depth as u32, program.done.as_mut_ptr());
    // SAFETY: an open queue; there is room for a completion of each command.
    let found = unsafe { (program.reap)(program.queue, depth, depth, -1, done) };
    let mut good = 0;
    for done in &program.done[..found as usize] {
        good += usize::from(done.status == 0);
        program.buffers.push(done.buffer);
    }
    good
}

pub fn run(ios: usize, depth: usize) {
    let (controller, stepper) = crate::open();
    let controller = controller_of(controller);
    let mut buffers = vec![null_mut(); depth];
    // SAFETY: an open controller, and room for as many buffers.
    let queue = unsafe {
        joulio_buffer_alloc_many(controller, depth as u32, 4096, buffers.as_mut_ptr());
        joulio_queue_create(controller, depth as u32, c"poll".as_ptr())
    };
    let nothing = joulio_completion {
        tag: 0,
        buffer: null_mut(),
        result: 0,
        status: 0,
    };
    let mut program = Program {
        read: black_box(joulio_read),
        ring: black_box(joulio_ring),
        reap: black_box(joulio_reap),
        queue,
        buffers,
        done: vec![nothing; depth],
        next: 0,
    };
    for _ in 0..ios / depth {
        c_submit(black_box(&mut program));
        stepper.step(Nanos::ZERO);
        assert_eq!(c_reap(black_box(&mut program), depth), depth);
    }
    // SAFETY: once each.
    unsafe {
        joulio_queue_destroy(queue);
        joulio_close(controller);
    }
}
