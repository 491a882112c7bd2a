//! Commands with a buffer or none, and the doorbell.

use crate::any_commands::What;
use crate::buffer_handle::joulio_buffer;
use crate::error::{Failure, failed, guarded};
use crate::handle;
use crate::io::{joulio_completion, joulio_io};
use crate::queue_handle::{joulio_queue, refuse_write};
use crate::sink::{has_room, no_room};
use joulio_nvme::{MAX_RANGES, Transfer};
use joulio_nvme_spec::Command;
use rustix::io::Errno;
use std::ffi::{c_int, c_uint};

/// A range of logical blocks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct joulio_range {
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u32,
}

/// Submits a read of `blocks` logical blocks from `lba` into `buffer`. Returns 0, or a negative errno: -EAGAIN: the
/// queue is full; the buffer remains the caller's. The device gets the command with joulio_ring().
///
/// # Safety
/// `queue` and `buffer` are NULL or handles; the buffer is not touched before it comes back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_read(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        // SAFETY: by the caller.
        return unsafe { handle::refuse(queue) };
    };
    // SAFETY: of this queue, and by the caller. Panics are caught there.
    unsafe { (queue.calls.read)(queue, lba, blocks, buffer, tag) }
}

/// Submits a write of `blocks` logical blocks from `buffer` to `lba`, as joulio_read(). -EPERM: the
/// device was opened without JOULIO_ALLOW_WRITE.
///
/// # Safety
/// As joulio_read().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_write(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        // SAFETY: by the caller.
        return unsafe { handle::refuse(queue) };
    };
    if !queue.may_write {
        return refuse_write();
    }
    // SAFETY: of this queue, and by the caller. Panics are caught there.
    unsafe { (queue.calls.write)(queue, lba, blocks, buffer, tag) }
}

/// Submits a read as joulio_read() does, to `offset` of `buffer`, a multiple of 4. The whole buffer is in use until the
/// completion; joulio_buffer_split() makes two buffers for separate commands.
///
/// # Safety
/// As joulio_read().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_read_at(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    offset: usize,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        let what = What::Blocks(Transfer::READ, (lba, blocks), offset);
        // SAFETY: by the caller.
        Ok(unsafe { queue.transfer(what, buffer, tag) })
    })
}

/// Submits a write as joulio_write() does, from `offset` of `buffer`, a multiple of 4.
///
/// # Safety
/// As joulio_read().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_write_at(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    offset: usize,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        queue.check_write()?;
        let what = What::Blocks(Transfer::WRITE, (lba, blocks), offset);
        // SAFETY: by the caller.
        Ok(unsafe { queue.transfer(what, buffer, tag) })
    })
}

/// Submits any I/O command: `command` points to its 64 bytes (Base figure 87) with CID, FUSE, PSDT, MPTR and both PRPs
/// zero. `buffer`: NULL for a command that moves no data. The length of its data is derived from its own dwords, so
/// that the device cannot access memory beyond the buffer. Returns 0, or a negative errno.
///
/// # Safety
/// `queue` and `buffer` are NULL or handles, `command` is NULL or points to 64 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_submit(
    queue: *mut joulio_queue,
    command: *const u8,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        // SAFETY: by the caller.
        let command = unsafe { command_at(command) }?;
        queue.check_leave(&command)?;
        if !buffer.is_null() {
            // SAFETY: by the caller.
            return Ok(unsafe { queue.transfer(What::Raw(&command), buffer, tag) });
        }
        queue.without_buffer(tag, |queue, tag| queue.submit(command, tag))
    })
}

/// Submits a flush: when it has completed, writes that completed before it are on non-volatile media. Returns 0, or a
/// negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_flush(queue: *mut joulio_queue, tag: u64) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        queue.without_buffer(tag, |queue, tag| queue.flush(tag))
    })
}

