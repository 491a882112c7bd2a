//! Submission on a queue pair that is alone.

use crate::buffer_handle::joulio_buffer;
use crate::error::{caught, guarded_io, refuse_panicked};
use crate::handle;
use crate::io::{JOULIO_READ, JOULIO_WRITE, joulio_completion, joulio_io};
use crate::opened_queue::{OpenedQueue, hand_on, take_usual};
use crate::queue_handle::{Call, Queue, Room};
use crate::seat::{kind, seat_of, submit_all, transfer};
use crate::slots::DriverTag;
use joulio_device::Device;
use joulio_nvme::{Transfer, UsualQueue};
use std::ffi::c_int;

/// Submits the usual I/O, of one page, with the buffer's handle and the caller's tag; returns whether that was
/// possible. It calls nothing, so that it cannot panic.
///
/// # Safety
/// `buffer` is NULL or a buffer.
#[inline(always)]
unsafe fn submit_page<D: Device>(
    pair: &mut UsualQueue<'_, D>,
    kind: Transfer,
    range: (u64, u32),
    buffer: *mut joulio_buffer,
    tag: u64,
) -> bool {
    // SAFETY: by the caller.
    let Some(held) = (unsafe { handle::find(buffer) }) else {
        return false;
    };
    let Some(memory) = held.take(tag) else {
        return false;
    };
    match pair.transfer_page(kind, range, memory, DriverTag::of_buffer(buffer)) {
        Ok(()) => true,
        Err(memory) => {
            held.put(memory);
            false
        }
    }
}

/// Submits an I/O if it is a usual one; returns whether it was.
///
/// # Safety
/// The I/O has a handle or NULL.
#[inline(always)]
unsafe fn submit_usual<D: Device>(
    pair: &mut UsualQueue<'_, D>,
    io: &joulio_io,
    may_write: bool,
) -> bool {
    let kind = if io.opcode == JOULIO_READ {
        Transfer::READ
    } else if io.opcode == JOULIO_WRITE && may_write {
        Transfer::WRITE
    } else {
        return false;
    };
    // SAFETY: by the caller.
    unsafe { submit_page(pair, kind, (io.lba, io.blocks), io.buffer, io.tag) }
}

/// Reads, or writes if `WRITE`, on the queue. The usual I/O takes a path without a call, so that no registers have to
/// be saved for one.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses; `buffer` is NULL or a buffer.
pub(crate) unsafe extern "C" fn transfer_page<D: Device, const WRITE: bool>(
    queue: *mut Queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    unsafe {
        if let Some(mut pair) = seat_of::<OpenedQueue<D>>(queue).usual()
            && submit_page(&mut pair, kind(WRITE), (lba, blocks), buffer, tag)
        {
            return 0;
        }
        transfer::<OpenedQueue<D>, WRITE>(queue, lba, blocks, buffer, tag)
    }
}

/// Submits and waits, on a queue that is alone.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses; the others are as for
/// joulio_submit_and_wait().
pub(crate) unsafe extern "C" fn submit_and_wait<D: Device>(
    queue: *mut Queue,
    ios: *const joulio_io,
    count: *mut u32,
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    let room = Room {
        min,
        max,
        timeout_ns,
        completions,
    };
    // SAFETY: by the caller.
    unsafe {
        (*queue).call = Call { count, room };
        let mut left = *count;
        let mut io = ios;
        let Some(mut pair) = seat_of::<OpenedQueue<D>>(queue).usual() else {
            return submit_rest_and_wait::<D>(queue, io, left);
        };
        while left > 0 {
            if !submit_usual(&mut pair, &*io, (*queue).may_write) {
                return submit_rest_and_wait::<D>(queue, io, left);
            }
            io = io.add(1);
            left -= 1;
        }
        if caught(|| pair.ring()).is_err() {
            return refuse_panicked();
        }
        // Read again, as a register that outlasts the doorbell would have to be saved.
        let Room {
            max, completions, ..
        } = (*queue).call.room;
        if max == 0 {
            return 0;
        }
        let taken = take_usual::<D, true>(queue, &mut pair, max, completions);
        hand_on::<D>(queue, taken)
    }
}

/// Submits the `left` I/Os of the queue's call from `io` on, of which the first is not a usual one, and continues as
/// [`submit_and_wait`].
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses; its call is as for joulio_submit_and_wait(), and ends
/// with these I/Os.
#[cold]
#[inline(never)]
unsafe extern "C" fn submit_rest_and_wait<D: Device>(
    queue: *mut Queue,
    io: *const joulio_io,
    left: u32,
) -> c_int {
    // SAFETY: by the caller.
    let Call { count, room } = unsafe { (*queue).call };
    // SAFETY: by the caller.
    let refused = guarded_io(|| unsafe {
        let from = *count - left;
        let ios = io.sub(from as usize);
        submit_all::<OpenedQueue<D>>(&mut *queue, ios, &mut *count, from)
    });
    if refused != 0 || room.max == 0 {
        return refused;
    }
    let Room {
        min,
        max,
        timeout_ns,
        completions,
    } = room;
    // SAFETY: by the caller.
    unsafe { ((*queue).calls.reap)(queue, min, max, timeout_ns, completions) }
}
