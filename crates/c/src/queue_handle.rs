//! Handles of queues, and queue pairs and groups of any back end behind them.

use crate::any_commands::Commands;
use crate::buffer_handle::joulio_buffer;
use crate::error::{Failure, failed, refused};
use crate::handle::{Handle, Spare};
use crate::io::{joulio_completion, joulio_io};
use crate::slots::Slots;
use joulio_nvme::SubmitError;
use joulio_nvme_spec::{Command, NvmOpcode};
use joulio_wait::WaitCounters;
use rustix::io::Errno;
use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr::null_mut;

/// A queue pair of a namespace, with a completion mode.
pub struct joulio_queue {
    _private: [u8; 0],
}

impl Handle for joulio_queue {
    type Value = Queue;
    const NAME: &'static str = "queue";
    const MARK: u64 = u64::from_le_bytes(*b"jlQueue.");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// State behind a queue's handle.
pub(crate) struct Queue {
    pub(crate) opened: Box<dyn AnyQueue>,
    /// Functions of `opened` for each I/O.
    pub(crate) calls: Calls,
    pub(crate) backlog: Backlog,
    pub(crate) may_write: bool,
    /// Number of calls that reap before one takes the slow path.
    pub(crate) calls_left: u32,
    /// Arguments of the last call that reaped, or submitted and waited.
    pub(crate) call: Call,
}

/// Arguments of a call that reaps, or submits and waits. They are kept in memory, so that the loops over I/Os and
/// completions have the registers, and none is saved for them.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// Number of I/Os to submit, which a refusal changes.
    pub(crate) count: *mut u32,
    pub(crate) room: Room,
}

/// Number of completions that a call wants within a timeout in nanoseconds, and the caller's array of `max`.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) timeout_ns: i64,
    pub(crate) completions: *mut joulio_completion,
}

impl Call {
    pub(crate) const NONE: Call = Call {
        count: null_mut(),
        room: Room {
            min: 0,
            max: 0,
            timeout_ns: 0,
            completions: null_mut(),
        },
    };
}

/// Calls after which the group of a queue checks it, as it also does when it waits: commands that take too long, a
/// controller that failed.
pub(crate) const CALLS: u32 = 4096;

/// A queue pair of any back end, alone or in a group: in the [`crate::seat::Seat`] that its calls are for.
pub(crate) trait AnyQueue: Commands + Any {
    /// Returns the queue's functions for each I/O.
    fn calls(&self) -> Calls;
    fn counters(&mut self) -> WaitCounters;
    /// Enables interrupts, then polls; true if nothing was found.
    fn arm(&mut self) -> Result<bool, Failure>;
    fn fd(&self) -> Result<c_int, Failure>;
    /// Whether the queue is in a group.
    fn is_member(&self) -> bool;
}

/// Function that submits a read or a write on a queue, with a buffer's handle and the caller's tag. Returns 0, or a
/// negative errno whose text is kept.
pub(crate) type SubmitCall =
    unsafe extern "C" fn(*mut Queue, u64, u32, *mut joulio_buffer, u64) -> c_int;

/// The functions of a queue that are called for each I/O. They do not unwind, so that their callers need no code for
/// that. Each is called with the queue that it belongs to, which nobody else uses meanwhile, and borrows what it needs
/// of it.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) read: SubmitCall,
    pub(crate) write: SubmitCall,
    pub(crate) ring: unsafe extern "C" fn(*mut Queue) -> c_int,
    pub(crate) reap: ReapCall,
    pub(crate) submit_and_wait: SubmitAndWaitCall,
}

/// Function behind joulio_submit_and_wait(), whose arguments, apart from the I/Os, were checked.
pub(crate) type SubmitAndWaitCall = unsafe extern "C" fn(
    *mut Queue,
    *const joulio_io,
    *mut u32,
    u32,
    u32,
    i64,
    *mut joulio_completion,
) -> c_int;

/// Function that reaps completions of a queue: at least and at most how many, a timeout in nanoseconds (below zero:
/// none), and the caller's array. Returns their number, or a negative errno whose text is kept.
pub(crate) type ReapCall =
    unsafe extern "C" fn(*mut Queue, u32, u32, i64, *mut joulio_completion) -> c_int;

/// The state that a queue keeps between calls.
pub(crate) struct Backlog {
    /// Tags of commands without a buffer.
    pub(crate) slots: Slots,
    /// Completions that the caller's array had no room for. They remain the queue's when it joins or leaves a group.
    pub(crate) left: VecDeque<joulio_completion>,
    /// Reason why the controller can no longer be used, until a call that returns no completions reports it.
    pub(crate) ended: Option<Failure>,
}

