//! Queue of the threads' next events, the earliest first.

use joulio_units::Nanos;

/// Events, at most one in each of so many places: a tournament of four at a time, whose winner is the
/// earliest. Of two at the same time that with the lower number is first. After `new` nothing allocates.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// The winners of a tree in rows: the root first, the four below node n at 4n + 1 and after, the places in
    /// the last row.
    nodes: Box<[Four]>,
    /// Node of the first four places.
    last_row: usize,
    /// Place of each number.
    places: Box<[u16]>,
}

/// Four events, of which one goes up.
type Four = [Event; 4];

/// A time and a number, as one number: comparing two takes no branch.
type Event = u64;

/// The event of a place that has none.
const NEVER: Event = Event::MAX;

/// Bits of an event's number.
const NUMBER: u32 = MAX_NUMBERS.trailing_zeros();

/// Numbers that there can be, from 0.
pub(crate) const MAX_NUMBERS: usize = 1 << 14;

/// The latest time of an event that leaves room for [`NEVER`].
pub(crate) const MAX_TIME: Nanos = Nanos((Event::MAX >> NUMBER) - 1);

impl EventQueue {
    /// So many `places`, without events. `numbers` has the place of each number; both are at most
    /// [`MAX_NUMBERS`].
    pub(crate) fn new(places: usize, numbers: impl IntoIterator<Item = usize>) -> EventQueue {
        let (mut last_row, mut fours) = (0, 1);
        while 4 * fours < places {
            last_row += fours;
            fours *= 4;
        }
        EventQueue {
            nodes: vec![[NEVER; 4]; last_row + places.div_ceil(4).max(1)].into(),
            last_row,
            places: numbers.into_iter().map(|place| place as u16).collect(),
        }
    }

    /// The earliest event: its time and its place.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Nanos, usize)> {
        let first = least(&self.nodes[0]);
        let place = || self.places[first as usize % MAX_NUMBERS];
        (first != NEVER).then(|| (time_of(first), place().into()))
    }

    /// The event at the place of `number` is now that number's, at `at`, or at [`MAX_TIME`] if that is earlier.
    #[inline]
    pub(crate) fn set(&mut self, at: Nanos, number: usize) {
        let event = at.min(MAX_TIME).0 << NUMBER | number as u64;
        self.replace(self.places[number].into(), event);
    }

    /// There is no event at `place`.
    pub(crate) fn clear(&mut self, place: usize) {
        self.replace(place, NEVER);
    }

    /// The time of the earliest event but for that at `place`; past [`MAX_TIME`], if there is none.
    #[inline]
    pub(crate) fn first_but(&self, place: usize) -> Nanos {
        let (mut node, mut side) = (self.last_row + place / 4, place % 4);
        let mut first = NEVER;
        loop {
            let mut others = self.nodes[node];
            others[side] = NEVER;
            first = first.min(least(&others));
            match node.checked_sub(1) {
                Some(below) => (node, side) = (below / 4, below % 4),
                None => return time_of(first),
            }
        }
    }

    #[inline]
    fn replace(&mut self, place: usize, event: Event) {
        let (mut node, mut side) = (self.last_row + place / 4, place % 4);
        let mut winner = event;
        loop {
            let four = &mut self.nodes[node];
            four[side] = winner;
            match node.checked_sub(1) {
                Some(below) => (node, side) = (below / 4, below % 4),
                None => return,
            }
            winner = least(four);
        }
    }
}

#[inline]
fn least([a, b, c, d]: &Four) -> Event {
    (*a).min(*b).min((*c).min(*d))
}

fn time_of(event: Event) -> Nanos {
    Nanos(event >> NUMBER)
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
            // Numbers in another order than places.
            let number = |place: usize| places - 1 - place;
            let mut queue = EventQueue::new(places, (0..places).map(number));
            let mut events = vec![None; places];
            for (place, at) in sets {
                let place = place % places;
                events[place] = at.map(|at| (Nanos(at), number(place), place));
                match events[place] {
                    Some((at, number, _)) => queue.set(at, number),
                    None => queue.clear(place),
                }
                let first = events.iter().flatten().min();
                prop_assert_eq!(queue.first(), first.map(|first| (first.0, first.2)));
                let others = events.iter().flatten().filter(|other| other.2 != place).min();
                prop_assert_eq!(queue.first_but(place), others.map_or(MAX_TIME + Nanos(1), |other| other.0));
            }
        }
    }
}
