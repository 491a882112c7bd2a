//! Seats of queue pairs, alone or in a group, and commands on the pair in a seat.

use crate::any_commands::{Commands, Scattered, What};
use crate::buffer_handle::{Buffer, joulio_buffer};
use crate::error::{Failure, failed, guarded_io, refused};
use crate::handle;
use crate::io::{JOULIO_READ, JOULIO_WRITE, joulio_io};
use crate::queue_handle::{Queue, refuse_write};
use crate::slots::DriverTag;
use joulio_device::{BufferList, Device, DmaBuffer};
use joulio_nvme::{
    Namespace, NvmeError, PolicyError, QueuePair, Rejected, RejectedList, SubmitError, Transfer,
};
use joulio_nvme_spec::Command;
use joulio_units::CpuList;
use joulio_wait::AnyPolicy;
use rustix::io::Errno;
use std::ffi::c_int;

/// The place that holds a queue pair.
pub(crate) trait Seat: Send + 'static {
    type Device: Device;
    /// Runs `run` with the queue, on which commands may be submitted.
    fn with<T>(&mut self, run: impl FnOnce(&mut QueuePair<Self::Device>, &Namespace) -> T) -> T;
    /// Rings the doorbell of the queue.
    #[inline(always)]
    fn ring(&mut self) {
        self.with(|queue, _| queue.ring());
    }
}

#[inline(always)]
pub(crate) const fn kind(write: bool) -> Transfer {
    match write {
        true => Transfer::WRITE,
        false => Transfer::READ,
    }
}

/// Returns the seat of a queue.
///
/// # Safety
/// `queue` is one with a seat `S`, which nobody else uses.
#[inline(always)]
pub(crate) unsafe fn seat_of<'a, S: Seat>(queue: *mut Queue) -> &'a mut S {
    // SAFETY: by the caller.
    unsafe { (*queue).parts::<S>().0 }
}

/// Reads, or writes if `WRITE`, on the queue.
///
/// # Safety
/// `queue` is one with a seat `S`, which nobody else uses; `buffer` is NULL or a buffer.
#[inline(never)]
pub(crate) unsafe extern "C" fn transfer<S: Seat, const WRITE: bool>(
    queue: *mut Queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let seat = unsafe { seat_of::<S>(queue) };
    // SAFETY: by the caller.
    unsafe {
        with_buffer(buffer, tag, |memory, tag| {
            let range = (lba, blocks);
            seat.with(|queue, namespace| {
                queue.transfer(kind(WRITE), namespace, range, (memory, 0), tag)
            })
        })
    }
}

/// Rings the doorbell of the queue.
///
/// # Safety
/// `queue` is one with a seat `S`, which nobody else uses.
pub(crate) unsafe extern "C" fn ring<S: Seat>(queue: *mut Queue) -> c_int {
    // SAFETY: by the caller.
    let seat = unsafe { seat_of::<S>(queue) };
    guarded_io(|| {
        seat.ring();
        0
    })
}

/// Submits the `count` I/Os at `ios` from index `from` on, up to the first that is refused, and rings the doorbell.
/// Returns 0, or the negative errno of the refused one, with its index in `count`.
///
/// # Safety
/// `queue` is one with this seat, which nobody else uses; `ios` has `count` of them, each with a handle or
/// NULL.
pub(crate) unsafe fn submit_all<S: Seat>(
    queue: &mut Queue,
    ios: *const joulio_io,
    count: &mut u32,
    from: u32,
) -> c_int {
    let mut refused = 0;
    for at in from..*count {
        // SAFETY: below `count`, by the caller.
        let io = unsafe { &*ios.add(at as usize) };
        // SAFETY: by the caller.
        refused = unsafe { submit_one::<S>(queue, io) };
        if refused != 0 {
            *count = at;
            break;
        }
    }
    // SAFETY: by the caller.
    unsafe { seat_of::<S>(queue) }.ring();
    refused
}

