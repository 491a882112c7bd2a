//! Times in which nothing is out.

use super::plan::Pricing;
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
    pub(super) since: Option<Nanos>,
    /// Waits since an I/O came by itself.
    waits: u32,
    /// Nanoseconds of watching before the core blocks.
    watch: f64,
}

/// Waits without an I/O that comes by itself after which the load is a closed loop.
const CLOSED: u32 = 64;
/// Time without an I/O after which the core goes idle whatever was.
const QUIET: f64 = 10e6;

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps {
            lengths: [0; KEPT],
            next: 0,
            count: 0,
            since: None,
            waits: CLOSED,
            watch: 0.0,
        }
    }
}

impl Gaps {
    /// Returns true if the load comes by itself.
    pub(super) fn open(&self) -> bool {
        self.waits < CLOSED
    }

    /// Counts a wait with I/Os out.
    #[inline]
    pub(super) fn waited(&mut self) {
        self.waits = self.waits.saturating_add(1);
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
        self.lengths[self.next] = length;
        self.next = (self.next + 1) % KEPT;
        self.count = (self.count + 1).min(KEPT);
        length
    }

    /// When the core blocks in a gap that began at `since`.
    pub(super) fn watch_until(&self, since: Nanos) -> Nanos {
        since + Nanos(self.watch as u64)
    }

    /// Plans anew; what nothing is known of is watched where latencies are `promised`.
    pub(super) fn plan(&mut self, pricing: &Pricing<'_>, promised: bool) {
        let lengths = &self.lengths[..self.count];
        if lengths.is_empty() {
            self.watch = match promised {
                true => QUIET,
                false => pricing.costs.break_even(),
            };
            return;
        }
        let spin = pricing.costs.spin.0;
        let cost = |watch: f64| -> f64 {
            let one = lengths.iter().map(|&length| {
                let length = length as f64;
                if length <= watch {
                    return length * spin;
                }
                let blocked = pricing.block(watch, length);
                watch * spin + blocked.joules + pricing.price(blocked) * blocked.delay
            });
            one.sum()
        };
        let tries = [QUIET, pricing.costs.break_even(), 0.0];
        let best = tries.into_iter().map(|watch| (cost(watch), watch));
        let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
        self.watch = best.map_or(QUIET, |best| best.1);
    }
}
