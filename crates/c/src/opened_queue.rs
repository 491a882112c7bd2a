//! Queue pairs of any back end behind one type.

use crate::buffer::{Buffer, joulio_buffer, refuse_in_flight};
use crate::error::{Failure, failed, guarded_io};
use crate::handle;
use crate::queue::{Backlog, Sink, joulio_completion, refused};
use crate::queue_id::QueueId;
use crate::slots::DriverTag;
use joulio_device::{Device, DmaBuffer};
use joulio_nvme::{
    EventGroup, Namespace, NvmeError, PolicyError, PollGroup, QueuePair, Rejected, SubmitError,
    Transfer,
};
use joulio_nvme_spec::Command;
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, WaitCounters, now};
use rustix::io::Errno;
use std::ffi::c_int;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

/// A queue pair in a group of its own, whatever its back end.
pub(crate) trait AnyQueue: Send {
    /// Number of the queue.
    fn id(&self) -> QueueId;
    /// What is done for each I/O.
    fn calls(&self) -> Calls;
    /// Submits `what` with a buffer's memory by a driver's tag.
    fn transfer(&mut self, what: What<'_>, memory: DmaBuffer, tag: u64) -> Result<(), Rejected>;
    fn submit(&mut self, command: Command, tag: u64) -> Result<(), SubmitError>;
    fn flush(&mut self, tag: u64) -> Result<(), SubmitError>;
    fn arm(&mut self) -> Result<bool, NvmeError>;
    fn fd(&self) -> BorrowedFd<'_>;
    fn outstanding(&mut self) -> usize;
    fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError>;
    fn counters(&mut self) -> WaitCounters;
}

/// Submission of a read or a write on a queue, which the first argument points to: with a buffer's handle
/// and the caller's tag. 0, or a negative errno whose text is kept.
pub(crate) type SubmitCall =
    unsafe extern "C" fn(*mut (), u64, u32, *mut joulio_buffer, u64) -> c_int;

/// What is done for each I/O, without a way to unwind, so that who calls them needs none either.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) read: SubmitCall,
    pub(crate) write: SubmitCall,
    pub(crate) ring: unsafe extern "C" fn(*mut ()) -> c_int,
    pub(crate) reap: ReapCall,
}

/// Completions of a queue, which the first argument points to: at least and at most how many, a timeout in
/// nanoseconds (below zero: none), the caller's array, and what the queue keeps. How many there are, or a
/// negative errno whose text is kept.
pub(crate) type ReapCall =
    unsafe extern "C" fn(*mut (), u32, u32, i64, *mut joulio_completion, *mut Backlog) -> c_int;

