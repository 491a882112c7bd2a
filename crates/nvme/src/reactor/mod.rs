//! A reactor: the loop of one core that runs the work of several tenants, and sleeps when there is none.

mod poller;
mod seat;

pub use poller::{NextCall, Poller, PollerQueues};

use self::seat::Seats;
use crate::{NvmeError, PollGroup, QueuePair};
use joulio_device::Device;
use joulio_units::Nanos;
use joulio_wait::{Waker, now};
use rustix::io::Errno;

/// Number of busy turns between two readings of the clock: a timer is late by so many at most.
const TURNS_PER_CLOCK: u32 = 16;

/// Number of a poller on its reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PollerId(u32);

/// Counts of a reactor since it was made. The counts of its waits are in the group's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReactorCounters {
    /// Turns of the loop.
    pub turns: u64,
    /// Calls of pollers.
    pub calls: u64,
    /// Calls whose time had come.
    pub timers: u64,
    /// Wakes by other threads, and wakers dropped; those that came together are counted once.
    pub wakes: u64,
    /// Waits with commands outstanding.
    pub waits: u64,
    /// Waits without.
    pub idle_waits: u64,
}

/// Loop of one core that runs pollers, each with queues of its own, from one wait to the next. The word is SPDK's;
/// unlike a reactor of SPDK, this one sleeps.
///
/// It waits by the deepest step that all allow: the steps that the queues' policies plan are merged as in a
/// [`PollGroup`], and end at the earliest time that a poller has requested. While nothing is outstanding no policy is
/// asked, and the core blocks in the kernel. A spin yields the core to other threads as long as some want it.
///
/// A turn polls every queue once, hands each completion to its poller, and calls the pollers for which
/// something came. Nothing in it allocates.
pub struct Reactor<D: Device, P> {
    group: PollGroup<D>,
    seats: Seats<P>,
    waker: Waker,
    counters: ReactorCounters,
    /// Turns until the clock is read.
    turns_left: u32,
}

impl<D: Device, P: Poller<D>> Reactor<D, P> {
    /// Creates a reactor without pollers, for the thread that will run it.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> Result<Reactor<D, P>, Errno> {
        let waker = Waker::new()?;
        Ok(Reactor {
            group: PollGroup::of_reactor(waker.clone()),
            seats: Seats::new(),
            waker,
            counters: ReactorCounters::default(),
            turns_left: 0,
        })
    }

    /// Adds a poller with its queues. The poller is called in the next turn.
    pub fn add(&mut self, poller: P, queues: Vec<QueuePair<D>>) -> PollerId {
        let id = self.seats.add(poller, queues.len());
        for queue in queues {
            self.group.join(queue);
        }
        PollerId(id)
    }

    /// Returns the poller of that number.
    ///
    /// # Panics
    /// It is another reactor's.
    pub fn poller(&self, id: PollerId) -> &P {
        self.seats.get(id.0)
    }

    /// Returns the poller of that number, to be changed between two runs.
    ///
    /// # Panics
    /// It is another reactor's.
    pub fn poller_mut(&mut self, id: PollerId) -> &mut P {
        self.seats.get_mut(id.0)
    }

    /// Returns the pollers, in the order in which they were added. Their queues are dropped.
    pub fn into_pollers(self) -> impl Iterator<Item = P> {
        self.seats.into_pollers()
    }

    /// Returns a handle by which other threads make the reactor call every poller, for example after a message for
    /// one. As long as another thread has a handle the reactor waits for it; dropping one wakes the reactor.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Returns the queues of all pollers, with the counters of the core's waits. No queue can be added or removed.
    pub fn group(&mut self) -> &mut PollGroup<D> {
        &mut self.group
    }

    /// Counts since the reactor was made.
    pub fn counters(&self) -> ReactorCounters {
        self.counters
    }

    /// Runs until all pollers are done, or until nothing can call one any more: no command is
    /// outstanding, no time was requested and nobody else has a [`Waker`].
    ///
    /// # Errors
    /// Those of [`PollGroup::reap`]. Completions that came before were delivered to their pollers, and the reactor
    /// may be run again.
    pub fn run(&mut self) -> Result<(), NvmeError> {
        while self.seats.live() > 0 && self.turn()? {}
        Ok(())
    }

    /// Runs one turn, and waits in it if there is nothing to do; returns false if no event can call a poller any
    /// more.
    ///
    /// # Errors
    /// As [`Reactor::run`].
    pub fn turn(&mut self) -> Result<bool, NvmeError> {
        self.counters.turns += 1;
        self.call();
        let came = self.reap(0, None)?;
        let mut goes_on = true;
        if came == 0 && !self.seats.has_calls() && self.seats.live() > 0 {
            goes_on = self.rest()?;
            self.turns_left = 0;
        }
        self.take_wakes_and_timers();
        Ok(goes_on)
    }

    /// Calls those that are to be called.
    #[inline]
    fn call(&mut self) {
        self.counters.calls += self.seats.begin() as u64;
        while let Some((id, seat)) = self.seats.next_now() {
            let mut queues = PollerQueues {
                queues: self.group.queues(),
                first: seat.first,
                count: seat.count,
            };
            let next = seat.poller.poll(&mut queues);
            self.seats.called(id, next);
        }
    }

    /// Hands completions to their pollers.
    #[inline]
    fn reap(&mut self, min: usize, deadline: Option<Nanos>) -> Result<usize, NvmeError> {
        let seats = &mut self.seats;
        self.group.reap(min, deadline, |queue, completed| {
            let (poller, own) = seats.owner(queue);
            poller.completed(own, completed);
        })
    }

    /// Waits for completions, a time or a wake; returns false if none can come.
    #[inline(never)]
    fn rest(&mut self) -> Result<bool, NvmeError> {
        let deadline = self.seats.has_timers().then(|| self.seats.due());
        let mut until = deadline.unwrap_or(Nanos::MAX);
        let mut sharp = false;
        if self.seats.back() < until {
            sharp = now() >= self.seats.back();
            if !sharp {
                until = self.seats.back();
            }
        }
        if self.group.outstanding() == 0 {
            // The handles of this reactor and of its group.
            if deadline.is_none() && self.waker.handles() <= 2 {
                return Ok(self.waker.is_woken());
            }
            self.counters.idle_waits += 1;
            self.group.idle(until, sharp)?;
            return Ok(true);
        }
        self.counters.waits += 1;
        self.group.set_sharp(sharp);
        self.reap(1, deadline.map(|_| until))?;
        Ok(true)
    }

    /// Takes in a wake, and now and then the time.
    #[inline]
    fn take_wakes_and_timers(&mut self) {
        if self.waker.take() {
            self.counters.wakes += 1;
            self.seats.call_all();
        }
        if self.seats.has_timers() {
            self.turns_left = match self.turns_left {
                0 => {
                    self.counters.timers += self.seats.expire(now());
                    TURNS_PER_CLOCK
                }
                left => left - 1,
            };
        }
    }
}
