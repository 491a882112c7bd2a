//! Queue pairs of any back end behind one type.

use crate::buffer::joulio_buffer;
use crate::commands::joulio_io;
use crate::completions::joulio_completion;
use crate::error::Failure;
use crate::opened_group::AnyGroup;
use crate::queue::{Queue, joulio_queue};
use crate::slots::Slots;
use joulio_device::{BufferList, DmaBuffer};
use joulio_nvme::{PolicyError, Rejected, RejectedList, SubmitError, Transfer};
use joulio_nvme_spec::Command;
use joulio_wait::{AnyPolicy, WaitCounters};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ops::Range;

/// Commands on a queue pair of any back end.
pub(crate) trait Commands: Send {
    /// Submits `what` with a buffer's memory and the driver's tag.
    fn transfer(&mut self, what: What<'_>, memory: DmaBuffer, tag: u64) -> Result<(), Rejected>;
    fn transfer_list(
        &mut self,
        what: Scattered,
        memory: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList>;
    fn submit(&mut self, command: Command, tag: u64) -> Result<(), SubmitError>;
    fn flush(&mut self, tag: u64) -> Result<(), SubmitError>;
    fn outstanding(&mut self) -> usize;
    /// Calls `each` with the driver's tag of each outstanding command.
    fn each_tag(&mut self, each: &mut dyn FnMut(u64));
    fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError>;
}

/// A queue pair of any back end, alone or in a group: in the [`crate::seat::Seat`] that its calls are for.
pub(crate) trait AnyQueue: Commands {
    /// Returns the queue's functions for each I/O.
    fn calls(&self) -> Calls;
    fn counters(&mut self) -> WaitCounters;
    /// Enables interrupts, then polls; true if nothing was found.
    fn arm(&mut self) -> Result<bool, Failure>;
    fn fd(&self) -> Result<c_int, Failure>;
    /// Moves the queue into the group, where its commands are those of `handle`; this value is empty after that.
    fn join(
        &mut self,
        group: &dyn AnyGroup,
        handle: *mut joulio_queue,
    ) -> Result<Box<dyn AnyQueue>, Failure>;
    /// Moves the queue out of the group; this value is empty after that.
    fn leave(&mut self, group: &dyn AnyGroup) -> Result<Box<dyn AnyQueue>, Failure>;
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

/// A command that transfers data, other than the usual reads and writes.
pub(crate) enum What<'a> {
    /// First block and number of blocks, to or from an offset of the buffer.
    Blocks(Transfer, (u64, u32), usize),
    Raw(&'a Command),
    Deallocate(&'a [Range<u64>]),
}

/// A command with a list of buffers.
pub(crate) enum Scattered {
    /// First block and number of blocks.
    Read(u64, u32),
    Write(u64, u32),
    Raw(Command),
}
