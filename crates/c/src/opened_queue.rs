//! A queue pair that is alone, in a group of its own.

use crate::buffer_handle::joulio_buffer;
use crate::error::{Failure, caught, failed, guarded_io, refuse_panicked};
use crate::handle;
use crate::io::{joulio_completion, joulio_io};
use crate::queue_handle::{AnyQueue, CALLS, Calls, Queue};
use crate::seat::{Seat, kind, ring, seat_of, submit_all, transfer};
use crate::sink::{Sink, ended, hand_out, with_more};
use crate::slots::DriverTag;
use joulio_device::{Device, DmaBuffer};
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
}

impl<D: Device> OpenedQueue<D> {
    /// Makes a place for a queue pair, for commands to `namespace`.
    pub(crate) fn empty(namespace: Namespace) -> Result<OpenedQueue<D>, NvmeError> {
        Ok(OpenedQueue {
            group: EventGroup::new(PollGroup::new(Vec::new()))?,
            namespace,
        })
    }

    /// Puts a queue pair in, which then serves the namespace.
    pub(crate) fn put(&mut self, pair: QueuePair<D>) {
        self.group.group().push(pair);
    }

    /// Takes the queue pair out, and returns it with its namespace.
    pub(crate) fn take(&mut self) -> Result<(QueuePair<D>, Namespace), Failure> {
        let pair = self.group.group().remove(0);
        let pair = pair.map_err(|error| Failure::new(Errno::IO, error))?;
        Ok((pair, self.namespace))
    }
}

impl<D: Device> Seat for OpenedQueue<D> {
    type Device = D;

    #[inline(always)]
    fn with<T>(&mut self, run: impl FnOnce(&mut QueuePair<D>, &Namespace) -> T) -> T {
        run(&mut self.group.group().queues()[0], &self.namespace)
    }

    #[inline(always)]
    fn ring(&mut self) {
        self.group.group().queues().ring(0);
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
        let Some(held) = (unsafe { handle::find(buffer) }) else {
            return false;
        };
        let Some(memory) = held.take(tag) else {
            return false;
        };
        let (range, tag) = ((lba, blocks), DriverTag::of_buffer(buffer));
        let queues = self.group.group().queues();
        match queues.transfer_page(0, kind, range, memory, tag) {
            Ok(()) => true,
            Err(memory) => {
                held.put(memory);
                false
            }
        }
    }
}

/// Reads, or writes if `WRITE`, on the queue. The usual I/O takes a path without a call, so that no registers have to
/// be saved for one.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses; `buffer` is NULL or a buffer.
unsafe extern "C" fn transfer_page<D: Device, const WRITE: bool>(
    queue: *mut Queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let opened = unsafe { seat_of::<OpenedQueue<D>>(queue) };
    // SAFETY: by the caller.
    match unsafe { opened.transfer_page(kind(WRITE), lba, blocks, buffer, tag) } {
        true => 0,
        // SAFETY: by the caller.
        false => unsafe { transfer::<OpenedQueue<D>, WRITE>(queue, lba, blocks, buffer, tag) },
    }
}

/// Reaps completions of the queue.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses; `completions` has room for `max`.
unsafe extern "C" fn reap<D: Device>(
    queue: *mut Queue,
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    // SAFETY: by the caller.
    unsafe {
        hand_out_usual::<D, false>(
            queue,
            Room {
                min,
                max,
                completions,
            },
            timeout_ns,
        )
    }
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
    let refused =
        guarded_io(|| unsafe { submit_all::<OpenedQueue<D>>(&mut *queue, ios, &mut *count) });
    if refused != 0 || max == 0 {
        return refused;
    }
    // SAFETY: by the caller.
    unsafe {
        hand_out_usual::<D, true>(
            queue,
            Room {
                min,
                max,
                completions,
            },
            timeout_ns,
        )
    }
}

/// Number of completions that a call wants, and the caller's array of `max`.
#[derive(Clone, Copy)]
struct Room {
    min: u32,
    max: u32,
    completions: *mut joulio_completion,
}

/// Returns usual completions that are there, and continues in another function if they are too few or not all. It is
/// instantiated for each caller, by `BATCH`, so that the loop is inlined.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses; the array has its room.
#[inline(always)]
unsafe fn hand_out_usual<D: Device, const BATCH: bool>(
    queue: *mut Queue,
    room: Room,
    timeout_ns: i64,
) -> c_int {
    let Room {
        min,
        max,
        completions,
    } = room;
    // SAFETY: by the caller. No borrow of it is in use where it is handed on.
    let this = unsafe { &mut *queue };
    this.calls_left -= 1;
    if this.calls_left == 0 {
        // SAFETY: by the caller.
        return unsafe { check_and_reap::<D>(queue, min, max, timeout_ns, completions) };
    }
    let mut next = completions;
    // SAFETY: by the caller.
    let end = unsafe { completions.add(max as usize) };
    let usual = |tag, memory: &mut Option<DmaBuffer>, result| {
        if next == end || !DriverTag::is_buffer(tag) {
            return false;
        }
        let buffer = DriverTag::buffer(tag);
        // SAFETY: the tag of a buffer, and one in flight cannot be freed; before the end of the array.
        unsafe {
            let held = handle::known(buffer);
            held.put_from(memory);
            next.write(joulio_completion {
                tag: held.tag,
                buffer,
                result,
                status: 0,
            });
            next = next.add(1);
        }
        true
    };
    // SAFETY: by the caller.
    let (opened, _) = unsafe { this.parts::<OpenedQueue<D>>() };
    let queues = opened.group.group().queues();
    let Ok((found, all)) = caught(|| queues.reap_usual(0, usual)) else {
        return refuse_panicked();
    };
    let found = found as u32;
    match (all, found >= min) {
        (true, true) => found as c_int,
        // SAFETY: by the caller; so many are there.
        (true, false) => unsafe { wait::<D>(queue, min, max, timeout_ns, completions, found) },
        // The next one has to wait for room.
        (false, _) if found == max => found as c_int,
        // SAFETY: by the caller; so many are there.
        (false, _) => unsafe { reap_rest::<D>(queue, min, max, timeout_ns, completions, found) },
    }
}

