//! Times in which nothing is out.

use super::plan::{Cost, Pricing, Watch};
use crate::{Step, StepKind};
use joulio_units::Nanos;

/// Gaps that are remembered.
const KEPT: usize = 16;

/// The latest times between a completion and the next submission, of a load that comes by itself.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    lengths: [u64; KEPT],
    next: usize,
    count: usize,
    /// When the last I/O that was out completed, once it is waited for the next.
    since: Option<Nanos>,
    /// Mean nanoseconds of a gap, and of the time between two, lately; and the end of the last one.
    idle: f64,
    busy: f64,
    end: Nanos,
    /// Waits since an I/O came by itself.
    waits: u32,
    /// Kind of the watch, and its nanoseconds before the core blocks.
    kind: StepKind,
    watch: f64,
}

/// Waits without an I/O that comes by itself after which the load is a closed loop.
const CLOSED: u32 = 64;
/// Gaps in which a mean is nearly forgotten.
const MEAN: f64 = 16.0;
/// Time without an I/O after which the core goes idle whatever was.
const QUIET: f64 = 10e6;

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps {
            lengths: [0; KEPT],
            next: 0,
            count: 0,
            since: None,
            idle: 0.0,
            busy: 0.0,
            end: Nanos::ZERO,
            waits: CLOSED,
            kind: StepKind::Spin,
            watch: 0.0,
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

    /// Counts a wait with I/Os out.
    #[inline]
    pub(super) fn waited(&mut self) {
        self.waits = self.waits.saturating_add(1);
    }

    /// When the gap began in which nothing is out: at `now`, if it is its first wait.
    pub(super) fn began(&mut self, now: Nanos) -> Nanos {
        if let Some(since) = self.since {
            return since;
        }
        self.busy += (now.since(self.end).0 as f64 - self.busy) / MEAN;
        self.since = Some(now);
        now
    }

    /// Share of the time in which nothing is out, 0 to 1.
    pub(super) fn idle_share(&self) -> f64 {
        match self.idle + self.busy {
            0.0 => 0.0,
            sum => self.idle / sum,
        }
    }

    /// An I/O came by itself.
    pub(super) fn arrived(&mut self) {
        self.waits = 0;
    }

    /// Ends a gap at `at`; its nanoseconds.
    pub(super) fn ended(&mut self, at: Nanos) -> u64 {
        let Some(since) = self.since.take() else {
            return 0;
        };
        let length = at.since(since).0;
        self.idle += (length as f64 - self.idle) / MEAN;
        self.end = at;
        self.lengths[self.next] = length;
        self.next = (self.next + 1) % KEPT;
        self.count = (self.count + 1).min(KEPT);
        length
    }

    /// What the core does at `now` in a gap that began at `since`.
    pub(super) fn step(&self, since: Nanos, now: Nanos) -> Step {
        let until = since + Nanos(self.watch as u64);
        match now < until {
            true => Step::new(self.kind, until),
            false => Step::BLOCK,
        }
    }

    /// Plans anew; what nothing is known of is watched where latencies are `promised`.
    pub(super) fn plan(&mut self, pricing: &Pricing<'_>, promised: bool) {
        let lengths = &self.lengths[..self.count];
        if lengths.is_empty() {
            (self.kind, self.watch) = match promised {
                true => (StepKind::Spin, QUIET),
                false => (StepKind::Spin, pricing.costs.break_even()),
            };
            return;
        }
        let spin = pricing.costs.spin.0;
        let cost = |watch: Watch, most: f64| -> f64 {
            let exit = Cost::one(watch.exit * spin, watch.exit);
            let one = lengths.iter().map(|&length| {
                let length = length as f64;
                let watched = length.min(most) * watch.watts;
                let end = match length <= most {
                    true => exit,
                    false => pricing.block(most, length),
                };
                watched + end.joules + pricing.price(end) * end.delay
            });
            one.sum()
        };
        let mut best = (f64::MAX, StepKind::Spin, QUIET);
        for watch in pricing.watches {
            for most in [QUIET, pricing.costs.break_even(), 0.0] {
                let cost = cost(*watch, most);
                if cost < best.0 {
                    best = (cost, watch.kind, most);
                }
            }
        }
        (self.kind, self.watch) = (best.1, best.2);
    }
}
