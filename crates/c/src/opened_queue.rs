//! A queue pair that is alone, in a group of its own.

use crate::error::{Failure, Panicked, caught, failed, guarded_io, refuse_panicked};
use crate::handle;
use crate::io::joulio_completion;
use crate::opened_submit::{submit_and_wait, transfer_page};
use crate::queue_handle::{AnyQueue, CALLS, Calls, Queue, Room};
use crate::seat::{Seat, ring, seat_of};
use crate::sink::{Sink, ended, hand_out, with_more};
use crate::slots::DriverTag;
use joulio_device::{Device, DmaBuffer};
use joulio_nvme::{EventGroup, Namespace, NvmeError, PollGroup, QueuePair, Taken, UsualQueue};
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

    /// Returns the queue pair for its short path, if it is there.
    #[inline(always)]
    pub(crate) fn usual(&mut self) -> Option<UsualQueue<'_, D>> {
        self.group.group().queues().usual(0)
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
        if let Some(mut pair) = self.usual() {
            pair.ring();
        }
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
        (*queue).call.room = Room {
            min,
            max,
            timeout_ns,
            completions,
        };
        let Some(mut pair) = seat_of::<OpenedQueue<D>>(queue).usual() else {
            return release_and_wait::<D>(queue, 0);
        };
        let taken = take_usual::<D, false>(queue, &mut pair, max, completions);
        hand_on::<D>(queue, taken)
    }
}

/// Writes usual completions that are there to the caller's array; `None` if the call has to take the slow path. It is
/// instantiated for each caller, by `BATCH`, so that the loop is inlined.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses, and `pair` is its own; the others are those of its
/// call.
#[inline(always)]
pub(crate) unsafe fn take_usual<D: Device, const BATCH: bool>(
    queue: *mut Queue,
    pair: &mut UsualQueue<'_, D>,
    max: u32,
    completions: *mut joulio_completion,
) -> Option<Result<Taken, Panicked>> {
    // SAFETY: by the caller; of the queue, and not of the pair.
    unsafe {
        (*queue).calls_left -= 1;
        if (*queue).calls_left == 0 {
            return None;
        }
    }
    let mut next = completions;
    let usual = |tag, memory: &mut Option<DmaBuffer>, result| {
        if !DriverTag::is_buffer(tag) {
            return false;
        }
        let buffer = DriverTag::buffer(tag);
        // SAFETY: the tag of a buffer, and one in flight cannot be freed; one of `max` at most.
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
    // SAFETY: of the queue, and not of the pair.
    let min = || unsafe { (*queue).call.room.min as usize };
    Some(caught(|| pair.take_usual(min, max as usize, usual)))
}

/// Ends a call that has `taken` usual completions, or continues it in another function if they are too few or not all.
/// The caller must hold no borrow of the queue pair that it uses again.
///
/// # Safety
/// `queue` is one of this device, alone, which nobody else uses, and its call has taken these.
#[inline(always)]
pub(crate) unsafe fn hand_on<D: Device>(
    queue: *mut Queue,
    taken: Option<Result<Taken, Panicked>>,
) -> c_int {
    match taken {
        Some(Ok(Taken::Enough(found))) => found as c_int,
        // SAFETY: by the caller; so many are there.
        Some(Ok(Taken::All(found))) => unsafe { release_and_wait::<D>(queue, found as u32) },
        // SAFETY: by the caller; so many are there.
        Some(Ok(Taken::Some(found))) => unsafe { reap_rest::<D>(queue, found as u32) },
        Some(Err(Panicked)) => refuse_panicked(),
        // SAFETY: by the caller.
        None => unsafe { check_and_reap::<D>(queue) },
    }
}

/// Gives the entries of the `found` completions, which are too few, back to the device, and continues as [`wait`].
///
/// # Safety
/// As [`reap_rest`].
#[inline(never)]
unsafe extern "C" fn release_and_wait<D: Device>(queue: *mut Queue, found: u32) -> c_int {
    if found > 0 {
        // SAFETY: by the caller.
        let pair = unsafe { seat_of::<OpenedQueue<D>>(queue) }.usual();
        if caught(|| pair.map(|mut pair| pair.release())).is_err() {
            return refuse_panicked();
        }
    }
    // SAFETY: by the caller.
    match found < unsafe { (*queue).call.room.min } {
        // SAFETY: by the caller.
        true => unsafe { wait::<D>(queue, found) },
        // A poll that was to find none.
        false => found as c_int,
    }
}

/// Returns completions that there was no room for, makes the group check the queue, and continues as [`wait`].
///
/// # Safety
/// As [`hand_on`].
#[cold]
#[inline(never)]
unsafe extern "C" fn check_and_reap<D: Device>(queue: *mut Queue) -> c_int {
    // SAFETY: by the caller.
    let this = unsafe { &mut *queue };
    let Room {
        max, completions, ..
    } = this.call.room;
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
    unsafe { go_on::<D>(queue, found, reaped) }
}

/// Returns completions that are there, usual or not, after the `found` ones, and continues as [`wait`].
///
/// # Safety
/// As [`hand_on`]; `found` is at most `max`.
#[cold]
#[inline(never)]
unsafe extern "C" fn reap_rest<D: Device>(queue: *mut Queue, found: u32) -> c_int {
    // SAFETY: by the caller.
    let this = unsafe { &mut *queue };
    let Room {
        max, completions, ..
    } = this.call.room;
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
    unsafe { go_on::<D>(queue, found, reaped) }
}

/// Ends a call that has `reaped`, so that `found` completions are there, or continues as [`wait`]. The caller must hold
/// no borrow of the queue.
///
/// # Safety
/// As [`reap_rest`].
unsafe fn go_on<D: Device>(
    queue: *mut Queue,
    found: u32,
    reaped: Result<usize, NvmeError>,
) -> c_int {
    // SAFETY: by the caller. No borrow of it is in use where it is handed on.
    let this = unsafe { &mut *queue };
    let goes_on = reaped.is_ok() && found < this.call.room.min;
    if let Err(refused) = ended(reaped, found, &mut this.backlog.ended) {
        return refused;
    }
    this.note_left();
    match goes_on {
        // SAFETY: by the caller.
        true => unsafe { wait::<D>(queue, found) },
        false => found as c_int,
    }
}

/// Waits until `min` completions are there, of which `found` are already; the group checks its queue meanwhile.
///
/// # Safety
/// As [`reap_rest`].
#[inline(never)]
unsafe extern "C" fn wait<D: Device>(queue: *mut Queue, found: u32) -> c_int {
    // SAFETY: by the caller.
    let this = unsafe { &mut *queue };
    let Room {
        min,
        max,
        timeout_ns,
        completions,
    } = this.call.room;
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
