//! Commands with a list of buffers: scatter on a read, gather on a write.

use crate::any_commands::Scattered;
use crate::buffer_handle::{give_back, joulio_buffer};
use crate::commands::command_at;
use crate::error::{Failure, guarded, refused};
use crate::handle;
use crate::queue_handle::{Queue, joulio_queue};
use crate::slots::DriverTag;
use joulio_device::BufferList;
use rustix::io::Errno;
use std::ffi::{c_int, c_uint};

/// A part of a buffer, or all of it, in a list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct joulio_part {
    /// Buffer, which may occur in the list only once (joulio_buffer_split() makes two of it).
    pub buffer: *mut joulio_buffer,
    /// First byte of the part.
    pub offset: usize,
    /// Length of the part in bytes.
    pub length: usize,
}

/// Submits a read of `blocks` logical blocks from `lba` into `count` parts, one behind the other. Parts that are
/// adjacent for the device count as one. A controller with SGLs accepts parts of multiples of 4 bytes, one without SGLs
/// accepts pages. All buffers return with the one completion, whose `buffer` is that of the first part. Returns 0, or a
/// negative errno, and then all buffers remain the caller's.
///
/// # Safety
/// `queue` is NULL or a queue; `parts` is NULL or has `count` of them, each with a handle or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_readv(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    parts: *const joulio_part,
    count: c_uint,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        let what = Scattered::Read(lba, blocks);
        // SAFETY: by the caller.
        unsafe { submit_list(queue, what, parts, count, tag) }
    })
}

/// Submits a write of `blocks` logical blocks to `lba` from `count` parts, one behind the other, as
/// joulio_readv(). -EPERM: the device was opened without JOULIO_ALLOW_WRITE.
///
/// # Safety
/// As joulio_readv().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_writev(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    parts: *const joulio_part,
    count: c_uint,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        queue.check_write()?;
        let what = Scattered::Write(lba, blocks);
        // SAFETY: by the caller.
        unsafe { submit_list(queue, what, parts, count, tag) }
    })
}

/// Submits any I/O command that moves data, as joulio_submit(), with a list of buffers, as
/// joulio_readv(). 0, or a negative errno.
///
/// # Safety
/// As joulio_readv(); `command` is NULL or points to 64 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_submitv(
    queue: *mut joulio_queue,
    command: *const u8,
    parts: *const joulio_part,
    count: c_uint,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        // SAFETY: by the caller.
        let command = unsafe { command_at(command) }?;
        queue.check_leave(&command)?;
        // SAFETY: by the caller.
        unsafe { submit_list(queue, Scattered::Raw(command), parts, count, tag) }
    })
}

/// # Safety
/// `parts` is NULL or has `count` of them, each with a handle or NULL.
unsafe fn submit_list(
    queue: &mut Queue,
    what: Scattered,
    parts: *const joulio_part,
    count: c_uint,
    tag: u64,
) -> Result<c_int, Failure> {
    if parts.is_null() {
        return Err(Failure::null("parts"));
    }
    if count == 0 {
        return Err(Failure::new(Errno::INVAL, "count is 0: at least 1"));
    }
    // SAFETY: by the caller.
    let parts = unsafe { std::slice::from_raw_parts(parts, count as usize) };
    let opened = queue.opened();
    // SAFETY: by the caller.
    let list = unsafe { take_all(parts, tag) }?;
    let first = parts[0].buffer;
    let submitted = opened.transfer_list(what, list, DriverTag::of_list(first));
    submitted.map_or_else(
        |rejected| {
            give_back(first, rejected.buffers);
            Err(refused(&rejected.reason))
        },
        |()| Ok(0),
    )
}

/// Takes the memory of all parts for a command with `tag`; of none if that fails.
///
/// # Safety
/// Each part has a handle or NULL.
unsafe fn take_all(parts: &[joulio_part], tag: u64) -> Result<BufferList, Failure> {
    let mut list = BufferList::new();
    let mut next = std::ptr::null_mut();
    // Backwards, so that each is put in front of the others in one step.
    for part in parts.iter().rev() {
        // SAFETY: by the caller.
        let taken = unsafe { handle::get(part.buffer) }.and_then(|held| {
            let end = part.offset.checked_add(part.length);
            if end.is_none_or(|end| end > held.len) {
                let text = format!(
                    "{} bytes at {} of a buffer of {}",
                    part.length, part.offset, held.len
                );
                return Err(Failure::new(Errno::INVAL, text));
            }
            let memory = held.take(tag).ok_or_else(|| held.absent())?;
            held.next = next;
            Ok(memory)
        });
        match taken {
            Ok(memory) => {
                list.push_front_part(memory, part.offset..part.offset + part.length);
                next = part.buffer;
            }
            Err(failure) => {
                give_back(next, list);
                return Err(failure);
            }
        }
    }
    Ok(list)
}
