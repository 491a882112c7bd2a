//! Priority queues of the threads' next events.

use joulio_units::Nanos;

/// Time and thread number of an event in one integer, so that two are compared without a branch. Of two events at
/// the same time the one with the lower number comes first.
type Event = u64;

/// Placeholder for a thread without an event.
const NEVER: Event = Event::MAX;

/// Number of bits of an event's thread number.
const NUMBER: u32 = MAX_NUMBERS.trailing_zeros();

/// Number of thread numbers, which begin at 0.
pub(crate) const MAX_NUMBERS: usize = 1 << 14;

/// The latest time of an event that leaves room for [`NEVER`].
pub(crate) const MAX_TIME: Nanos = Nanos((Event::MAX >> NUMBER) - 1);

/// Returns the event of thread `number` at `at`, which is at most [`MAX_TIME`].
#[inline]
fn event(at: Nanos, number: usize) -> Event {
    debug_assert!(at <= MAX_TIME);
    at.0 << NUMBER | number as u64
}

#[inline]
fn time_of(event: Event) -> Nanos {
    Nanos(event >> NUMBER)
}

#[inline]
fn number_of(event: Event) -> usize {
    event as usize % MAX_NUMBERS
}

/// Events of the threads of a core, at most one per thread. There are few at a time: a thread that waits for its
/// CPU has none. Nothing is allocated after `new`.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// The events, the earliest last.
    events: Vec<Event>,
}

impl EventQueue {
    /// Returns a queue without events, for thread numbers below `numbers`.
    pub(crate) fn new(numbers: usize) -> EventQueue {
        EventQueue {
            events: Vec::with_capacity(numbers),
        }
    }

    /// Returns the time and the thread number of the earliest event.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Nanos, usize)> {
        let first = *self.events.last()?;
        Some((time_of(first), number_of(first)))
    }

    /// Returns the time of the earliest event; later than [`MAX_TIME`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Nanos {
        self.events
            .last()
            .map_or(MAX_TIME + Nanos(1), |first| time_of(*first))
    }

    /// Removes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.events.pop();
    }

    /// Adds an event of thread `number`, which has none, at `at`, or at [`MAX_TIME`] if that is earlier.
    #[inline]
    pub(crate) fn add(&mut self, at: Nanos, number: usize) {
        let others = self.events.iter().map(|other| number_of(*other));
        debug_assert!(!others.clone().any(|other| other == number));
        let event = event(at.min(MAX_TIME), number);
        self.events.push(event);
        let events = self.events.as_mut_slice();
        let mut place = events.len() - 1;
        while let Some(&before) = events[..place].last()
            && before < event
        {
            events[place] = before;
            place -= 1;
        }
        events[place] = event;
    }
}

/// Rings of the cores, at most one per core: a tournament tree that keeps the loser of each match, so that the
/// winner's next ring is compared with one other ring per round. Nothing is allocated after `new`.
#[derive(Clone, Debug)]
pub(crate) struct RingQueue {
    /// The losers, in the order of a binary heap: the loser of the final is at 1, and those of the matches before
    /// match n are at 2n and 2n + 1.
    losers: Box<[Event]>,
    /// The winner.
    first: Event,
}

impl RingQueue {
    /// Returns a queue of cores: the time and the thread of each core's first ring, or `None`.
    pub(crate) fn new(rings: &[Option<(Nanos, usize)>]) -> RingQueue {
        let places = rings.len().next_power_of_two();
        let mut winners = vec![NEVER; 2 * places];
        for (core, ring) in rings.iter().enumerate() {
            let ring = ring.map(|(at, thread)| event(at.min(MAX_TIME), thread));
            winners[places + core] = ring.unwrap_or(NEVER);
        }
        let mut losers = vec![NEVER; places];
        for one in (1..places).rev() {
            let both = (winners[2 * one], winners[2 * one + 1]);
            winners[one] = both.0.min(both.1);
            losers[one] = both.0.max(both.1);
        }
        RingQueue {
            losers: losers.into(),
            first: winners[1],
        }
    }

    /// Returns the time and the thread of the earliest ring.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Nanos, usize)> {
        (self.first != NEVER).then(|| (time_of(self.first), number_of(self.first)))
    }

    /// Replaces the ring of `core`, which is the earliest, with the time, at most [`MAX_TIME`], and the thread of
    /// its next one, or with none.
    #[inline]
    pub(crate) fn replace_first(&mut self, core: usize, next: Option<(Nanos, usize)>) {
        let mut winner = next.map_or(NEVER, |(at, thread)| event(at, thread));
        let mut place = (self.losers.len() + core) / 2;
        while place > 0 {
            let loser = &mut self.losers[place];
            (winner, *loser) = (winner.min(*loser), winner.max(*loser));
            place /= 2;
        }
        self.first = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_event_is_first_and_of_equals_the_lower_number(
            adds in prop::collection::vec((any::<bool>(), 0_usize..20, 0_u64..50), 0..200),
        ) {
            let mut queue = EventQueue::new(20);
            let mut events = std::collections::BTreeSet::<(Nanos, usize)>::new();
            for (pop, number, at) in adds {
                if pop {
                    queue.pop();
                    events.pop_first();
                } else if events.iter().all(|other| other.1 != number) {
                    queue.add(Nanos(at), number);
                    events.insert((Nanos(at), number));
                }
                prop_assert_eq!(queue.first(), events.first().copied());
                let next = events.first().map_or(MAX_TIME + Nanos(1), |first| first.0);
                prop_assert_eq!(queue.next(), next);
            }
        }

        #[test]
        fn the_earliest_ring_is_first_and_of_equals_that_of_the_lower_thread(
            begins in prop::collection::vec(prop::option::of(0_u64..50), 1..40),
            then in prop::collection::vec((prop::option::of(0_u64..50), 0_usize..2), 0..200),
        ) {
            // Two threads per core; the last core has the lowest numbers.
            let cores = begins.len();
            let thread = |core: usize, which: usize| 2 * (cores - 1 - core) + which;
            let begins = begins.into_iter().enumerate();
            let mut rings: Vec<_> = begins
                .map(|(core, at)| at.map(|at| (Nanos(at), thread(core, 0))))
                .collect();
            let mut queue = RingQueue::new(&rings);
            for (at, which) in then {
                let first = rings.iter().flatten().min().copied();
                prop_assert_eq!(queue.first(), first);
                let Some((_, number)) = first else { break };
                let core = cores - 1 - number / 2;
                rings[core] = at.map(|at| (Nanos(at), thread(core, which)));
                queue.replace_first(core, rings[core]);
            }
        }
    }

    #[test]
    fn a_time_past_the_latest_is_the_latest() {
        let mut queue = EventQueue::new(1);
        queue.add(Nanos::MAX, 0);
        assert_eq!(queue.first(), Some((MAX_TIME, 0)));
        let mut rings = RingQueue::new(&[Some((Nanos::MAX, 0))]);
        assert_eq!(rings.first(), Some((MAX_TIME, 0)));
        rings.replace_first(0, None);
        assert_eq!(rings.first(), None);
    }
}
