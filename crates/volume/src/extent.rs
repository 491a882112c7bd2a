//! Extents of files, and free units.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Adjacent allocation units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    /// First unit.
    pub start: u32,
    /// Number of units, at least 1.
    pub units: u32,
}

impl Extent {
    /// Returns the unit after the last.
    pub fn end(self) -> u64 {
        u64::from(self.start) + u64::from(self.units)
    }
}

/// Appends `extent` to `extents`, merged with the last one if it continues that.
pub(crate) fn push(extents: &mut Vec<Extent>, extent: Extent) {
    match extents.last_mut() {
        Some(last) if last.end() == u64::from(extent.start) => last.units += extent.units,
        _ => extents.push(extent),
    }
}

/// Shortens `extents` to their first `units`, and returns the rest.
pub(crate) fn shrink(extents: &mut Vec<Extent>, units: u64) -> Vec<Extent> {
    let mut freed = Vec::new();
    let mut left: u64 = extents.iter().map(|extent| u64::from(extent.units)).sum();
    while left > units {
        let Some(last) = extents.last_mut() else {
            break;
        };
        let surplus = u32::try_from(left - units).unwrap_or(u32::MAX);
        let cut = surplus.min(last.units);
        last.units -= cut;
        freed.push(Extent {
            start: last.start + last.units,
            units: cut,
        });
        if last.units == 0 {
            extents.pop();
        }
        left -= u64::from(cut);
    }
    freed
}

/// Free units: length by first unit of each run, no two of which are adjacent.
#[derive(Debug, Default)]
pub(crate) struct FreeUnits {
    runs: BTreeMap<u32, u32>,
    total: u64,
}

impl FreeUnits {
    /// Returns the number of free units.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Frees `extent`, none of whose units is free.
    pub fn free(&mut self, extent: Extent) {
        self.total += u64::from(extent.units);
        let mut run = extent;
        let before = self.runs.range(..extent.start).next_back();
        if let Some((&start, &units)) = before
            && u64::from(start) + u64::from(units) == u64::from(extent.start)
        {
            run = Extent {
                start,
                units: units + extent.units,
            };
        }
        let after = u32::try_from(extent.end()).ok();
        if let Some(units) = after.and_then(|after| self.runs.remove(&after)) {
            run.units += units;
        }
        self.runs.insert(run.start, run.units);
    }

    /// Allocates up to `units` adjacent units: those from `after` if they are free, else from the first run that has
    /// them all, else from the largest.
    pub fn take(&mut self, units: u32, after: Option<u32>) -> Option<Extent> {
        let next = after.filter(|after| self.runs.contains_key(after));
        let first = || self.runs.iter().find(|run| *run.1 >= units);
        let largest = || self.runs.iter().max_by_key(|run| *run.1);
        let start = match next {
            Some(start) => start,
            None => *first().or_else(largest)?.0,
        };
        let run = self.runs.remove(&start)?;
        let taken = run.min(units);
        if run > taken {
            self.runs.insert(start + taken, run - taken);
        }
        self.total -= u64::from(taken);
        Some(Extent {
            start,
            units: taken,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: u32, units: u32) -> Extent {
        Extent { start, units }
    }

    #[test]
    fn neighbours_are_one_run() {
        let mut free = FreeUnits::default();
        for run in [extent(0, 2), extent(4, 2), extent(2, 2)] {
            free.free(run);
        }
        assert_eq!(free.runs, BTreeMap::from([(0, 6)]));
        assert_eq!(free.total(), 6);
    }

    #[test]
    fn a_file_goes_on_where_it_ends() {
        let mut free = FreeUnits::default();
        free.free(extent(0, 10));
        assert_eq!(free.take(3, None), Some(extent(0, 3)));
        assert_eq!(free.take(2, None), Some(extent(3, 2)));
        free.free(extent(0, 3));
        assert_eq!(free.take(2, Some(5)), Some(extent(5, 2)));
        assert_eq!(free.take(9, None), Some(extent(7, 3)), "the largest");
        assert_eq!(free.take(9, None), Some(extent(0, 3)));
        assert_eq!((free.take(1, None), free.total()), (None, 0));
    }

    #[test]
    fn what_is_cut_off_is_left_over() {
        let mut extents = vec![extent(0, 4), extent(10, 4)];
        assert_eq!(shrink(&mut extents, 9), []);
        assert_eq!(shrink(&mut extents, 3), [extent(10, 4), extent(3, 1)]);
        assert_eq!(extents, [extent(0, 3)]);
        push(&mut extents, extent(3, 2));
        assert_eq!(extents, [extent(0, 5)]);
    }
}