/// Submits a deallocation (trim) of `count` ranges, 1 to 256, which are written to `buffer` for the device, 16 bytes
/// each. Returns 0, or a negative errno: -EPERM: the device was opened without JOULIO_ALLOW_WRITE; -EOPNOTSUPP: the
/// controller has no deallocation.
///
/// # Safety
/// `queue` and `buffer` are NULL or handles; `ranges` is NULL or has `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_deallocate(
    queue: *mut joulio_queue,
    ranges: *const joulio_range,
    count: c_uint,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        queue.check_write()?;
        if ranges.is_null() {
            return Err(Failure::null("ranges"));
        }
        let count = count as usize;
        if count == 0 || count > MAX_RANGES {
            let text = format!("{count} ranges: 1 to {MAX_RANGES} in one command");
            return Err(Failure::new(Errno::INVAL, text));
        }
        // On the stack: nothing on this path allocates.
        let mut list = [const { 0..0 }; MAX_RANGES];
        for (at, range) in list[..count].iter_mut().enumerate() {
            // SAFETY: below `count`, by the caller.
            let one = unsafe { ranges.add(at).read() };
            *range = one.lba..one.lba.saturating_add(one.blocks.into());
        }
        // SAFETY: by the caller.
        Ok(unsafe { queue.transfer(What::Deallocate(&list[..count]), buffer, tag) })
    })
}

/// Reads the command that a program has built.
///
/// # Safety
/// `command` is NULL or points to 64 bytes.
pub(crate) unsafe fn command_at(command: *const u8) -> Result<Command, Failure> {
    if command.is_null() {
        return Err(Failure::null("command"));
    }
    // SAFETY: by the caller.
    let bytes = unsafe { command.cast::<[u8; size_of::<Command>()]>().read() };
    Ok(zerocopy::transmute!(bytes))
}

/// Rings the doorbell for all commands submitted since the last ring. Returns 0, or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_ring(queue: *mut joulio_queue) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        // SAFETY: by the caller.
        return unsafe { handle::refuse(queue) };
    };
    // SAFETY: of this queue. Panics are caught there.
    unsafe { (queue.calls.ring)(queue) }
}

/// Submits the `*count` reads and writes at `ios`, rings the doorbell once, and returns completions as joulio_reap()
/// does, also those of commands submitted before: one call instead of many. With `max` = 0 nothing is reaped. Returns
/// the number of completions; or the negative errno of an I/O that was refused (as by joulio_read(), joulio_write()),
/// with its index in `*count`: the I/Os before it were submitted, the others remain the caller's, and nothing was
/// reaped; or a negative errno of joulio_reap() after all were submitted.
///
/// # Safety
/// `queue` is NULL or a queue; `count` is NULL or says how many `ios` there are, each with a handle or
/// NULL; `completions` has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_submit_and_wait(
    queue: *mut joulio_queue,
    ios: *const joulio_io,
    count: *mut c_uint,
    min: c_uint,
    max: c_uint,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        // SAFETY: by the caller.
        return unsafe { refuse_queue(queue, count) };
    };
    let room = has_room(min, max, completions) || max == 0 && min == 0;
    if !room || ios.is_null() || count.is_null() {
        return refuse_ios(min, max, completions, ios, count);
    }
    // SAFETY: of this queue, and by the caller. Panics are caught there.
    unsafe { (queue.calls.submit_and_wait)(queue, ios, count, min, max, timeout_ns, completions) }
}

/// Returns the negative errno of a call on a queue that is not live; none of its I/Os was submitted.
///
/// # Safety
/// As joulio_submit_and_wait().
#[cold]
#[inline(never)]
unsafe extern "C" fn refuse_queue(queue: *mut joulio_queue, count: *mut c_uint) -> c_int {
    // SAFETY: by the caller.
    unsafe {
        if !count.is_null() {
            *count = 0;
        }
        handle::refuse(queue)
    }
}

#[cold]
#[inline(never)]
extern "C" fn refuse_ios(
    min: c_uint,
    max: c_uint,
    completions: *mut joulio_completion,
    ios: *const joulio_io,
    count: *mut c_uint,
) -> c_int {
    let failure = match (ios.is_null(), count.is_null()) {
        (_, true) => Failure::null("count"),
        (true, false) => Failure::null("ios"),
        _ => no_room(min, max, completions),
    };
    if !count.is_null() {
        // SAFETY: by the caller of joulio_submit_and_wait().
        unsafe { *count = 0 };
    }
    failed(&failure)
}
