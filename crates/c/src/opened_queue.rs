//! A queue pair that is alone: in a group of its own.

use crate::any_queue::{AnyQueue, Backlog, Calls};
use crate::buffer::joulio_buffer;
use crate::commands::joulio_io;
use crate::completions::{Sink, joulio_completion, with_more};
use crate::error::{Failure, guarded_io};
use crate::handle;
use crate::opened_group::{AnyGroup, Members};
use crate::queue::{Queue, joulio_queue};
use crate::queue_id::QueueId;
use crate::seat::{Seat, kind, ring, submit_all, transfer};
use crate::slots::DriverTag;
use joulio_device::Device;
use joulio_nvme::{EventGroup, Namespace, NvmeError, PollGroup, QueuePair, Transfer};
use joulio_units::Nanos;
use joulio_wait::{WaitCounters, now};
use rustix::io::Errno;
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};

/// A queue pair of this device, in a group of its own.
pub(crate) struct OpenedQueue<D: Device> {
    group: EventGroup<D>,
    namespace: Namespace,
    id: QueueId,
    /// Calls until the group is to check its queues.
    calls_left: u32,
}

impl<D: Device> OpenedQueue<D> {
    /// A place for a queue pair, for commands to `namespace`.
    pub(crate) fn empty(namespace: Namespace, id: QueueId) -> Result<OpenedQueue<D>, NvmeError> {
        Ok(OpenedQueue {
            group: EventGroup::new(PollGroup::new(Vec::new()))?,
            namespace,
            id,
            calls_left: CALLS,
        })
    }

    /// Puts the queue pair there.
    pub(crate) fn put(&mut self, pair: QueuePair<D>) {
        self.group.group().push(pair);
    }
}

impl<D: Device> Seat for OpenedQueue<D> {
    type Device = D;

    fn id(&self) -> QueueId {
        self.id
    }

    #[inline(always)]
    fn with<T>(&mut self, run: impl FnOnce(&mut QueuePair<D>, &Namespace) -> T) -> T {
        run(&mut self.group.group().queues()[0], &self.namespace)
    }

    #[inline(always)]
    unsafe fn transfer_page(
        &mut self,
        kind: Transfer,
        lba: u64,
        blocks: u32,
        buffer: *mut joulio_buffer,
        tag: u64,
    ) -> bool {
        // SAFETY: by the caller.
        let held = unsafe { handle::find(buffer) };
        let queue = self.group.group().queues().get_noticed(0);
        let (Some(held), Some(queue)) = (held, queue) else {
            return false;
        };
        let Some(memory) = held.take(tag, self.id) else {
            return false;
        };
        let (range, tag) = ((lba, blocks), DriverTag::of_buffer(buffer));
        match queue.transfer_page(kind, &self.namespace, range, memory, tag) {
            Ok(()) => true,
            Err(memory) => {
                held.put(memory);
                false
            }
        }
    }
}

/// Reads, or writes if `WRITE`, on the queue `this`. What most I/Os are is done without a call, so that
/// nothing is saved for one.
///
/// # Safety
/// `this` is an [`OpenedQueue`] of this device, which nobody else uses; `buffer` is NULL or a buffer.
unsafe extern "C" fn transfer_page<D: Device, const WRITE: bool>(
    this: *mut (),
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let opened = unsafe { &mut *this.cast::<OpenedQueue<D>>() };
    // SAFETY: by the caller.
    match unsafe { opened.transfer_page(kind(WRITE), lba, blocks, buffer, tag) } {
        true => 0,
        // SAFETY: by the caller.
        false => unsafe { transfer::<OpenedQueue<D>, WRITE>(this, lba, blocks, buffer, tag) },
    }
}

/// Reaps completions of the queue `this`.
///
/// # Safety
/// `this` is an [`OpenedQueue`] of this device, which nobody else uses; `completions` has room for `max`,
/// `backlog` is the queue's.
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
    // SAFETY: by the caller.
    guarded_io(|| unsafe { this.reap::<false>(min, max, timeout_ns, completions, backlog) })
}

/// Submits and waits, on a queue that is alone.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses; the others are as for
/// joulio_submit_and_wait().
unsafe extern "C" fn submit_and_wait<D: Device>(
    queue: *mut Queue,
    ios: *const joulio_io,
    count: *mut u32,
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    // SAFETY: by the caller.
    let (queue, count) = unsafe { (&mut *queue, &mut *count) };
    guarded_io(|| {
        // SAFETY: by the caller.
        let refused = unsafe { submit_all::<OpenedQueue<D>>(queue, ios, count) };
        if refused != 0 || max == 0 {
            return refused;
        }
        // SAFETY: by the caller.
        let this = unsafe { &mut *queue.this().cast::<OpenedQueue<D>>() };
        // SAFETY: by the caller.
        unsafe { this.reap::<true>(min, max, timeout_ns, completions, &mut queue.backlog) }
    })
}

