//! What is promised, and what a delay is worth so that it is kept.

use super::goal::Promised;
use super::quantile::Quantile;
use joulio_units::{Nanos, Percentile};

/// Nanoseconds of the least latency budget.
const FLOOR: f64 = 3_000.0;
/// Share of what a percentile leaves that is spent.
const SPENT: f64 = 0.8;
/// The same of a limit that is learnt from polling: what polling leaves is known there.
const SPENT_LEARNT: f64 = 0.92;
/// I/Os in which late ones are saved up, and owed; so many late ones at least.
const WINDOW: f64 = 1_000.0;
const SAVED: f64 = 2.0;
/// Factor on the price of a delay after one too many, and when none was for a while.
const DEARER: f64 = 2.0;
const CHEAPER: f64 = 0.97;
/// Plans for which the price stays after one too many.
const BLAMED: u32 = 2;
/// Share of the slack between what polling has and a limit that a delay may have.
const TRUST: f64 = 0.5;
/// Nanoseconds for which an I/O is watched for at most, where the promise is not known.
const UNKNOWN: u64 = 10_000_000;
/// Factor on the least price at first.
const FIRST: f64 = 16.0;
/// A delay is negligible that is one so-manieth of a limit.
const NEGLIGIBLE: u64 = 200;
/// A delay hardly delays what waits behind an I/O, that is one so-manieth of its time.
const NEGLIGIBLE_OF: f64 = 100.0;
/// Late I/Os that are allowed before it is known how many there are, and after which they are half
/// forgotten.
const KNOWN: f64 = 10.0;
const FORGOTTEN: f64 = 64.0;
/// I/Os that are learnt of together where they are below all that is learnt.
const TOGETHER: u32 = 32;
/// Share of them from which on the promise is tight.
const TIGHT: f64 = 0.3;

/// A limit, and how many more I/Os may exceed it by the policy's own doing.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Nanoseconds from submission to the sight of the completion.
    latency: u64,
    /// What polling would have there, and whether the limit is set by it.
    polled: Quantile,
    learnt: bool,
    /// Late I/Os that each I/O leaves room for.
    share: f64,
    /// Room that is left.
    credit: f64,
    /// I/Os, the older the less, and how many of them were late.
    ios: f64,
    late: f64,
}

impl Kept {
    /// Late I/Os that can be saved up.
    fn most(&self) -> f64 {
        (self.share * WINDOW).max(SAVED)
    }
}

/// What delays an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The way in which it was waited for.
    Wait,
    /// A nap when it arrived.
    Nap,
}

/// The promise, and the price of a delay in watts.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    kept: Vec<Kept>,
    /// The shortest limit.
    shortest: u64,
    /// A time below what polling would have at each percentile, and I/Os below it that are not learnt of
    /// yet.
    low: u64,
    below: u32,
    /// Share that is added to what polling has, where limits are learnt.
    budget: f64,
    /// Share of the slack that a delay may have: less after one too many.
    trust: f64,
    /// By cause.
    prices: [f64; 2],
    least: f64,
    /// I/Os since the credits were counted.
    ios: u32,
    /// Plans until delays become cheaper again.
    blamed: u32,
}

impl Promise {
    /// What is `promised` of latencies of which `around` are not the device's, where a delay is worth
    /// `least` watts at least.
    pub(super) fn new(promised: Promised, around: Nanos, least: f64) -> Promise {
        let limit = |percentile: Percentile, latency: u64, learnt: bool| Kept {
            latency,
            polled: Quantile::new(percentile.above()),
            learnt,
            share: percentile.above() * if learnt { SPENT_LEARNT } else { SPENT },
            credit: 0.0,
            ios: 0.0,
            late: 0.0,
        };
        let (kept, budget) = match &promised {
            Promised::Nothing => (Vec::new(), 0.0),
            Promised::Slo(slo) => {
                let limits = slo.limits().iter();
                let kept =
                    limits.map(|one| limit(one.percentile, one.latency.since(around).0, false));
                (kept.collect(), 0.0)
            }
            Promised::Budget(budget) => {
                let percentiles = [Percentile::P99, Percentile::P99_9];
                let kept = percentiles.map(|percentile| limit(percentile, u64::MAX, true));
                (kept.to_vec(), *budget)
            }
        };
        let mut promise = Promise {
            shortest: u64::MAX,
            low: 0,
            below: 0,
            prices: [if kept.is_empty() {
                least
            } else {
                least * FIRST
            }; 2],
            budget,
            trust: TRUST,
            kept,
            least,
            ios: 0,
            blamed: 0,
        };
        promise.limit();
        promise
    }

    /// Learns that an I/O would have taken `time` had it been polled for.
    #[inline]
    pub(super) fn learn(&mut self, time: u64) {
        if time < self.low && self.below < TOGETHER {
            self.below += 1;
            return;
        }
        self.learn_slowly(time);
    }

    /// Learns of one I/O, and of those that were below all that is learnt.
    #[cold]
    fn learn_slowly(&mut self, time: u64) {
        let below = std::mem::take(&mut self.below);
        let mut low = f64::MAX;
        for kept in &mut self.kept {
            kept.polled.add_below(below);
            kept.polled.add(time as f64);
            low = low.min(kept.polled.value());
        }
        self.low = low as u64;
    }

