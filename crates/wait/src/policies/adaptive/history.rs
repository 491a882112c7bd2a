//! History of a class: the latest I/Os and their times.

use super::points::{POINTS, Points};
use joulio_units::Nanos;

/// I/Os that are remembered.
pub(super) const KEPT: usize = 64;
/// I/Os before a class has a history.
pub(super) const FEW: usize = 16;

/// The latest times from submission to completion of one class, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    times: [u32; KEPT],
    /// I/Os since the history was forgotten; modulo [`KEPT`], the place of the next one.
    added: u64,
    /// I/Os in a row that took longer than any remembered.
    surprises: u8,
    /// I/Os in a row that were there when the core woke.
    overs: u8,
    /// The longest time that was remembered at the last summary.
    longest: u32,
    /// Time from which an I/O is a surprise: a quarter more than `longest`; the most there is before the
    /// first summary.
    surprising: u32,
    /// Value of `added` at the last summary.
    summarized: u64,
}

impl Default for History {
    fn default() -> History {
        History {
            times: [0; KEPT],
            added: 0,
            surprises: 0,
            overs: 0,
            longest: 0,
            surprising: u32::MAX,
            summarized: 0,
        }
    }
}

/// Surprises in a row after which a history is forgotten but for its last I/Os.
const SURPRISES: u8 = 4;

impl History {
    /// Number of I/Os that are remembered.
    pub(super) fn len(&self) -> usize {
        self.added.min(KEPT as u64) as usize
    }

    /// Returns true if there are I/Os since the last plan.
    pub(super) fn is_fresh(&self) -> bool {
        self.added != self.summarized
    }

    /// Adds an I/O that took `time`. Returns true if the history was forgotten.
    pub(super) fn add(&mut self, time: u64) -> bool {
        if self.is_usual(time) {
            self.add_usual(time);
            return false;
        }
        let time = time.min(u64::from(u32::MAX)) as u32;
        self.put(time);
        self.overs = 0;
        if time > self.surprising && self.len() > usize::from(SURPRISES) {
            return self.surprised();
        }
        self.surprises = 0;
        false
    }

    /// Returns true if an I/O that took `time` is no surprise.
    #[inline]
    pub(super) fn is_usual(&self, time: u64) -> bool {
        time <= u64::from(self.surprising)
    }

    /// Adds an I/O that took `time`, which is no surprise.
    #[inline]
    pub(super) fn add_usual(&mut self, time: u64) {
        self.put(time as u32);
        (self.overs, self.surprises) = (0, 0);
    }

    /// Adds an I/O that was there when the core woke, `within` after its submission: how long it took
    /// is not known. What was remembered stays, unless it is longer; but for all of it if there were so
    /// `many` in a row. Returns true if the history was forgotten.
    pub(super) fn add_within(&mut self, within: u64, many: u8) -> bool {
        self.overs = self.overs.saturating_add(1);
        if self.overs >= many {
            *self = History::default();
            return true;
        }
        let within = within.min(u64::from(u32::MAX)) as u32;
        let oldest = self.times[self.added as usize % KEPT];
        let known = self.len() == KEPT;
        let time = if known && oldest <= within {
            oldest
        } else {
            within - within / 64
        };
        self.put(time);
        self.surprises = 0;
        false
    }

    #[inline]
    fn put(&mut self, time: u32) {
        self.times[self.added as usize % KEPT] = time;
        self.added += 1;
    }

    /// One more I/O took longer than any remembered.
    #[cold]
    fn surprised(&mut self) -> bool {
        self.surprises += 1;
        if self.surprises < SURPRISES {
            return false;
        }
        let last = self.added as usize % KEPT + KEPT;
        let kept = usize::from(SURPRISES) - 1;
        let mut forgotten = History::default();
        for back in (1..=kept).rev() {
            forgotten.put(self.times[(last - back) % KEPT]);
        }
        *self = forgotten;
        true
    }

    /// Representatives of the times, ascending, each of as many I/Os; and forgets how long the longest
    /// took that is no longer remembered.
    pub(super) fn points(&mut self) -> Points {
        let count = self.len().max(1);
        let mut sorted = self.times;
        sorted[..count].sort_unstable();
        self.longest = sorted[count - 1];
        self.surprising = self.longest.saturating_add(self.longest / 4);
        self.summarized = self.added;
        Points::new(std::array::from_fn(|point| {
            f64::from(sorted[(2 * point + 1) * count / (2 * POINTS)])
        }))
    }

    /// The shortest time that is remembered.
    pub(super) fn shortest(&self) -> u64 {
        let times = &self.times[..self.len().max(1)];
        u64::from(times.iter().copied().min().unwrap_or(0))
    }

    /// The longest time that was remembered at the last summary.
    pub(super) fn longest(&self) -> Nanos {
        Nanos(u64::from(self.longest))
    }
}