impl<D: Device> OpenedQueue<D> {
    /// Hands out what is there, and waits only where that is too little. The loop over completions is made for each
    /// caller, by `BATCH`, so that it becomes a part of it.
    ///
    /// # Safety
    /// `completions` has room for `max`.
    #[inline(always)]
    unsafe fn reap<const BATCH: bool>(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: i64,
        completions: *mut joulio_completion,
        backlog: &mut Backlog,
    ) -> c_int {
        self.calls_left -= 1;
        if self.calls_left == 0 {
            // SAFETY: by the caller.
            return unsafe { self.check_and_reap(min, max, timeout_ns, completions, backlog) };
        }
        let Backlog { slots, left } = backlog;
        // SAFETY: by the caller.
        let mut sink = unsafe { Sink::new(completions, max, left) };
        let queue = &mut self.group.group().queues()[0];
        let reaped = queue.reap(max as usize, |done| sink.put(done, slots));
        let found = sink.found(completions);
        match reaped {
            Ok(_) if found >= min => found as c_int,
            // SAFETY: by the caller.
            Ok(_) => unsafe { self.wait(min, max, timeout_ns, completions, backlog, found) },
            Err(fault) => sink.ended(completions, Err(fault.into())),
        }
    }

    /// Reaps as [`OpenedQueue::reap`], and has the group check its queues if that is due.
    ///
    /// # Safety
    /// As [`OpenedQueue::reap`].
    #[cold]
    #[inline(never)]
    unsafe fn check_and_reap(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: i64,
        completions: *mut joulio_completion,
        backlog: &mut Backlog,
    ) -> c_int {
        self.calls_left = CALLS;
        let Backlog { slots, left } = backlog;
        // SAFETY: by the caller.
        let mut sink = unsafe { Sink::new(completions, max, left) };
        let reaped = self
            .group
            .reap(max as usize, |_, done| sink.put(done, slots));
        let found = sink.found(completions);
        match reaped {
            // SAFETY: by the caller.
            Ok(_) if found < min => unsafe {
                self.wait(min, max, timeout_ns, completions, backlog, found)
            },
            reaped => sink.ended(completions, reaped),
        }
    }

    /// Reaps as [`OpenedQueue::reap`], behind `found` completions that are there; the group checks its queues.
    ///
    /// # Safety
    /// As [`OpenedQueue::reap`]; `found` is at most `max`.
    #[inline(never)]
    unsafe fn wait(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: i64,
        completions: *mut joulio_completion,
        Backlog { slots, left }: &mut Backlog,
        found: u32,
    ) -> c_int {
        // SAFETY: by the caller.
        let behind = unsafe { completions.add(found as usize) };
        // SAFETY: there is room for so many more.
        let mut sink = unsafe { Sink::new(behind, max - found, left) };
        let min = min - found.min(min);
        let deadline = deadline(min, timeout_ns);
        let group = self.group.group();
        let reaped = group.reap(min as usize, deadline, |_, done| sink.put(done, slots));
        with_more(found, sink.ended(behind, reaped))
    }
}

/// Calls until the group checks its queues, as it does where it waits: commands that take too long, a
/// controller that failed.
const CALLS: u32 = 4096;

/// When a wait for `min` completions with a timeout ends.
#[inline]
pub(crate) fn deadline(min: u32, timeout_ns: i64) -> Option<Nanos> {
    match u64::try_from(timeout_ns) {
        Ok(timeout) => from_now(min, timeout),
        Err(_) => None,
    }
}

#[inline(never)]
fn from_now(min: u32, timeout: u64) -> Option<Nanos> {
    (min > 0).then(|| Nanos(now().0.saturating_add(timeout)))
}

impl<D: Device> AnyQueue for OpenedQueue<D> {
    fn calls(&self) -> Calls {
        Calls {
            read: transfer_page::<D, false>,
            write: transfer_page::<D, true>,
            ring: ring::<Self>,
            reap: reap::<D>,
            submit_and_wait: submit_and_wait::<D>,
        }
    }

    fn counters(&mut self) -> WaitCounters {
        self.group.group().counters()
    }

    fn arm(&mut self) -> Result<bool, Failure> {
        let armed = self.group.arm();
        armed.map_err(|error| Failure::new(Errno::INVAL, error))
    }

    fn fd(&self) -> Result<c_int, Failure> {
        Ok(self.group.as_fd().as_raw_fd())
    }

    fn join(
        &mut self,
        group: &dyn AnyGroup,
        handle: *mut joulio_queue,
    ) -> Result<Box<dyn AnyQueue>, Failure> {
        let Some(members) = Members::<D>::of(group) else {
            let text = "the group is of controllers of another back end: its queues are of one";
            return Err(Failure::new(Errno::INVAL, text));
        };
        let pair = self.group.group().remove(0);
        let pair = pair.map_err(|error| Failure::new(Errno::IO, error))?;
        Ok(members.join(pair, self.namespace, self.id, handle))
    }

    fn leave(&mut self, _: &dyn AnyGroup) -> Result<Box<dyn AnyQueue>, Failure> {
        Err(not_a_member())
    }
}

/// The failure of a queue that is in no group, or in another.
#[cold]
pub(crate) fn not_a_member() -> Failure {
    Failure::new(Errno::INVAL, "the queue is not in this group")
}