/// Returns completions that there was no room for, makes the group check the queue, and continues as [`wait`].
///
/// # Safety
/// As [`hand_out_usual`].
#[cold]
#[inline(never)]
unsafe extern "C" fn check_and_reap<D: Device>(
    queue: *mut Queue,
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    // SAFETY: by the caller.
    let this = unsafe { &mut *queue };
    let reaped = caught(|| {
        this.calls_left = CALLS;
        // SAFETY: by the caller.
        let (opened, backlog) = unsafe { this.parts::<OpenedQueue<D>>() };
        // SAFETY: by the caller.
        let found = unsafe { hand_out(&mut backlog.left, max, completions) };
        if found == max {
            return (Ok(0), found);
        }
        // SAFETY: there is room for so many more.
        let (behind, mut sink) = unsafe { Sink::behind(completions, found, max) };
        let reaped = opened
            .group
            .reap((max - found) as usize, |_, done| sink.put(done, backlog));
        (reaped, found + sink.found(behind))
    });
    this.note_left();
    let Ok((reaped, found)) = reaped else {
        return refuse_panicked();
    };
    if found == 0
        && let Some(failure) = this.backlog.ended.take()
    {
        return failed(&failure);
    }
    // SAFETY: by the caller; so many are there.
    unsafe { go_on::<D>(queue, min, max, timeout_ns, completions, found, reaped) }
}

/// Returns completions that are there, usual or not, after the `found` ones, and continues as [`wait`].
///
/// # Safety
/// As [`hand_out_usual`]; `found` is at most `max`.
#[cold]
#[inline(never)]
unsafe extern "C" fn reap_rest<D: Device>(
    queue: *mut Queue,
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
    found: u32,
) -> c_int {
    // SAFETY: by the caller.
    let this = unsafe { &mut *queue };
    let reaped = caught(|| {
        // SAFETY: by the caller.
        let (opened, backlog) = unsafe { this.parts::<OpenedQueue<D>>() };
        // SAFETY: there is room for so many more.
        let (behind, mut sink) = unsafe { Sink::behind(completions, found, max) };
        let pair = &mut opened.group.group().queues()[0];
        let reaped = pair.reap_unusual((max - found) as usize, |done| sink.put(done, backlog));
        (reaped.map_err(NvmeError::from), found + sink.found(behind))
    });
    let Ok((reaped, found)) = reaped else {
        return refuse_panicked();
    };
    // SAFETY: by the caller; so many are there.
    unsafe { go_on::<D>(queue, min, max, timeout_ns, completions, found, reaped) }
}

/// Ends a call that has `reaped`, so that `found` completions are there, or continues as [`wait`]. The caller must hold
/// no borrow of the queue.
///
/// # Safety
/// As [`reap_rest`].
unsafe fn go_on<D: Device>(
    queue: *mut Queue,
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
    found: u32,
    reaped: Result<usize, NvmeError>,
) -> c_int {
    let goes_on = reaped.is_ok() && found < min;
    // SAFETY: by the caller. No borrow of it is in use where it is handed on.
    let this = unsafe { &mut *queue };
    if let Err(refused) = ended(reaped, found, &mut this.backlog.ended) {
        return refused;
    }
    this.note_left();
    match goes_on {
        // SAFETY: by the caller.
        true => unsafe { wait::<D>(queue, min, max, timeout_ns, completions, found) },
        false => found as c_int,
    }
}

/// Waits until `min` completions are there, of which `found` are already; the group checks its queue meanwhile.
///
/// # Safety
/// As [`reap_rest`].
#[inline(never)]
unsafe extern "C" fn wait<D: Device>(
    queue: *mut Queue,
    min: u32,
    max: u32,
    timeout_ns: i64,
    completions: *mut joulio_completion,
    found: u32,
) -> c_int {
    // SAFETY: by the caller.
    let this = unsafe { &mut *queue };
    let reaped = guarded_io(|| {
        // SAFETY: by the caller.
        let (opened, backlog) = unsafe { this.parts::<OpenedQueue<D>>() };
        // SAFETY: there is room for so many more.
        let (behind, mut sink) = unsafe { Sink::behind(completions, found, max) };
        let min = min - found;
        let deadline = deadline(min, timeout_ns);
        let group = opened.group.group();
        let reaped = group.reap(min as usize, deadline, |_, done| sink.put(done, backlog));
        let more = sink.found(behind);
        match ended(reaped, found + more, &mut backlog.ended) {
            Ok(()) => more as c_int,
            Err(refused) => refused,
        }
    });
    this.note_left();
    with_more(found, reaped)
}

/// Time at which a wait for `min` completions with a timeout ends.
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

    fn is_member(&self) -> bool {
        false
    }
}
