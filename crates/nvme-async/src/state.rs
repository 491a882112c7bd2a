//! The queue behind its futures and its driver: one lock, and the work under it.
//!
//! No waker is woken or dropped under the lock: either may run other code, which may drop a future of the same
//! queue. The functions return wakers instead ([`Wakers`]).

use crate::operations::Operations;
use crate::wakers::{Wakers, wake_all};
use joulio_device::Device;
use joulio_nvme::{DmaBuffer, EventGroup, NvmeError, PolicyError, QueuePair};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

/// Number of reaps with completions after which the queue is checked.
const MAX_UNCHECKED: u32 = 64;

/// The queue, shared by its futures and its driver.
pub(crate) struct Shared<D: Device>(Mutex<State<D>>);

impl<D: Device> Shared<D> {
    pub(crate) fn new(events: EventGroup<D>, depth: usize) -> Shared<D> {
        Shared(Mutex::new(State {
            events,
            operations: Operations::with_capacity(depth),
            waiting: BTreeMap::new(),
            next_ticket: 0,
            reclaimed: Vec::new(),
            reaper: Reaper::Futures,
            unrung: false,
            unchecked: 0,
            closed: false,
            ended: None,
        }))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.0.lock()
    }

    /// Runs `work` under the lock; afterwards wakes the wakers that it has put into `wake`.
    #[inline]
    pub(crate) fn with<T>(
        &self,
        wake: &mut Wakers,
        work: impl FnOnce(&mut State<D>, &mut Wakers) -> T,
    ) -> T {
        let done = work(&mut self.lock(), wake);
        wake_all(wake);
        done
    }
}

/// Task that takes the completions of a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reaper {
    /// Each future when it is polled: there is no driver.
    Futures,
    /// The driver, which is awake, and rings the doorbell for submitted commands until it waits.
    Driver,
    /// The driver, which waits for the descriptor: a command for an idle queue must arm the interrupts.
    Parked,
}

/// The queue under its lock.
pub(crate) struct State<D: Device> {
    pub(crate) events: EventGroup<D>,
    pub(crate) operations: Operations,
    /// Wakers of the futures that wait for room in the queue, by ticket; `None`: the future was woken, as there is
    /// room for it. A future comes before all with later tickets, and before all new ones.
    waiting: BTreeMap<u64, Option<Waker>>,
    next_ticket: u64,
    /// Buffers of completed commands whose future was dropped.
    pub(crate) reclaimed: Vec<DmaBuffer>,
    reaper: Reaper,
    /// True if commands were written whose doorbell has not been rung: the driver, which is awake, will do that.
    unrung: bool,
    /// Number of reaps since the queue was last checked; all have found completions.
    unchecked: u32,
    /// True if no handle of the queue is left.
    pub(crate) closed: bool,
    /// Reason why the controller can no longer be used.
    pub(crate) ended: Option<Arc<NvmeError>>,
}

impl<D: Device> State<D> {
    /// Returns the queue pair, to submit commands.
    #[inline]
    pub(crate) fn queue(&mut self) -> &mut QueuePair<D> {
        &mut self.events.group().queues()[0]
    }

    /// Takes up to `max` completions; returns their number: 0 if the controller can no longer be used (`ended`).
    #[inline(never)]
    pub(crate) fn reap(&mut self, max: usize, wake: &mut Wakers) -> usize {
        if self.ended.is_some() {
            return 0;
        }
        self.ring();
        let (operations, reclaimed) = (&mut self.operations, &mut self.reclaimed);
        let mut count = 0;
        // There is only one queue. Since this is a loop, the compiler takes a completion's code for frequent, and
        // inlines it.
        for queue in self.events.group().queues() {
            // The queue has counted a fault, and skipped its entry.
            let _ = queue.reap(max, |completed| {
                count += 1;
                operations.complete(completed, wake, reclaimed);
            });
        }
        self.unchecked += 1;
        if count == 0 || self.unchecked == MAX_UNCHECKED {
            count += self.check(wake);
        }
        if !self.waiting.is_empty() {
            self.wake_waiting(wake);
        }
        count
    }

    /// Checks the queue, if that is due; returns the number of commands that this ended. A reap that finds
    /// completions needs no check, and so no reading of the clock, except from time to time. While a stuck command
    /// is in flight, reaps find nothing, and [`EventGroup::arm`] does not allow a wait while a check is due.
    #[inline(never)]
    fn check(&mut self, wake: &mut Wakers) -> usize {
        self.unchecked = 0;
        let (operations, reclaimed) = (&mut self.operations, &mut self.reclaimed);
        let mut count = 0;
        let checked = self.events.reap(0, |_, completed| {
            count += 1;
            operations.complete(completed, wake, reclaimed);
        });
        match checked {
            Ok(_) | Err(NvmeError::Completion(_)) => {}
            Err(error) => {
                self.fail(error, wake);
            }
        }
        count
    }

    /// Wakes as many waiting futures as there is room for.
    #[cold]
    fn wake_waiting(&mut self, wake: &mut Wakers) {
        let room = self.room();
        let first = self.waiting.values_mut().take(room);
        wake.extend(first.filter_map(Option::take));
    }

    /// Returns the number of commands for which the queue has room.
    fn room(&mut self) -> usize {
        let queue = self.queue();
        queue.depth() - queue.outstanding()
    }

