//! Groups of queue pairs of any back end behind one type.

use crate::error::{Failure, failed, guarded_io};
use crate::handle;
use crate::io::{joulio_completion, joulio_io};
use crate::opened_queue::{OpenedQueue, deadline};
use crate::queue_handle::{AnyGroup, AnyQueue, Backlog, Calls, Queue, joulio_queue};
use crate::seat::{Seat, ring, submit_all, transfer};
use crate::sink::{Sink, ended, hand_out};
use joulio_device::Device;
use joulio_nvme::{EventGroup, Namespace, NvmeError, PollGroup, QueuePair};
use joulio_wait::WaitCounters;
use rustix::io::Errno;
use std::any::Any;
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Queues of a group. Taking the lock waits for a wake alone, and a wake for it: otherwise the group and its queues are
/// used by one thread at a time.
pub(crate) struct Members<D: Device>(Arc<Mutex<Joined<D>>>);

struct Joined<D: Device> {
    events: EventGroup<D>,
    /// The place of each queue, in the order of the group.
    places: Vec<Place>,
    /// Whether some queue may have completions that the caller's array had no room for.
    some_left: bool,
    /// Reason why a controller can no longer be used, until a call that returns no completions reports it.
    ended: Option<Failure>,
}

struct Place {
    /// Index in the group, or [`NOWHERE`]; shared with the queue.
    index: Arc<AtomicUsize>,
    /// Handle of the queue; NULL if the queue was destroyed, and the group could not let go of it.
    handle: *mut joulio_queue,
}

/// Index of a queue that has left.
const NOWHERE: usize = usize::MAX;

// SAFETY: the handle is used only by the user of the group.
unsafe impl Send for Place {}

impl<D: Device> Joined<D> {
    /// Returns the backlog of each queue that was not destroyed.
    fn backlogs(&mut self) -> impl Iterator<Item = &mut Backlog> {
        let handles = self.places.iter().map(|place| place.handle);
        let handles = handles.filter(|handle| !handle.is_null());
        // SAFETY: a queue leaves the group before its handle ends; one place has the handle.
        handles.map(|handle| &mut unsafe { handle::known(handle) }.backlog)
    }

    /// Returns up to `max` completions that the array had no room for before, and their number.
    ///
    /// # Safety
    /// `completions` has room for `max`.
    unsafe fn hand_out_left(&mut self, max: u32, completions: *mut joulio_completion) -> u32 {
        let (mut found, mut some_left) = (0, false);
        for Backlog { left, .. } in self.backlogs() {
            // SAFETY: by the caller; there is room for so many more.
            found += unsafe { hand_out(left, max - found, completions.add(found as usize)) };
            some_left |= !left.is_empty();
        }
        self.some_left = some_left;
        found
    }

    /// Removes the queue `index` from the group and returns it.
    fn remove(&mut self, index: usize) -> Result<QueuePair<D>, Failure> {
        let removed = self.events.group().remove(index);
        let pair = removed.map_err(|error| Failure::new(Errno::IO, error))?;
        self.places.remove(index);
        for (at, place) in self.places.iter().enumerate() {
            place.index.store(at, Ordering::Relaxed);
        }
        Ok(pair)
    }
}

impl<D: Device> Members<D> {
    pub(crate) fn new() -> Result<Members<D>, NvmeError> {
        Ok(Members(Arc::new(Mutex::new(Joined {
            events: EventGroup::new(PollGroup::new(Vec::new()))?,
            places: Vec::new(),
            some_left: false,
            ended: None,
        }))))
    }

