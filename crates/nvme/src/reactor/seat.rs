//! The pollers of a reactor, with the order and the times of their next calls.

use super::poller::NextCall;
use joulio_units::Nanos;

/// Longest time by which the kernel ends a sleep too late on an idle core: a timer's slack of 50 us (prctl(2),
/// PR_SET_TIMERSLACK) and the wake-up.
const KERNEL_LATENESS: Nanos = Nanos::from_micros(60);

/// A poller and the time of its next call.
pub(super) struct Seat<P> {
    pub(super) poller: P,
    /// Index of its first queue in the group, and the number of its queues.
    pub(super) first: usize,
    pub(super) count: usize,
    /// True if the poller is in the list for the next turn.
    called: bool,
    done: bool,
    /// Time of its call, [`Nanos::MAX`] for none, and the time when the core must be back from the kernel for it.
    due: Nanos,
    back: Nanos,
}

/// Pollers, their queues and their calls.
pub(super) struct Seats<P> {
    all: Vec<Seat<P>>,
    /// Poller of each queue of the group.
    owners: Vec<u32>,
    /// Pollers to be called in the next turn, and in this one.
    next: Vec<u32>,
    now: Vec<u32>,
    /// Number of those that were called in this turn.
    called: usize,
    /// Time no later than the earliest call and the earliest time to be back.
    due: Nanos,
    back: Nanos,
    /// Number of pollers that are not done.
    live: usize,
}

impl<P> Seats<P> {
    pub(super) fn new() -> Seats<P> {
        Seats {
            all: Vec::new(),
            owners: Vec::new(),
            next: Vec::new(),
            now: Vec::new(),
            called: 0,
            due: Nanos::MAX,
            back: Nanos::MAX,
            live: 0,
        }
    }

    /// Adds `poller`, which has `count` queues and is called in the next turn; returns its number.
    pub(super) fn add(&mut self, poller: P, count: usize) -> u32 {
        let id = self.all.len() as u32;
        let first = self.owners.len();
        self.owners.resize(first + count, id);
        self.all.push(Seat {
            poller,
            first,
            count,
            called: false,
            done: false,
            due: Nanos::MAX,
            back: Nanos::MAX,
        });
        // Each poller is in each list once at most: nothing is allocated later.
        self.next.reserve(self.all.len() - self.next.len());
        self.now.reserve(self.all.len());
        self.live += 1;
        self.call(id);
        id
    }