/// # Safety
/// `queue` is one with a seat `S`, which nobody else uses; the I/O has a handle or NULL.
unsafe fn submit_one<S: Seat>(queue: &mut Queue, io: &joulio_io) -> c_int {
    let &joulio_io {
        lba,
        buffer,
        tag,
        blocks,
        opcode,
    } = io;
    // SAFETY: by the caller.
    unsafe {
        match opcode {
            JOULIO_READ => transfer::<S, false>(queue, lba, blocks, buffer, tag),
            JOULIO_WRITE if queue.may_write => transfer::<S, true>(queue, lba, blocks, buffer, tag),
            JOULIO_WRITE => refuse_write(),
            other => refuse_opcode(other),
        }
    }
}

#[cold]
#[inline(never)]
extern "C" fn refuse_opcode(opcode: u32) -> c_int {
    let text = format!("opcode {opcode:#x}: JOULIO_READ or JOULIO_WRITE");
    failed(&Failure::new(Errno::INVAL, text))
}

/// Submits with `buffer` through `submit`; the buffer remains the caller's if that fails. Returns 0, or a negative
/// errno whose text is kept.
///
/// # Safety
/// `buffer` is NULL or a buffer.
#[inline(always)]
pub(crate) unsafe fn with_buffer(
    buffer: *mut joulio_buffer,
    tag: u64,
    submit: impl FnOnce(DmaBuffer, u64) -> Result<(), Rejected>,
) -> c_int {
    guarded_io(|| {
        // SAFETY: by the caller.
        let Some(held) = (unsafe { handle::find(buffer) }) else {
            // SAFETY: by the caller.
            return unsafe { handle::refuse(buffer) };
        };
        let Some(memory) = held.take(tag) else {
            return held.refuse_absent();
        };
        match submit(memory, DriverTag::of_buffer(buffer)) {
            Ok(()) => 0,
            Err(rejected) => refuse_command(held, rejected),
        }
    })
}

impl Queue {
    /// Submits `what` with `buffer`, which remains the caller's if that fails; returns 0 or a negative errno.
    ///
    /// # Safety
    /// `buffer` is NULL or a buffer.
    pub(crate) unsafe fn transfer(
        &mut self,
        what: What<'_>,
        buffer: *mut joulio_buffer,
        tag: u64,
    ) -> c_int {
        // SAFETY: by the caller.
        unsafe {
            with_buffer(buffer, tag, |memory, tag| {
                self.opened.transfer(what, memory, tag)
            })
        }
    }
}

/// Returns the negative errno of a command that was not submitted; `held` has its memory again.
#[cold]
#[inline(never)]
fn refuse_command(held: &mut Buffer, rejected: Rejected) -> c_int {
    held.put(rejected.buffer);
    failed(&refused(&rejected.reason))
}

impl<S: Seat> Commands for S {
    fn transfer(&mut self, what: What<'_>, memory: DmaBuffer, tag: u64) -> Result<(), Rejected> {
        self.with(|queue, namespace| match what {
            What::Blocks(kind, range, offset) => {
                queue.transfer(kind, namespace, range, (memory, offset), tag)
            }
            What::Raw(command) => queue.submit_with_data(namespace, *command, memory, tag),
            What::Deallocate(ranges) => queue.deallocate(namespace, ranges, memory, tag),
        })
    }

    fn transfer_list(
        &mut self,
        what: Scattered,
        memory: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList> {
        self.with(|queue, namespace| match what {
            Scattered::Read(lba, blocks) => queue.readv(namespace, lba, blocks, memory, tag),
            Scattered::Write(lba, blocks) => queue.writev(namespace, lba, blocks, memory, tag),
            Scattered::Raw(command) => queue.submit_with_list(namespace, command, memory, tag),
        })
    }

    fn submit(&mut self, command: Command, tag: u64) -> Result<(), SubmitError> {
        self.with(|queue, namespace| queue.submit(namespace, command, tag))
    }

    fn flush(&mut self, tag: u64) -> Result<(), SubmitError> {
        self.with(|queue, namespace| queue.flush(namespace, tag))
    }

    fn outstanding(&mut self) -> usize {
        self.with(|queue, _| queue.outstanding())
    }

    fn each_tag(&mut self, each: &mut dyn FnMut(u64)) {
        self.with(|queue, _| queue.tags().for_each(each));
    }

    fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError> {
        self.with(|queue, _| queue.set_policy(policy))
    }

    fn direct_interrupts(&mut self, cpu: usize) -> Result<Option<CpuList>, NvmeError> {
        self.with(|queue, _| queue.direct_interrupts(cpu))
    }
}
