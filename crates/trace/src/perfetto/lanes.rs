//! Lanes: tracks in which I/Os do not overlap.

use joulio_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Time from which a lane is free, and its number. The earliest comes first; at equal times the lowest number.
type Free = Reverse<(Nanos, usize)>;

/// The lanes of all groups of I/Os. I/Os must be added in the order of their begins.
#[derive(Default)]
pub(super) struct Lanes(HashMap<(usize, String), BinaryHeap<Free>>);

impl Lanes {
    /// Returns the identifier of a lane of `core`'s group `name` that is free from `begin` on, and reserves it
    /// until `end`.
    pub(super) fn id(&mut self, core: usize, name: &str, begin: Nanos, end: Nanos) -> String {
        let lanes = self.0.entry((core, name.to_string())).or_default();
        let free = lanes.peek().filter(|Reverse((free, _))| *free <= begin);
        let lane = match free {
            Some(&Reverse((_, lane))) => {
                lanes.pop();
                lane
            }
            None => lanes.len(),
        };
        lanes.push(Reverse((end, lane)));
        format!("{core}.{name}.{lane}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_lies_in_lanes_of_its_own() {
        let mut lanes = Lanes::default();
        let mut id = |begin, end| lanes.id(0, "q", Nanos(begin), Nanos(end));
        assert_eq!(id(0, 10), "0.q.0");
        assert_eq!(id(5, 20), "0.q.1");
        // Free from that very time on.
        assert_eq!(id(10, 30), "0.q.0");
        assert_eq!(id(15, 16), "0.q.2");
        assert_eq!(lanes.id(1, "q", Nanos(16), Nanos(17)), "1.q.0");
    }
}
