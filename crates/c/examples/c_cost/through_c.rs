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
    depth: usize,
    buffers: *mut *mut joulio_buffer,
    done: *mut joulio_completion,
    next: u64,
}

/// Submits a read with each buffer.
///
/// # Safety
/// Nobody else uses the program, but its functions may: as in C, it is read again after each call.
#[inline(never)]
unsafe fn c_submit(program: *mut Program) {
    // SAFETY: by the caller; an open queue, and buffers that are not in flight.
    unsafe {
        let mut left = (*program).depth;
        while left > 0 {
            left -= 1;
            let lba = (*program).next & 0xffff8;
            (*program).next += 8;
            let (buffer, tag) = (*(*program).buffers.add(left), (*program).next);
            let sent = ((*program).read)((*program).queue, lba, BLOCKS, buffer, tag);
            if sent != 0 {
                unreachable!("there are as many buffers as slots");
            }
        }
        ((*program).ring)((*program).queue);
    }
}

/// Takes a completion of each read, and returns how many succeeded.
///
/// # Safety
/// As [`c_submit`].
#[inline(never)]
unsafe fn c_reap(program: *mut Program) -> usize {
    // SAFETY: by the caller; an open queue, and room for a completion of each command.
    unsafe {
        let (depth, done) = ((*program).depth as u32, (*program).done);
        let found = ((*program).reap)((*program).queue, depth, depth, -1, done);
        let mut good = 0;
        for at in 0..found as usize {
            let done = (*program).done.add(at);
            good += usize::from((*done).status == 0);
            *(*program).buffers.add(at) = (*done).buffer;
        }
        good
    }
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
    let mut done = vec![nothing; depth];
    let mut program = Program {
        read: black_box(joulio_read),
        ring: black_box(joulio_ring),
        reap: black_box(joulio_reap),
        queue,
        depth,
        buffers: buffers.as_mut_ptr(),
        done: done.as_mut_ptr(),
        next: 0,
    };
    for _ in 0..ios / depth {
        // SAFETY: nobody else uses it.
        unsafe { c_submit(black_box(&raw mut program)) };
        stepper.step(Nanos::ZERO);
        // SAFETY: nobody else uses it.
        assert_eq!(unsafe { c_reap(black_box(&raw mut program)) }, depth);
    }
    // SAFETY: once each.
    unsafe {
        joulio_queue_destroy(queue);
        joulio_close(controller);
    }
}