    /// Returns true if a future with `ticket`, or a new one, may submit. A driver wakes futures in the order in
    /// which they wait for room; a future that submits again and again must not overtake them each time.
    pub(crate) fn has_turn(&mut self, ticket: Option<u64>) -> bool {
        if self.waiting.is_empty() || !self.is_driven() {
            return true;
        }
        let room = self.room();
        let ahead = match ticket {
            Some(ticket) => self.waiting.range(..ticket).take(room).count(),
            None => self.waiting.len(),
        };
        ahead < room
    }

    /// Notes that the controller can no longer be used, and wakes all futures that wait.
    pub(crate) fn fail(&mut self, error: NvmeError, wake: &mut Wakers) -> Arc<NvmeError> {
        let ended = Arc::new(error);
        self.ended = Some(Arc::clone(&ended));
        self.wake_all(wake);
        ended
    }

    /// Wakes all futures that wait, so that they are polled again.
    pub(crate) fn wake_all(&mut self, wake: &mut Wakers) {
        wake.extend(self.operations.wakers());
        wake.extend(std::mem::take(&mut self.waiting).into_values().flatten());
    }

    /// Returns true if the queue has no handle left and no command in flight.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.closed && self.queue().outstanding() == 0
    }

    /// Enables interrupts. If the result is `true`, nothing has completed, and the descriptor becomes readable once
    /// a command completes. If it is `false`, there are completions to reap, or the queue must be polled because
    /// its policy never blocks, or nothing will ever complete.
    pub(crate) fn arm(&mut self, wake: &mut Wakers) -> Result<bool, Arc<NvmeError>> {
        if let Some(ended) = &self.ended {
            return Err(Arc::clone(ended));
        }
        if self.is_closed() {
            // Arming would lose the last handle's signal to the driver.
            return Ok(false);
        }
        self.ring();
        let armed = match self.events.arm() {
            Ok(armed) => armed,
            Err(NvmeError::Policy(PolicyError::NeverBlocks { .. })) => false,
            Err(error) => return Err(self.fail(error, wake)),
        };
        self.reaper = if armed {
            Reaper::Parked
        } else {
            Reaper::Driver
        };
        Ok(armed)
    }

    /// Returns true if the queue has a driver.
    #[inline]
    pub(crate) fn is_driven(&self) -> bool {
        self.reaper != Reaper::Futures
    }

    /// Notes that the driver is awake and reaps from now on.
    #[inline]
    pub(crate) fn driver_is_awake(&mut self) {
        self.reaper = Reaper::Driver;
    }

    /// Makes the futures reap from now on: there is no driver any more.
    pub(crate) fn leave_to_futures(&mut self, wake: &mut Wakers) {
        self.ring();
        self.reaper = Reaper::Futures;
        self.wake_all(wake);
    }

    /// Returns true if a command that is written now needs nothing else, and then counts it as written: there is a
    /// driver, which is awake and rings the doorbell, and no future waits for room.
    #[inline]
    pub(crate) fn is_easy(&mut self) -> bool {
        if self.reaper != Reaper::Driver || self.ended.is_some() || !self.waiting.is_empty() {
            return false;
        }
        self.unrung = true;
        true
    }

    /// Rings the doorbell for a command that was just written, or leaves that to the driver: a driver that is awake
    /// rings for all commands written until then, and one that waits may have to be woken. Returns true if there is
    /// a driver.
    #[inline]
    pub(crate) fn submitted(&mut self, wake: &mut Wakers) -> bool {
        self.unrung = true;
        if self.reaper != Reaper::Driver {
            self.submitted_now(wake);
        }
        self.is_driven()
    }

    fn submitted_now(&mut self, wake: &mut Wakers) {
        self.ring();
        if self.reaper == Reaper::Parked && self.queue().outstanding() == 1 {
            self.arm_for_driver(wake);
        }
    }

    /// Rings the doorbell for the commands that were written since the last time.
    #[inline]
    pub(crate) fn ring(&mut self) {
        if std::mem::take(&mut self.unrung) {
            self.queue().ring();
        }
    }

    /// Arms the interrupts for a driver that waits for the descriptor, since the queue, idle until now, has a
    /// command.
    #[cold]
    fn arm_for_driver(&mut self, wake: &mut Wakers) {
        // The error is also in `ended`, where every future finds it.
        if !self.arm(wake).is_ok_and(|armed| armed) {
            // The command has completed already, or must be polled for; or there was that error.
            self.wake_driver(wake);
        }
    }

    /// Ends the driver's wait for the descriptor.
    pub(crate) fn wake_driver(&mut self, wake: &mut Wakers) {
        if !self.is_driven() {
            return;
        }
        self.reaper = Reaper::Driver;
        if let Err(error) = self.events.wake() {
            self.fail(error, wake);
        }
    }

    /// Waits for room in the queue; `ticket` is the future's earlier place in the line, if it has one. Returns the
    /// waker that was there, to be dropped when no lock is held.
    pub(crate) fn wait_for_room(
        &mut self,
        ticket: Option<u64>,
        waker: Waker,
    ) -> (u64, Option<Waker>) {
        let ticket = ticket.unwrap_or_else(|| {
            self.next_ticket += 1;
            self.next_ticket
        });
        (ticket, self.waiting.insert(ticket, Some(waker)).flatten())
    }

    /// Leaves the line to submit. Returns the waker that was there, to be dropped when no lock is held.
    pub(crate) fn take_turn(&mut self, ticket: u64) -> Option<Waker> {
        self.waiting.remove(&ticket).flatten()
    }

    /// Gives up the ticket without submitting; wakes another future, for which there is room now.
    pub(crate) fn leave_line(&mut self, ticket: u64, wake: &mut Wakers) -> Option<Waker> {
        let waiting = self.take_turn(ticket);
        self.wake_waiting(wake);
        waiting
    }
}