    pub(super) fn get(&self, id: u32) -> &P {
        &self.all[id as usize].poller
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut P {
        &mut self.all[id as usize].poller
    }

    pub(super) fn into_pollers(self) -> impl Iterator<Item = P> {
        self.all.into_iter().map(|seat| seat.poller)
    }

    /// Number of pollers that are not done.
    #[inline]
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Returns whether a poller is to be called in the next turn.
    #[inline]
    pub(super) fn has_calls(&self) -> bool {
        !self.next.is_empty()
    }

    /// Returns whether a poller is to be called at some time.
    #[inline]
    pub(super) fn has_timers(&self) -> bool {
        self.due != Nanos::MAX
    }

    /// Returns a time no later than the earliest call.
    pub(super) fn due(&self) -> Nanos {
        self.due
    }

    /// Returns the time by which the core must be back from the kernel.
    pub(super) fn back(&self) -> Nanos {
        self.back
    }

    /// Schedules poller `id` for the next turn, unless it is done.
    #[inline]
    pub(super) fn call(&mut self, id: u32) {
        let seat = &mut self.all[id as usize];
        if !seat.called && !seat.done {
            seat.called = true;
            self.next.push(id);
        }
    }

    /// Schedules every poller for the next turn.
    #[cold]
    pub(super) fn call_all(&mut self) {
        for id in 0..self.all.len() as u32 {
            self.call(id);
        }
    }

    /// Returns the poller of queue `queue` of the group, to which a completion belongs, and the queue's number among
    /// the poller's own. The poller is called in the next turn.
    #[inline]
    pub(super) fn owner(&mut self, queue: usize) -> (&mut P, usize) {
        let id = self.owners[queue];
        self.call(id);
        let seat = &mut self.all[id as usize];
        (&mut seat.poller, queue - seat.first)
    }

    /// Begins a turn: the pollers that were scheduled for it are the next to be called; returns their number. Pollers
    /// that were not called because one before them panicked are called in the next turn.
    #[inline]
    pub(super) fn begin(&mut self) -> usize {
        match self.called == self.now.len() {
            true => self.now.clear(),
            false => drop(self.now.drain(..self.called)),
        }
        self.called = 0;
        std::mem::swap(&mut self.next, &mut self.now);
        self.now.len()
    }

    /// Returns the next poller to be called in this turn, and its seat.
    #[inline]
    pub(super) fn next_now(&mut self) -> Option<(u32, &mut Seat<P>)> {
        let id = *self.now.get(self.called)?;
        self.called += 1;
        let seat = &mut self.all[id as usize];
        seat.called = false;
        Some((id, seat))
    }

    /// Takes in the next call that poller `id` wants after its call.
    #[inline]
    pub(super) fn called(&mut self, id: u32, next: NextCall) {
        let seat = &mut self.all[id as usize];
        (seat.due, seat.back) = match next {
            NextCall::OnEvent => (Nanos::MAX, Nanos::MAX),
            NextCall::At(time) => (time, time),
            NextCall::Promptly(time) => (time, time.since(KERNEL_LATENESS)),
            NextCall::Now => {
                seat.called = true;
                self.next.push(id);
                (Nanos::MAX, Nanos::MAX)
            }
            NextCall::Done => {
                seat.done = true;
                self.live -= 1;
                (Nanos::MAX, Nanos::MAX)
            }
        };
        self.due = self.due.min(seat.due);
        self.back = self.back.min(seat.back);
    }

    /// Schedules the pollers whose time has come at `at` for the next turn, and returns their number.
    #[cold]
    pub(super) fn expire(&mut self, at: Nanos) -> u64 {
        let (mut due, mut back, mut expired) = (Nanos::MAX, Nanos::MAX, 0);
        for id in 0..self.all.len() as u32 {
            let seat = &mut self.all[id as usize];
            if seat.due <= at {
                (seat.due, seat.back) = (Nanos::MAX, Nanos::MAX);
                expired += 1;
                self.call(id);
            } else {
                (due, back) = (due.min(seat.due), back.min(seat.back));
            }
        }
        (self.due, self.back) = (due, back);
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls every poller that is scheduled; each wants `next`.
    fn turn(seats: &mut Seats<char>, next: NextCall) -> String {
        let mut names = String::new();
        seats.begin();
        while let Some((id, seat)) = seats.next_now() {
            names.push(seat.poller);
            seats.called(id, next);
        }
        names
    }

    #[test]
    fn a_poller_that_panics_keeps_no_other_from_its_call() {
        let mut seats = Seats::new();
        for name in ['a', 'b', 'c'] {
            seats.add(name, 1);
        }
        assert_eq!(seats.begin(), 3);
        let (first, _) = seats.next_now().unwrap();
        seats.called(first, NextCall::Done);
        // The panic is caught outside of the run, which then goes on.
        assert!(seats.next_now().is_some_and(|(id, _)| id == 1));
        assert_eq!(turn(&mut seats, NextCall::OnEvent), "");
        assert_eq!(turn(&mut seats, NextCall::OnEvent), "c");
        seats.owner(1);
        assert_eq!(turn(&mut seats, NextCall::Done), "b");
        assert!(!seats.has_calls() && seats.live() == 1);
    }

    #[test]
    fn a_poller_is_called_once_a_turn_however_often_it_was_wanted() {
        let mut seats = Seats::new();
        seats.add('a', 2);
        seats.add('b', 1);
        assert_eq!(turn(&mut seats, NextCall::OnEvent), "ab");
        for (queue, own) in [(2, ('b', 0)), (0, ('a', 0)), (1, ('a', 1))] {
            let (poller, index) = seats.owner(queue);
            assert_eq!((*poller, index), own);
        }
        assert_eq!(turn(&mut seats, NextCall::Now), "ba");
        assert_eq!(turn(&mut seats, NextCall::Done), "ba");
        seats.owner(0);
        seats.call_all();
        assert!(!seats.has_calls() && seats.live() == 0);
    }

    #[test]
    fn a_poller_is_called_at_its_time_and_not_before() {
        let mut seats = Seats::new();
        seats.add('a', 0);
        turn(&mut seats, NextCall::At(Nanos(5_000_000)));
        seats.add('b', 0);
        turn(&mut seats, NextCall::Promptly(Nanos(7_000_000)));
        assert_eq!(
            (seats.due(), seats.back()),
            (Nanos(5_000_000), Nanos(5_000_000))
        );
        assert_eq!(seats.expire(Nanos(4_999_999)), 0);
        assert_eq!(seats.expire(Nanos(5_000_000)), 1);
        assert_eq!(
            (seats.due(), seats.back()),
            (Nanos(7_000_000), Nanos(6_940_000))
        );
        assert_eq!(turn(&mut seats, NextCall::OnEvent), "a");
        assert_eq!(seats.expire(Nanos(7_000_001)), 1);
        assert!(!seats.has_timers());
        assert_eq!(turn(&mut seats, NextCall::OnEvent), "b");
    }
}