    /// Adds a queue pair for commands to `namespace`, those of `handle`.
    fn add(
        &self,
        pair: QueuePair<D>,
        namespace: Namespace,
        handle: *mut joulio_queue,
    ) -> Box<dyn AnyQueue> {
        let mut joined = self.lock();
        joined.events.group().push(pair);
        let index = Arc::new(AtomicUsize::new(joined.places.len()));
        joined.places.push(Place {
            index: Arc::clone(&index),
            handle,
        });
        // The queue may have brought some.
        joined.some_left = true;
        Box::new(Member {
            group: Members(Arc::clone(&self.0)),
            index,
            namespace,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Joined<D>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Device> AnyGroup for Members<D> {
    fn join(
        &self,
        queue: &mut dyn AnyQueue,
        handle: *mut joulio_queue,
    ) -> Result<Box<dyn AnyQueue>, Failure> {
        if queue.is_member() {
            let text = "the queue is in a group already: joulio_group_leave() first";
            return Err(Failure::new(Errno::BUSY, text));
        }
        let queue: &mut dyn Any = queue;
        let Some(alone) = queue.downcast_mut::<OpenedQueue<D>>() else {
            let text = "the group is of controllers of another back end: its queues are of one";
            return Err(Failure::new(Errno::INVAL, text));
        };
        let (pair, namespace) = alone.take()?;
        Ok(self.add(pair, namespace, handle))
    }

    fn leave(&self, queue: &mut dyn AnyQueue) -> Result<Box<dyn AnyQueue>, Failure> {
        let queue: &mut dyn Any = queue;
        let member = queue.downcast_mut::<Member<D>>();
        let member = member.filter(|member| Arc::ptr_eq(&member.group.0, &self.0));
        let member = member.ok_or_else(not_a_member)?;
        let alone = OpenedQueue::empty(member.namespace);
        let mut alone = alone.map_err(|error| Failure::new(Errno::MFILE, error))?;
        alone.put(self.lock().remove(member.index())?);
        member.index.store(NOWHERE, Ordering::Relaxed);
        Ok(Box::new(alone))
    }

    fn count(&self) -> usize {
        let joined = self.lock();
        let places = joined.places.iter();
        places.filter(|place| !place.handle.is_null()).count()
    }

    fn outstanding(&self) -> usize {
        let mut joined = self.lock();
        let left: usize = joined.backlogs().map(|backlog| backlog.left.len()).sum();
        joined.events.group().outstanding() + left
    }

    fn counters(&self) -> WaitCounters {
        self.lock().events.group().counters()
    }

    fn arm(&self) -> Result<bool, Failure> {
        let mut joined = self.lock();
        if joined.ended.is_some() {
            return Ok(false);
        }
        if joined.some_left && joined.backlogs().any(|backlog| !backlog.left.is_empty()) {
            return Ok(false);
        }
        let armed = joined.events.arm();
        armed.map_err(|error| Failure::new(Errno::INVAL, error))
    }

    fn wake(&self) -> Result<(), Failure> {
        let woken = self.lock().events.wake();
        woken.map_err(|error| Failure::new(Errno::IO, error))
    }

    fn fd(&self) -> c_int {
        self.lock().events.as_fd().as_raw_fd()
    }

    unsafe fn reap(
        &self,
        min: u32,
        max: u32,
        timeout_ns: i64,
        completions: *mut joulio_completion,
    ) -> c_int {
        guarded_io(|| {
            let mut joined = self.lock();
            let mut found = 0;
            if joined.some_left {
                // SAFETY: by the caller.
                found = unsafe { joined.hand_out_left(max, completions) };
                if found == max {
                    return found as c_int;
                }
            }
            let mut min = min.saturating_sub(found);
            if joined.ended.is_some() {
                // Completions that are left over come first.
                min = 0;
            }
            // SAFETY: by the caller; there is room for so many more.
            let (behind, mut sink) = unsafe { Sink::behind(completions, found, max) };
            let deadline = deadline(min, timeout_ns);
            let Joined {
                events,
                places,
                some_left,
                ended: why,
            } = &mut *joined;
            let group = events.group();
            let reaped = group.reap(min as usize, deadline, |index, done| {
                let handle = places[index].handle;
                if !handle.is_null() {
                    // SAFETY: a queue leaves the group before its handle ends.
                    let queue: &mut Queue = unsafe { handle::known(handle) };
                    sink.put(done, &mut queue.backlog);
                    *some_left |= !queue.backlog.left.is_empty();
                }
            });
            found += sink.found(behind);
            if found == 0
                && let Some(failure) = why.take()
            {
                return failed(&failure);
            }
            match ended(reaped, found, why) {
                Ok(()) => found as c_int,
                Err(refused) => refused,
            }
        })
    }
}

/// A queue pair of this device that is in a group with others.
struct Member<D: Device> {
    group: Members<D>,
    index: Arc<AtomicUsize>,
    namespace: Namespace,
}

impl<D: Device> Member<D> {
    fn index(&self) -> usize {
        self.index.load(Ordering::Relaxed)
    }
}

impl<D: Device> Drop for Member<D> {
    fn drop(&mut self) {
        if self.index() == NOWHERE {
            return;
        }
        let mut joined = self.group.lock();
        if joined.remove(self.index()).is_err() {
            // It remains until the group is destroyed; its completions are reported to nobody.
            joined.places[self.index()].handle = std::ptr::null_mut();
        }
    }
}

impl<D: Device> Seat for Member<D> {
    type Device = D;

    #[inline(always)]
    fn with<T>(&mut self, run: impl FnOnce(&mut QueuePair<D>, &Namespace) -> T) -> T {
        let index = self.index();
        let mut joined = self.group.lock();
        run(&mut joined.events.group().queues()[index], &self.namespace)
    }
}

impl<D: Device> AnyQueue for Member<D> {
    fn calls(&self) -> Calls {
        Calls {
            read: transfer::<Self, false>,
            write: transfer::<Self, true>,
            ring: ring::<Self>,
            reap: refuse_reap,
            submit_and_wait: submit_all_or_refuse::<D>,
        }
    }

    fn counters(&mut self) -> WaitCounters {
        let index = self.index();
        self.group.lock().events.group().queue_counters()[index]
    }

    fn arm(&mut self) -> Result<bool, Failure> {
        Err(waits_in_group())
    }

    fn fd(&self) -> Result<c_int, Failure> {
        Err(waits_in_group())
    }

    fn is_member(&self) -> bool {
        true
    }
}

/// Makes the failure of a queue that is in no group, or in another.
#[cold]
fn not_a_member() -> Failure {
    Failure::new(Errno::INVAL, "the queue is not in this group")
}

#[cold]
fn waits_in_group() -> Failure {
    Failure::new(
        Errno::BUSY,
        "the queue is in a group, which waits for it: joulio_group_reap(), joulio_group_arm(), joulio_group_fd()",
    )
}

unsafe extern "C" fn refuse_reap(
    _: *mut Queue,
    _: u32,
    _: u32,
    _: i64,
    _: *mut joulio_completion,
) -> c_int {
    failed(&waits_in_group())
}

/// Submits on a queue in a group; waiting is refused, since the group waits for it.
///
/// # Safety
/// `queue` is one of this device, in a group, which nobody else uses; the others are as for
/// joulio_submit_and_wait().
unsafe extern "C" fn submit_all_or_refuse<D: Device>(
    queue: *mut Queue,
    ios: *const joulio_io,
    count: *mut u32,
    _: u32,
    max: u32,
    _: i64,
    _: *mut joulio_completion,
) -> c_int {
    // SAFETY: by the caller.
    let (queue, count) = unsafe { (&mut *queue, &mut *count) };
    if max > 0 {
        *count = 0;
        return failed(&waits_in_group());
    }
    // SAFETY: by the caller.
    guarded_io(|| unsafe { submit_all::<Member<D>>(queue, ios, count, 0) })
}
