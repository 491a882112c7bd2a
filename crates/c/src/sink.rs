//! A caller's array of completions, and what goes into it.

use crate::buffer_handle::{give_back, joulio_buffer};
use crate::error::{Failure, failed};
use crate::handle;
use crate::io::joulio_completion;
use crate::queue_handle::Backlog;
use crate::slots::{DriverTag, Slots};
use joulio_device::{BufferList, DmaBuffer};
use joulio_nvme::{Completed, NvmeError};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{c_int, c_uint};

/// Destination of completions: the caller's array.
pub(crate) struct Sink {
    /// Next element of the caller's array.
    next: *mut joulio_completion,
    end: *mut joulio_completion,
}

impl Sink {
    /// Makes a sink of the caller's array of `max`.
    ///
    /// # Safety
    /// `completions` has room for `max`.
    #[inline]
    pub(crate) unsafe fn new(completions: *mut joulio_completion, max: u32) -> Sink {
        Sink {
            next: completions,
            // SAFETY: by the caller.
            end: unsafe { completions.add(max as usize) },
        }
    }

    /// Makes a sink of the rest of the caller's array of `max`, which has `found` completions; returns where the rest
    /// begins, too.
    ///
    /// # Safety
    /// `completions` has room for `max`; `found` is at most `max`.
    pub(crate) unsafe fn behind(
        completions: *mut joulio_completion,
        found: u32,
        max: u32,
    ) -> (*mut joulio_completion, Sink) {
        // SAFETY: by the caller.
        unsafe {
            let behind = completions.add(found as usize);
            (behind, Sink::new(behind, max - found))
        }
    }

    /// Appends `done`, of a queue with `backlog`; its buffer is the caller's again. Rare cases are handled elsewhere,
    /// so that this is small enough to be inlined into the loop over the completions.
    #[inline(always)]
    pub(crate) fn put(&mut self, done: Completed, backlog: &mut Backlog) {
        let (tag, buffer) = match done.buffer {
            Some(memory) if DriverTag::is_buffer(done.tag) => {
                let buffer = DriverTag::buffer(done.tag);
                // SAFETY: the tag of a buffer, and one in flight cannot be freed.
                let held = unsafe { handle::known(buffer) };
                held.put(memory);
                (held.tag, buffer)
            }
            memory => other(done.tag, memory, &mut backlog.slots),
        };
        let (result, status) = (done.dw0, done.status.field());
        if self.next == self.end {
            return backlog.keep(tag, buffer, result, status);
        }
        // SAFETY: before the end, by the caller of joulio_reap().
        unsafe {
            self.next.write(joulio_completion {
                tag,
                buffer,
                result,
                status,
            });
            self.next = self.next.add(1);
        }
    }

    /// Returns the number of completions in the caller's array, which begins at `completions`.
    #[inline(always)]
    pub(crate) fn found(&self, completions: *mut joulio_completion) -> u32 {
        // SAFETY: of the same array.
        unsafe { self.next.offset_from(completions) as u32 }
    }
}

/// Evaluates how a call ended that has handed out `found` completions in all: an `Err` holds the negative errno that it
/// is to return.
pub(crate) fn ended(
    reaped: Result<usize, NvmeError>,
    found: u32,
    ended: &mut Option<Failure>,
) -> Result<(), c_int> {
    match reaped {
        Err(error) if found == 0 => Err(refuse_wait(error)),
        // If one of these errors lasts, the next call reports it again; the others are reported only while commands are
        // in flight.
        Ok(_) | Err(NvmeError::Completion(_) | NvmeError::Policy(_) | NvmeError::Wait(_)) => Ok(()),
        Err(error) => {
            *ended = Some(Failure::new(Errno::IO, error));
            Ok(())
        }
    }
}

/// Returns the caller's tag, and the first buffer, of a command that had a list of buffers or none, or whose memory the
/// device keeps.
#[cold]
#[inline(never)]
fn other(tag: u64, memory: Option<DmaBuffer>, slots: &mut Slots) -> (u64, *mut joulio_buffer) {
    let buffer = match DriverTag::read(tag) {
        DriverTag::Slot(slot) => return (slots.leave(slot), std::ptr::null_mut()),
        DriverTag::List(first) => {
            give_back(first, BufferList::from_chain(memory));
            first
        }
        DriverTag::Buffer(buffer) => {
            // SAFETY: a buffer in flight cannot be freed.
            unsafe { handle::known(buffer) }.lose();
            buffer
        }
    };
    // SAFETY: as above.
    (unsafe { handle::known(buffer) }.tag, buffer)
}

#[cold]
#[inline(never)]
pub(crate) fn refuse_wait(error: NvmeError) -> c_int {
    failed(&Failure::new(Errno::IO, error))
}

#[inline]
pub(crate) fn has_room(min: c_uint, max: c_uint, completions: *mut joulio_completion) -> bool {
    !completions.is_null() && min <= max && max != 0 && max <= c_int::MAX as c_uint
}

#[cold]
pub(crate) fn no_room(min: c_uint, max: c_uint, completions: *mut joulio_completion) -> Failure {
    match completions.is_null() {
        true => Failure::null("completions"),
        false => Failure::new(
            Errno::INVAL,
            format!("min {min}, max {max}: max is at least 1 and at least min"),
        ),
    }
}

/// Refuses an array that is NULL, or numbers that are not possible.
pub(crate) fn check_room(
    min: c_uint,
    max: c_uint,
    completions: *mut joulio_completion,
) -> Result<(), Failure> {
    match has_room(min, max, completions) {
        true => Ok(()),
        false => Err(no_room(min, max, completions)),
    }
}

/// Returns up to `max` completions of those that are `left`, and their number.
///
/// # Safety
/// `completions` has room for `max`.
pub(crate) unsafe fn hand_out(
    left: &mut VecDeque<joulio_completion>,
    max: c_uint,
    completions: *mut joulio_completion,
) -> c_uint {
    let count = left.len().min(max as usize);
    for (at, completion) in left.drain(..count).enumerate() {
        // SAFETY: below `max`, by the caller.
        unsafe { completions.add(at).write(completion) };
    }
    count as c_uint
}

/// Returns the result of a call that has handed out `found` completions, and after them `more`, or a negative errno.
pub(crate) fn with_more(found: c_uint, more: c_int) -> c_int {
    match found {
        0 => more,
        // A failure comes again if it lasts.
        found => found as c_int + more.max(0),
    }
}
