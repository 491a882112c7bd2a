//! Queue of the threads' next events, the earliest first.

use joulio_units::Nanos;

/// Events, at most one in each of so many places: a tournament tree, in which the earliest stands at the
/// root. Of two at the same time that with the lower number is first. After `new` nothing allocates.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// The winners of a binary tree in rows: the root at 1, the children of node n at 2n and 2n + 1, the
    /// places in the last row. At 0 is nothing.
    nodes: Box<[Event]>,
}

/// A time, a number and a place, as one number: comparing two takes no branch.
type Event = u128;

/// The event of a place that has none.
const NEVER: Event = Event::MAX;

impl EventQueue {
    /// So many `places`, without events.
    pub(crate) fn new(places: usize) -> EventQueue {
        EventQueue {
            nodes: vec![NEVER; 2 * places.next_power_of_two()].into(),
        }
    }

    /// The earliest event: its time and its place.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Nanos, usize)> {
        let first = self.nodes[1];
        (first != NEVER).then_some((Nanos((first >> 64) as u64), first as u32 as usize))
    }

    /// The event at `place` is now at `at`, and `number` its number; both are below 2^32.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, at: Nanos, number: usize) {
        let below = (number as u64) << 32 | place as u64;
        self.replace(place, Event::from(at.0) << 64 | Event::from(below));
    }

    /// There is no event at `place`.
    pub(crate) fn clear(&mut self, place: usize) {
        self.replace(place, NEVER);
    }

    /// The time of the earliest event but for that at `place`; never, if there is none.
    #[inline]
    pub(crate) fn first_but(&self, place: usize) -> Nanos {
        let (mut node, mut first) = (self.nodes.len() / 2 + place, NEVER);
        while node > 1 {
            first = first.min(self.nodes[node ^ 1]);
            node /= 2;
        }
        Nanos((first >> 64) as u64)
    }

    #[inline]
    fn replace(&mut self, place: usize, event: Event) {
        let nodes = &mut *self.nodes;
        let (mut node, mut winner) = (nodes.len() / 2 + place, event);
        loop {
            nodes[node] = winner;
            if node <= 1 {
                break;
            }
            let other = nodes[node ^ 1];
            if other < winner {
                winner = other;
            }
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_is_first_and_of_equals_the_lower_number(
            places in 1_usize..40,
            sets in prop::collection::vec((0_usize..40, prop::option::of(0_u64..50)), 0..200),
        ) {
            let mut queue = EventQueue::new(places);
            let mut events = vec![None; places];
            for (place, at) in sets {
                let place = place % places;
                // Numbers in another order than places.
                events[place] = at.map(|at| (Nanos(at), 100 - place, place));
                match events[place] {
                    Some((at, number, _)) => queue.set(place, at, number),
                    None => queue.clear(place),
                }
                let first = events.iter().flatten().min();
                prop_assert_eq!(queue.first(), first.map(|first| (first.0, first.2)));
                let others = events.iter().flatten().filter(|other| other.2 != place).min();
                prop_assert_eq!(queue.first_but(place), others.map_or(Nanos::MAX, |other| other.0));
            }
        }
    }
}
