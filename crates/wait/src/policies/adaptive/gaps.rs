//! Times in which no I/O is out.

use super::costing::{Cost, Costing, Watch};
use super::promise::Promise;
use crate::{Step, StepKind};
use joulio_units::Nanos;

/// Gaps that are remembered.
const KEPT: usize = 16;

/// Recent times between a completion and the next submission, of a load that comes by itself.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    lengths: [u64; KEPT],
    next: usize,
    count: usize,
    /// Beginning of the current gap: completion of the last I/O that was out, or the first wait after it.
    since: Option<Nanos>,
    /// Waits since an I/O came by itself.
    waits: u32,
    /// Kind of the watch, and its nanoseconds before the core blocks.
    kind: StepKind,
    watch: f64,
    /// Recent mean nanoseconds of a gap, and of the time between two; and the end of the last gap, or the first wait.
    idle: f64,
    busy: f64,
    end: Option<Nanos>,
    /// Nanoseconds by which an I/O that ends a gap is late.
    delay: f64,
    /// Nanoseconds that most such I/Os took lately: few took more.
    slowest: f64,
}

/// Number of waits without an I/O that comes by itself after which the load counts as a closed loop.
const CLOSED: u32 = 64;
/// Number of gaps after which an older mean has little weight.
const MEAN: f64 = 16.0;
/// Nanoseconds without an I/O after which the core goes idle in any case.
const QUIET: f64 = 10e6;

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps {
            lengths: [0; KEPT],
            next: 0,
            count: 0,
            since: None,
            waits: CLOSED,
            kind: StepKind::Spin,
            watch: 0.0,
            idle: 0.0,
            busy: 0.0,
            end: None,
            delay: 0.0,
            slowest: 0.0,
        }
    }
}

impl Gaps {
    /// Returns true if nothing is out.
    pub(super) fn is_one(&self) -> bool {
        self.since.is_some()
    }

    /// Returns true if the load comes by itself.
    pub(super) fn open(&self) -> bool {
        self.waits < CLOSED
    }

    /// Notes that a wait with I/Os out begins at `now`, perhaps the first.
    pub(super) fn begun(&mut self, now: Nanos) {
        self.end.get_or_insert(now);
    }

    /// Counts a wait with I/Os out.
    #[inline]
    pub(super) fn waited(&mut self) {
        self.waits = self.waits.saturating_add(1);
    }

    /// Returns when the current gap began; the gap begins at `now` if this is its first wait.
    pub(super) fn began(&mut self, now: Nanos) -> Nanos {
        if let Some(since) = self.since {
            return since;
        }
        if let Some(end) = self.end {
            self.busy += (now.since(end).0 as f64 - self.busy) / MEAN;
        }
        self.since = Some(now);
        now
    }

    /// Returns true if nothing is out for more than half of the time.
    pub(super) fn prevail(&self) -> bool {
        self.idle > self.busy
    }

    /// An I/O came by itself.
    pub(super) fn arrived(&mut self) {
        self.waits = 0;
    }

    /// Ends a gap at `at`; returns its nanoseconds.
    pub(super) fn ended(&mut self, at: Nanos) -> u64 {
        let Some(since) = self.since.take() else {
            return 0;
        };
        let length = at.since(since).0;
        self.idle += (length as f64 - self.idle) / MEAN;
        self.end = Some(at);
        self.lengths[self.next] = length;
        self.next = (self.next + 1) % KEPT;
        self.count = (self.count + 1).min(KEPT);
        length
    }

    /// Returns the step at `now` in a gap that began at `since`.
    pub(super) fn step(&self, since: Nanos, now: Nanos) -> Step {
        let until = since + Nanos(self.watch as u64);
        match now < until {
            true => Step::new(self.kind, until),
            false => Step::BLOCK,
        }
    }

    /// Plans again; while there is no history the core watches for long if latencies are promised. The I/O that ends
    /// a gap is one of the slowest in a share of `alone` cases.
    pub(super) fn plan(&mut self, costing: &Costing<'_>, alone: f64) {
        let lengths = &self.lengths[..self.count];
        if lengths.is_empty() {
            self.kind = StepKind::Spin;
            self.watch = match costing.promise {
                Some(_) => QUIET,
                None => costing.break_even,
            };
            return;
        }
        let costs = costing.costs;
        let spin = costs.spin.0;
        let mean = lengths.iter().map(|length| *length as f64).sum::<f64>() / lengths.len() as f64;
        let cost = |watch: Watch, most: f64| -> (f64, f64) {
            let exit = Cost::one(watch.exit * spin, watch.exit);
            let (mut joules, mut late, mut delay) = (0.0, 0.0, 0.0_f64);
            for length in lengths.iter().map(|length| *length as f64) {
                let end = match length <= most {
                    true => exit,
                    false => costing.block(most, length),
                };
                joules += length.min(most) * watch.watts + end.joules;
                late += end.delay;
                delay = delay.max(end.delay);
            }
            let count = lengths.len() as f64;
            let (joules, late) = (joules / count, late / count);
            // An I/O that comes by itself is late alone, with those behind it.
            let fraction = match self.slowest + delay > costing.due {
                true => 1.0,
                false => alone,
            };
            let risk = |promise: &Promise| promise.risk(delay + costing.nap, fraction);
            let risk = costing.promise.map_or(0.0, risk);
            (
                joules + costing.delay_weight * late + spin * mean * risk,
                delay,
            )
        };
        let mut best = (f64::MAX, StepKind::Spin, QUIET, 0.0);
        for watch in costing.watches {
            for most in [QUIET, costing.break_even, 0.0] {
                let (cost, delay) = cost(*watch, most);
                if cost < best.0 {
                    best = (cost, watch.kind, most, delay);
                }
            }
        }
        (self.kind, self.watch, self.delay) = (best.1, best.2, best.3);
    }

    /// Returns the nanoseconds by which an I/O that ends a gap may be late.
    pub(super) fn delay(&self) -> f64 {
        self.delay
    }

    /// Notes that an I/O that came when none was out took `time`.
    pub(super) fn took(&mut self, time: f64) {
        self.slowest = match time > self.slowest {
            true => time,
            false => self.slowest - (self.slowest - time) / 64.0,
        };
    }
}