/// A group of queues of any back end. One thread at a time uses it, and any thread wakes it.
pub(crate) trait AnyGroup: Send + Sync {
    /// Moves a queue into the group, where its commands are those of `handle`; `queue` is empty after that.
    fn join(
        &self,
        queue: &mut dyn AnyQueue,
        handle: *mut joulio_queue,
    ) -> Result<Box<dyn AnyQueue>, Failure>;
    /// Moves a queue out of the group; `queue` is empty after that.
    fn leave(&self, queue: &mut dyn AnyQueue) -> Result<Box<dyn AnyQueue>, Failure>;
    /// Number of queues.
    fn count(&self) -> usize;
    fn outstanding(&self) -> usize;
    fn counters(&self) -> WaitCounters;
    /// Enables interrupts, then polls; true if nothing was found.
    fn arm(&self) -> Result<bool, Failure>;
    /// Makes the descriptor readable until the group is armed again.
    fn wake(&self) -> Result<(), Failure>;
    fn fd(&self) -> c_int;
    /// Reaps completions, as described for [`ReapCall`].
    ///
    /// # Safety
    /// `completions` has room for `max`.
    unsafe fn reap(
        &self,
        min: u32,
        max: u32,
        timeout_ns: i64,
        completions: *mut joulio_completion,
    ) -> c_int;
}

impl Backlog {
    /// Whether anything is left for the next call.
    pub(crate) fn has_some(&self) -> bool {
        !self.left.is_empty() || self.ended.is_some()
    }

    /// Keeps a completion that the caller's array has no room for.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep(&mut self, tag: u64, buffer: *mut joulio_buffer, result: u32, status: u16) {
        self.left.push_back(joulio_completion {
            tag,
            buffer,
            result,
            status,
        });
    }
}

impl Queue {
    pub(crate) fn opened(&mut self) -> &mut dyn AnyQueue {
        &mut *self.opened
    }

    /// Returns the queue's seat and its backlog.
    ///
    /// # Safety
    /// The queue's seat is an `S`.
    #[inline(always)]
    pub(crate) unsafe fn parts<S>(&mut self) -> (&mut S, &mut Backlog) {
        let seat: *mut S = (&raw mut *self.opened).cast();
        // SAFETY: by the caller; borrowed with the queue.
        (unsafe { &mut *seat }, &mut self.backlog)
    }

    /// Replaces the queue by the one that `change` makes of it, in a group or alone.
    pub(crate) fn become_by(
        &mut self,
        change: impl FnOnce(&mut dyn AnyQueue) -> Result<Box<dyn AnyQueue>, Failure>,
    ) -> Result<(), Failure> {
        self.opened = change(&mut *self.opened)?;
        self.calls = self.opened.calls();
        Ok(())
    }

    /// Makes the next call that reaps take the slow path, where completions are left over or the controller is used no
    /// more.
    pub(crate) fn note_left(&mut self) {
        if self.backlog.has_some() {
            self.calls_left = 1;
        }
    }

    /// Submits a command without data through `submit`.
    pub(crate) fn without_buffer(
        &mut self,
        tag: u64,
        submit: impl FnOnce(&mut dyn AnyQueue, u64) -> Result<(), SubmitError>,
    ) -> Result<c_int, Failure> {
        let slot = self.backlog.slots.enter(tag)?;
        match submit(&mut *self.opened, slot) {
            Ok(()) => Ok(0),
            Err(reason) => {
                self.backlog.slots.leave((slot >> 1) as u32);
                Err(refused(&reason))
            }
        }
    }

    pub(crate) fn check_write(&self) -> Result<(), Failure> {
        match self.may_write {
            true => Ok(()),
            false => Err(no_leave()),
        }
    }

    /// Refuses a command that may change the namespace, if that is not permitted.
    pub(crate) fn check_leave(&self, command: &Command) -> Result<(), Failure> {
        match only_reads(NvmOpcode(command.dword0().opc())) {
            true => Ok(()),
            false => self.check_write(),
        }
    }
}

#[cold]
fn no_leave() -> Failure {
    Failure::new(
        Errno::PERM,
        "the device was opened without JOULIO_ALLOW_WRITE: nothing on it is changed",
    )
}

#[cold]
#[inline(never)]
pub(crate) extern "C" fn refuse_write() -> c_int {
    failed(&no_leave())
}

/// Whether a command certainly changes nothing on the namespace.
fn only_reads(opcode: NvmOpcode) -> bool {
    matches!(
        opcode,
        NvmOpcode::FLUSH
            | NvmOpcode::READ
            | NvmOpcode::COMPARE
            | NvmOpcode::VERIFY
            | NvmOpcode::RESERVATION_REPORT
            | NvmOpcode::IO_MANAGEMENT_RECEIVE
            | NvmOpcode::ZONE_MANAGEMENT_RECEIVE
    )
}