/// A command that moves data, but for reads and writes.
pub(crate) enum What<'a> {
    Raw(&'a Command),
    Deallocate(&'a [Range<u64>]),
}

/// A queue pair of this device, in a group of its own.
pub(crate) struct OpenedQueue<D: Device> {
    group: EventGroup<D>,
    namespace: Namespace,
    id: QueueId,
}

impl<D: Device> OpenedQueue<D> {
    /// The queue `pair` for commands to `namespace`.
    pub(crate) fn new(
        pair: QueuePair<D>,
        namespace: Namespace,
    ) -> Result<OpenedQueue<D>, NvmeError> {
        Ok(OpenedQueue {
            group: EventGroup::new(PollGroup::new(vec![pair]))?,
            namespace,
            id: QueueId::new(),
        })
    }
}

impl<D: Device> Drop for OpenedQueue<D> {
    fn drop(&mut self) {
        self.id.end();
    }
}

/// Reads, or writes if `WRITE`, on the queue `this`.
///
/// # Safety
/// `this` is an [`OpenedQueue`] of this device, which nobody else uses; `buffer` is NULL or a buffer.
unsafe extern "C" fn transfer<D: Device, const WRITE: bool>(
    this: *mut (),
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    let kind = match WRITE {
        true => Transfer::WRITE,
        false => Transfer::READ,
    };
    // SAFETY: by the caller.
    let this = unsafe { &mut *this.cast::<OpenedQueue<D>>() };
    // SAFETY: by the caller.
    unsafe {
        with_buffer(buffer, tag, this.id, |memory, tag| {
            let (queue, namespace) = this.queue_and_namespace();
            queue.transfer(kind, namespace, (lba, blocks), (memory, 0), tag)
        })
    }
}

/// Rings the doorbell of the queue `this`.
///
/// # Safety
/// `this` is an [`OpenedQueue`] of this device, which nobody else uses.
unsafe extern "C" fn ring<D: Device>(this: *mut ()) -> c_int {
    // SAFETY: by the caller.
    let this = unsafe { &mut *this.cast::<OpenedQueue<D>>() };
    guarded_io(|| {
        this.queue().ring();
        0
    })
}

/// Reaps completions of the queue `this`.
///
/// # Safety
/// As [`ring`]; `completions` has room for `max`, `backlog` is the queue's.
unsafe extern "C" fn reap<D: Device>(
    this: *mut (),
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
    backlog: *mut Backlog,
) -> c_int {
    // SAFETY: by the caller.
    let (this, backlog) = unsafe { (&mut *this.cast::<OpenedQueue<D>>(), &mut *backlog) };
    guarded_io(|| {
        let deadline = match u64::try_from(timeout_ns) {
            Ok(timeout) => deadline(min, timeout),
            Err(_) => None,
        };
        // SAFETY: by the caller.
        let mut sink = unsafe { Sink::new(completions, max, backlog) };
        let group = this.group.group();
        let reaped = group.reap(min as usize, deadline, |_, done| sink.put(done));
        let found = sink.found(completions);
        match reaped {
            // What ended beside the failure is not lost: the failure comes again if it lasts.
            Err(error) if found == 0 => refuse_wait(error),
            _ => found,
        }
    })
}

/// When a wait for `min` completions with a timeout ends.
#[inline(never)]
fn deadline(min: u32, timeout: u64) -> Option<Nanos> {
    (min > 0).then(|| Nanos(now().0.saturating_add(timeout)))
}

#[cold]
#[inline(never)]
fn refuse_wait(error: NvmeError) -> c_int {
    failed(&Failure::new(Errno::IO, error))
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

impl<D: Device> OpenedQueue<D> {
    #[inline]
    fn queue(&mut self) -> &mut QueuePair<D> {
        self.queue_and_namespace().0
    }

    #[inline]
    fn queue_and_namespace(&mut self) -> (&mut QueuePair<D>, &Namespace) {
        (&mut self.group.group().queues()[0], &self.namespace)
    }
}

impl<D: Device> AnyQueue for OpenedQueue<D> {
    fn id(&self) -> QueueId {
        self.id
    }

    fn calls(&self) -> Calls {
        Calls {
            read: transfer::<D, false>,
            write: transfer::<D, true>,
            ring: ring::<D>,
            reap: reap::<D>,
        }
    }

    fn transfer(&mut self, what: What<'_>, memory: DmaBuffer, tag: u64) -> Result<(), Rejected> {
        let (queue, namespace) = self.queue_and_namespace();
        match what {
            What::Raw(command) => queue.submit_with_data(namespace, *command, memory, tag),
            What::Deallocate(ranges) => queue.deallocate(namespace, ranges, memory, tag),
        }
    }

    fn submit(&mut self, command: Command, tag: u64) -> Result<(), SubmitError> {
        let (queue, namespace) = self.queue_and_namespace();
        queue.submit(namespace, command, tag)
    }

    fn flush(&mut self, tag: u64) -> Result<(), SubmitError> {
        let (queue, namespace) = self.queue_and_namespace();
        queue.flush(namespace, tag)
    }

    fn arm(&mut self) -> Result<bool, NvmeError> {
        self.group.arm()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }

    fn outstanding(&mut self) -> usize {
        self.queue().outstanding()
    }

    fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError> {
        self.queue().set_policy(policy)
    }

    fn counters(&mut self) -> WaitCounters {
        self.group.group().counters()
    }
}
