//! History of a class: the latest I/Os and their times.

use super::points::{POINTS, Points};
use super::sorted::sorted;
use joulio_units::Nanos;

/// I/Os that are remembered.
pub(super) const KEPT: usize = 64;
/// I/Os before a class has a history.
pub(super) const FEW: usize = 16;

/// Recent times from submission to completion of one class, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    /// Time from which on an I/O may be of note, or a surprise.
    usual: u64,
    times: [u32; KEPT],
    /// Number of I/Os since the history was forgotten; modulo [`KEPT`], the index of the next one.
    added: u64,
    /// Value of `added` after the last I/O that a block ended.
    blocked: u64,
    /// Recent nanoseconds until such I/Os were seen, in the mean.
    seen: f64,
    /// Number of I/Os in a row that took longer than any remembered.
    surprises: u8,
    /// Number of I/Os in a row that had completed when the core woke.
    overs: u8,
    /// The shortest and the longest time that were remembered at the last summary.
    shortest: u32,
    longest: u32,
    /// Time that one I/O in eight exceeded.
    high: u32,
    /// Time from which on an I/O is a surprise: a quarter more than `longest`; the maximum before the first summary.
    surprising: u32,
    /// Value of `added` at the last summary.
    summarized: u64,
}

impl Default for History {
    fn default() -> History {
        History {
            usual: 0,
            times: [0; KEPT],
            added: 0,
            blocked: 0,
            seen: 0.0,
            surprises: 0,
            overs: 0,
            shortest: 0,
            longest: 0,
            high: 0,
            surprising: u32::MAX,
            summarized: 0,
        }
    }
}

/// Longest time that the history can hold, in nanoseconds.
const MAX_TIME_NS: u64 = u32::MAX as u64;
/// Number of surprises in a row after which a history is forgotten except for its last I/Os.
const SURPRISES: u8 = 4;

impl History {
    /// Returns the number of I/Os that are remembered.
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
        let time = time.min(MAX_TIME_NS) as u32;
        self.put(time);
        self.overs = 0;
        if time > self.surprising && self.len() > usize::from(SURPRISES) {
            return self.surprised();
        }
        self.surprises = 0;
        false
    }

    /// Adds an I/O that a block ended and that was seen after `seen` nanoseconds; it took `time` if the wake-up took
    /// what is expected. Returns true if the history was forgotten.
    pub(super) fn add_blocked(&mut self, time: u64, seen: u64) -> bool {
        let part = if self.blocks() { 1.0 / 16.0 } else { 1.0 };
        self.seen += (seen as f64 - self.seen) * part;
        let forgotten = self.add(time);
        self.blocked = self.added;
        forgotten
    }

    /// Returns true if a block ended one of the remembered I/Os.
    fn blocks(&self) -> bool {
        self.blocked > 0 && self.added - self.blocked < KEPT as u64
    }

    /// Returns the mean nanoseconds until I/Os are seen that a block ends, if one is remembered.
    pub(super) fn seen_blocked(&self) -> Option<f64> {
        self.blocks().then_some(self.seen)
    }

    /// Returns true if no block ended any of the remembered I/Os: their times contain no wake-up.
    pub(super) fn is_known(&self) -> bool {
        self.added - self.blocked >= (KEPT / 2) as u64
    }

    /// Sets the time below which an I/O that is no surprise counts as one like most, until the history is forgotten.
    pub(super) fn set_usual(&mut self, time: u64) {
        self.usual = time.min(u64::from(self.surprising)).min(MAX_TIME_NS);
    }

    /// Returns true if an I/O that took `time` is one like most: neither a surprise nor of note.
    #[inline]
    pub(super) fn is_like_most(&self, time: u64) -> bool {
        time < self.usual
    }

    /// Returns true if an I/O that took `time` is no surprise.
    #[inline]
    pub(super) fn is_usual(&self, time: u64) -> bool {
        time <= u64::from(self.surprising).min(MAX_TIME_NS)
    }

    /// Adds an I/O that took `time`, which is no surprise.
    #[inline]
    pub(super) fn add_usual(&mut self, time: u64) {
        self.put(time as u32);
        (self.overs, self.surprises) = (0, 0);
    }

    /// Adds an I/O that had completed when the core woke, `within` after its submission: its time is not known. The
    /// remembered time stays unless it is longer; after `many` such I/Os in a row all are forgotten. Returns true if
    /// the history was forgotten.
    pub(super) fn add_within(&mut self, within: u64, many: u8) -> bool {
        self.overs = self.overs.saturating_add(1);
        if self.overs >= many {
            *self = History::default();
            return true;
        }
        let within = within.min(MAX_TIME_NS) as u32;
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

    /// Counts an I/O that took longer than any remembered. Returns true if the history was forgotten for that.
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

    /// Returns representatives of the times, ascending, each for the same number of I/Os; also forgets the longest
    /// time if it is no longer remembered.
    pub(super) fn points(&mut self) -> Points {
        let count = self.len().max(1);
        let sorted = match count {
            KEPT => sorted(&self.times, self.shortest, self.high),
            count => {
                let mut sorted = self.times;
                sorted[..count].sort_unstable();
                sorted
            }
        };
        (self.shortest, self.longest) = (sorted[0], sorted[count - 1]);
        self.high = sorted[count - count / 8 - 1];
        self.surprising = self.longest.saturating_add(self.longest / 4);
        self.summarized = self.added;
        Points::new(std::array::from_fn(|point| {
            f64::from(sorted[(2 * point + 1) * count / (2 * POINTS)])
        }))
    }

    /// Returns the shortest time that was remembered at the last summary.
    pub(super) fn shortest(&self) -> u64 {
        u64::from(self.shortest)
    }

    /// Returns the longest time that was remembered at the last summary.
    pub(super) fn longest(&self) -> Nanos {
        Nanos(u64::from(self.longest))
    }
}