    /// Sets the limits to what polling would have, and the budget.
    fn limit(&mut self) {
        for kept in &mut self.kept {
            let polled = kept.polled.value();
            if kept.learnt && polled > 0.0 {
                let budget = f64::max(polled * self.budget, FLOOR);
                kept.latency = (polled + budget) as u64;
            }
        }
        let limits = self.kept.iter().map(|kept| kept.latency);
        self.shortest = limits.min().unwrap_or(u64::MAX);
    }

    /// Watts that a delay is worth now.
    pub(super) fn price(&self, cause: Cause) -> f64 {
        self.prices[cause as usize]
    }

    /// Returns true if I/Os exceed some limit nearly as often as they may, or it is not known.
    pub(super) fn is_tight(&self) -> bool {
        let tight = |kept: &Kept| {
            let may = kept.ios * kept.share;
            may < KNOWN || kept.late > may * TIGHT
        };
        self.kept.iter().any(tight)
    }

    /// Nanoseconds of the shortest limit.
    pub(super) fn shortest(&self) -> u64 {
        self.shortest
    }

    /// Nanoseconds for which an I/O of which nothing is known is watched for: as long as is promised, or as
    /// long as costs what a block costs, `break_even`.
    pub(super) fn watch(&self, break_even: f64) -> u64 {
        let limits = self.kept.iter().map(|kept| kept.latency);
        let longest = limits.max().unwrap_or(0);
        longest.min(UNKNOWN).max(break_even as u64)
    }

    /// Returns true if something is promised.
    pub(super) fn is_any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Watts that a delay is worth at least.
    pub(super) fn least(&self) -> f64 {
        self.least
    }

    /// Nanoseconds of a delay on which no limit hangs: every I/O may have it.
    pub(super) fn negligible(&self) -> u64 {
        match self.shortest {
            // Nothing is promised, or it is not known yet.
            u64::MAX if self.is_any() => 0,
            limit => (limit / NEGLIGIBLE).max(self.slack()),
        }
    }

    /// Nanoseconds by which every I/O may be later than with polling, so that the percentiles are still
    /// within the limits, or the part of them that is trusted.
    pub(super) fn slack(&self) -> u64 {
        let slack = |kept: &Kept| match kept.polled.value() {
            0.0 => 0.0,
            polled => kept.latency as f64 - polled,
        };
        let least = self.kept.iter().map(slack).fold(f64::MAX, f64::min);
        match self.is_any() {
            true => (least.max(0.0) * self.trust) as u64,
            false => 0,
        }
    }

    /// Nanoseconds of a delay that hardly delays what waits behind I/Os that take `time`.
    pub(super) fn negligible_of(time: f64) -> f64 {
        time / NEGLIGIBLE_OF
    }

    /// Counts an I/O that was seen `time` after its submission, of which `own` nanoseconds at most were the
    /// policy's doing. Returns true if delays are dearer now.
    #[inline]
    pub(super) fn seen(&mut self, time: u64, own: u64, cause: Cause) -> bool {
        self.ios = self.ios.saturating_add(1);
        time > self.shortest && self.late(time, own, cause)
    }

    #[cold]
    fn late(&mut self, time: u64, own: u64, cause: Cause) -> bool {
        self.settle();
        let (alone, shortest) = (time.saturating_sub(own), self.shortest);
        let mut dearer = false;
        for kept in &mut self.kept {
            if time > kept.latency {
                kept.credit -= 1.0;
                kept.late += 1.0;
                let mattered = own > shortest / NEGLIGIBLE && alone <= kept.latency;
                dearer |= mattered && kept.credit < 0.0;
            }
        }
        // Once between two plans.
        dearer &= self.blamed != BLAMED;
        if dearer {
            let price = &mut self.prices[cause as usize];
            *price = (*price * DEARER).min(1e9);
            self.blamed = BLAMED;
            self.trust /= DEARER;
        }
        dearer
    }

    /// Counts what the I/Os since the last time have earned.
    fn settle(&mut self) {
        let ios = f64::from(std::mem::take(&mut self.ios));
        for kept in &mut self.kept {
            kept.ios += ios;
            if kept.ios * kept.share > FORGOTTEN {
                kept.ios /= 2.0;
                kept.late /= 2.0;
            }
            let most = kept.most();
            kept.credit = (kept.credit + ios * kept.share).clamp(-most, most);
        }
    }

    /// Makes delays cheaper where the policy has not been to blame for a while.
    pub(super) fn relax(&mut self) {
        self.settle();
        self.limit();
        self.blamed = self.blamed.saturating_sub(1);
        if self.blamed == 0 {
            let saved = |kept: &Kept| kept.credit >= kept.most() / 2.0;
            if self.kept.iter().all(saved) {
                for price in &mut self.prices {
                    *price = (*price * CHEAPER).max(self.least);
                }
                self.trust = (self.trust / CHEAPER).min(TRUST);
            }
        }
    }
}
