//! Seats of queue pairs, alone or in a group, and commands to a pair in its seat.

use crate::any_queue::{Commands, Scattered, What};
use crate::buffer::{Buffer, joulio_buffer, refuse_in_flight};
use crate::commands::{JOULIO_READ, JOULIO_WRITE, joulio_io};
use crate::error::{Failure, failed, guarded_io};
use crate::handle;
use crate::queue::{Queue, refuse_write, refused};
use crate::queue_id::QueueId;
use crate::slots::DriverTag;
use joulio_device::{BufferList, Device, DmaBuffer};
use joulio_nvme::{
    Namespace, PolicyError, QueuePair, Rejected, RejectedList, SubmitError, Transfer,
};
use joulio_nvme_spec::Command;
use joulio_wait::AnyPolicy;
use rustix::io::Errno;
use std::ffi::c_int;

/// A place that a queue pair is in.
pub(crate) trait Seat: Send + 'static {
    type Device: Device;
    fn id(&self) -> QueueId;
    /// Runs `run` with the queue, which may be given commands.
    fn with<T>(&mut self, run: impl FnOnce(&mut QueuePair<Self::Device>, &Namespace) -> T) -> T;
    /// Submits what most I/Os are, of one page, with the buffer's handle and the caller's tag, without a
    /// call; whether that was done.
    ///
    /// # Safety
    /// `buffer` is NULL or a buffer.
    #[inline(always)]
    unsafe fn transfer_page(
        &mut self,
        kind: Transfer,
        lba: u64,
        blocks: u32,
        buffer: *mut joulio_buffer,
        tag: u64,
    ) -> bool {
        let _ = (kind, lba, blocks, buffer, tag);
        false
    }
}

#[inline(always)]
pub(crate) const fn kind(write: bool) -> Transfer {
    match write {
        true => Transfer::WRITE,
        false => Transfer::READ,
    }
}

/// Reads, or writes if `WRITE`, on the queue at `seat`.
///
/// # Safety
/// `seat` is an `S`, which nobody else uses; `buffer` is NULL or a buffer.
#[inline(never)]
pub(crate) unsafe extern "C" fn transfer<S: Seat, const WRITE: bool>(
    seat: *mut (),
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let seat = unsafe { &mut *seat.cast::<S>() };
    // SAFETY: by the caller.
    unsafe {
        with_buffer(buffer, tag, seat.id(), |memory, tag| {
            let range = (lba, blocks);
            seat.with(|queue, namespace| {
                queue.transfer(kind(WRITE), namespace, range, (memory, 0), tag)
            })
        })
    }
}

/// Rings the doorbell of the queue at `seat`.
///
/// # Safety
/// `seat` is an `S`, which nobody else uses.
pub(crate) unsafe extern "C" fn ring<S: Seat>(seat: *mut ()) -> c_int {
    // SAFETY: by the caller.
    let seat = unsafe { &mut *seat.cast::<S>() };
    guarded_io(|| {
        seat.with(|queue, _| queue.ring());
        0
    })
}

/// Submits the `count` I/Os at `ios` up to the first that is refused, and rings the doorbell. 0, or the
/// negative errno of that one, and in `count` the number of those before it.
///
/// # Safety
/// `queue` is one with this seat, which nobody else uses; `ios` has `count` of them, each with a handle or
/// NULL.
#[inline(always)]
pub(crate) unsafe fn submit_all<S: Seat>(
    queue: &mut Queue,
    ios: *const joulio_io,
    count: &mut u32,
) -> c_int {
    let (seat, may_write) = (queue.this(), queue.may_write);
    let mut refused = 0;
    for at in 0..*count {
        // SAFETY: by the caller.
        let io = unsafe { &*ios.add(at as usize) };
        // SAFETY: by the caller.
        refused = unsafe { submit_one::<S>(seat, io, may_write) };
        if refused != 0 {
            *count = at;
            break;
        }
    }
    // SAFETY: by the caller.
    unsafe { &mut *seat.cast::<S>() }.with(|queue, _| queue.ring());
    refused
}

/// # Safety
/// `seat` is an `S`, which nobody else uses; the I/O has a handle or NULL.
#[inline(always)]
unsafe fn submit_one<S: Seat>(seat: *mut (), io: &joulio_io, may_write: bool) -> c_int {
    // SAFETY: by the caller.
    unsafe {
        match io.opcode {
            JOULIO_READ => submit_kind::<S, false>(seat, io),
            JOULIO_WRITE if may_write => submit_kind::<S, true>(seat, io),
            JOULIO_WRITE => refuse_write(),
            other => refuse_opcode(other),
        }
    }
}

/// # Safety
/// As [`submit_one`].
#[inline(always)]
unsafe fn submit_kind<S: Seat, const WRITE: bool>(seat: *mut (), io: &joulio_io) -> c_int {
    let &joulio_io {
        lba,
        buffer,
        tag,
        blocks,
        ..
    } = io;
    // SAFETY: by the caller.
    let this = unsafe { &mut *seat.cast::<S>() };
    // SAFETY: by the caller.
    match unsafe { this.transfer_page(kind(WRITE), lba, blocks, buffer, tag) } {
        true => 0,
        // SAFETY: by the caller.
        false => unsafe { transfer::<S, WRITE>(seat, lba, blocks, buffer, tag) },
    }
}

#[cold]
#[inline(never)]
extern "C" fn refuse_opcode(opcode: u32) -> c_int {
    let text = format!("opcode {opcode:#x}: JOULIO_READ or JOULIO_WRITE");
    failed(&Failure::new(Errno::INVAL, text))
}

/// Submits with `buffer` by `submit`; the buffer stays the caller's where that fails. 0, or a negative
/// errno whose text is kept.
///
/// # Safety
/// `buffer` is NULL or a buffer.
#[inline(always)]
pub(crate) unsafe fn with_buffer(
    buffer: *mut joulio_buffer,
    tag: u64,
    id: QueueId,
    submit: impl FnOnce(DmaBuffer, u64) -> Result<(), Rejected>,
) -> c_int {
    guarded_io(|| {
        // SAFETY: by the caller.
        let Some(held) = (unsafe { handle::find(buffer) }) else {
            return handle::refuse(buffer);
        };
        let Some(memory) = held.take(tag, id) else {
            return refuse_in_flight();
        };
        match submit(memory, DriverTag::of_buffer(buffer)) {
            Ok(()) => 0,
            Err(rejected) => refuse_command(held, rejected),
        }
    })
}

/// The negative errno of a command that was not submitted; `held` has its memory again.
#[cold]
#[inline(never)]
fn refuse_command(held: &mut Buffer, rejected: Rejected) -> c_int {
    held.put(rejected.buffer);
    failed(&refused(&rejected.reason))
}

impl<S: Seat> Commands for S {
    fn id(&self) -> QueueId {
        Seat::id(self)
    }

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

    fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError> {
        self.with(|queue, _| queue.set_policy(policy))
    }
}
