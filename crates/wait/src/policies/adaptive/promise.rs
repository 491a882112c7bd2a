//! Promise of the policy, and how many more I/Os a delay would make late.

use super::goal::Promised;
use super::tail::Tail;
use joulio_units::{Nanos, Percentile};

/// Share of the I/Os that may be late which are made late by more than is harmless, where polling leaves no
/// more; and of what is left where that is known: of those that were not made late though they could have been.
const OWN: f64 = 0.03;
const SPENT: f64 = 0.9;
/// Share of what a limit leaves over polling's percentile that is planned with: what polling would have had
/// is known to no more.
const AIM: f64 = 0.85;
/// Share of the I/Os that may be late from which on nothing is tried that may change what the device does.
const FULL: f64 = 0.95;
/// Late I/Os that are allowed beyond these before there are so many.
const LOAN: f64 = 0.5;
const REPAID: f64 = 20.0;
/// Share of the slack by which all I/Os may be late: of a closed loop, and where some are late as others are;
/// and by which all may be whatever else is unknown.
const HARMLESS: f64 = 0.98;
const CAREFUL: f64 = 0.85;
const TINY: f64 = 0.4;
/// Share of the I/Os that may be late which are expected to be, where some are late as others are.
const EXPECTED: f64 = 0.97;
/// Part by which expectations are not told from one another.
const ALIKE: f64 = 0.002;
/// Factor on delays where more was late than was expected, and when that was not so for a while; the most.
const WORSE: f64 = 1.5;
const BETTER: f64 = 0.9;
const WORST: f64 = 16.0;
/// I/Os that are above what is taken for a percentile while there are too few I/Os to have it.
const RANK: f64 = 3.0;
/// Nanoseconds for which an I/O is watched for at most, where the promise is not known.
const UNKNOWN: u64 = 10_000_000;
/// Share of the lowest promised percentile below which latencies are counted together.
const FLOOR: f64 = 0.5;
/// Share of the lowest promised percentile from which on an I/O is one of the slowest.
const SLOW: f64 = 0.9;
/// Times as many I/Os as may be late that are told apart one by one, the slowest first; and how many may be late when
/// there are enough to sample the others.
const EXACT: f64 = 3.0;
const ENOUGH: f64 = 8.0;
/// I/Os for each of the others that is told apart.
pub(super) const SAMPLE: u16 = 8;
/// Times as many quick I/Os in a row as there are for each above the percentile, after which the device is
/// taken for a faster one; and the share of what was learnt that is kept then.
const FASTER: f64 = 32.0;
const KEPT: f32 = 0.125;

/// A latency that a percentile of the I/Os may not exceed.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// Fraction of the I/Os that may exceed it.
    share: f64,
    /// Nanoseconds from the request to the sight of the completion; 0: not known yet.
    latency: f64,
    /// Nanoseconds of polling at the percentile; 0: not known yet.
    polled: f64,
    /// True if it is learnt from what polling has.
    learnt: bool,
    /// Nanoseconds by which any I/O may be later than by polling, for what is known; 0: nothing is.
    slack: f64,
    /// I/Os that may exceed it, of those that are remembered.
    rank: f64,
    /// I/Os that exceeded it, and those of them that polling would not have had above its percentile.
    late: f64,
    own: f64,
    /// True if no more of either may be.
    full: bool,
    spent: bool,
}

impl Limit {
    /// Judges by so many I/Os, which polling would have had as `polled`. Returns true if it is newly full or
    /// spent.
    fn judge(&mut self, ios: f64, polled: &Tail) -> bool {
        let may = ios * self.share;
        let alone = polled.above(self.latency);
        // Above polling's own percentile; those of them that are in time make up for as many that are late.
        let above = polled.above(self.latency - self.slack);
        let loan = LOAN * (1.0 - may / REPAID).max(0.0);
        let left = match self.slack > 0.0 {
            true => f64::min(may * OWN, (above - (self.late - self.own)).max(0.0) * SPENT),
            false => f64::max(may * OWN, may * SPENT - alone),
        };
        let before = (self.full, self.spent);
        self.full = self.late - loan > may * FULL;
        self.spent = self.own - loan > left;
        self.full & !before.0 || self.spent & !before.1
    }
}

/// The least slack of `limits`: endless where there are none.
fn least_slack(limits: &[Limit]) -> f64 {
    let slacks = limits.iter().map(|limit| limit.slack);
    slacks.fold(f64::INFINITY, f64::min)
}

/// What one I/O's completion means for the promise.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sight {
    /// True if it is one of the slowest.
    pub(super) slow: bool,
    /// True if plans should be made anew.
    pub(super) worse: bool,
}

/// The promise, and what I/Os took.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    limits: Vec<Limit>,
    promised: Promised,
    /// Nanoseconds of an I/O's latency that are not waited.
    around: f64,
    /// Latencies that polling would have had, and by how many more I/Os had each.
    polled: Tail,
    more: Tail,
    /// Shortest latency that is promised.
    nearest: u64,
    /// The least slack of a limit: endless where nothing is promised.
    slack: f64,
    /// True if more were late by the policy's doing since I/Os were taken in, though none should have been.
    worse: bool,
    /// True if the load is a closed loop.
    closed: bool,
    /// Factor by which delays are taken to be longer than expected; at least 1.
    doubt: f64,
    /// Latency of the slowest I/Os, and how many there were when the last of them was seen.
    high: u64,
    slowest: u32,
    /// Latency by polling from which on an I/O is of note.
    notable: u64,
    /// Latency by polling below which a sample of the I/Os tells enough.
    common: u64,
}

impl Promise {
    /// A promise of `promised` latencies, of which `around` is not the device's part.
    pub(super) fn new(promised: Promised, around: Nanos) -> Promise {
        let around = around.0 as f64;
        let limit = |percentile: Percentile| Limit {
            share: percentile.above(),
            latency: 0.0,
            polled: 0.0,
            learnt: true,
            slack: 0.0,
            rank: 0.0,
            late: 0.0,
            own: 0.0,
            full: false,
            spent: false,
        };
        let limits: Vec<Limit> = match &promised {
            Promised::Nothing => Vec::new(),
            Promised::Slo(slo) => {
                let limits = slo.limits().iter().map(|one| Limit {
                    latency: (one.latency.0 as f64 - around).max(1.0),
                    learnt: false,
                    ..limit(one.percentile)
                });
                limits.collect()
            }
            Promised::Budget {
                polled: Some(polled),
                ..
            } => {
                let limits = polled.limits().iter().map(|one| {
                    let polled = one.latency.0 as f64;
                    let slack = promised.over(polled) * AIM;
                    Limit {
                        latency: (polled + slack - around).max(1.0),
                        learnt: false,
                        slack,
                        ..limit(one.percentile)
                    }
                });
                limits.collect()
            }
            Promised::Budget { polled: None, .. } => {
                [Percentile::P99, Percentile::P99_9].map(limit).to_vec()
            }
        };
        Promise {
            slack: least_slack(&limits),
            limits,
            promised,
            around,
            polled: Tail::new(),
            more: Tail::new(),
            nearest: u64::MAX,
            worse: false,
            closed: true,
            doubt: 1.0,
            high: u64::MAX,
            slowest: 0,
            notable: u64::MAX,
            common: 0,
        }
    }

    /// Counts an I/O that polling would have seen `polled` nanoseconds after its request. Returns true if it is
    /// of note: [`Promise::sight`] is to be told of it.
    #[inline]
    pub(super) fn seen(&mut self, polled: u64) -> bool {
        self.polled.add(polled, 1);
        polled >= self.notable
    }

    /// Counts [`SAMPLE`] I/Os by one of them, which polling saw before [`Promise::common`].
    #[inline]
    pub(super) fn seen_many(&mut self, polled: u64) {
        self.polled.add(polled, SAMPLE);
        if polled >= self.high {
            self.slow();
        }
    }

    /// Notes that one of the slowest I/Os was counted.
    #[inline]
    fn slow(&mut self) {
        self.slowest = self.polled.added();
    }

    /// Returns true if there are so many I/Os that a sample would do, and none is taken.
    pub(super) fn is_short(&self) -> bool {
        let share = self.limits.iter().map(|limit| limit.share);
        let may = self.polled.ios() * share.fold(0.0, f64::max);
        self.common == 0 && may >= ENOUGH
    }

    /// Latency by polling below which no I/O is late, and one of [`SAMPLE`] tells enough.
    pub(super) fn common(&self) -> u64 {
        self.common
    }

    /// Judges an I/O that was counted, which polling would have seen `polled` nanoseconds after its request and which
    /// was seen `had` nanoseconds after it.
    pub(super) fn sight(&mut self, polled: u64, had: u64) -> Sight {
        if had != polled {
            self.more.shift(polled, had);
        }
        let slow = polled >= self.high;
        if slow {
            self.slow();
        }
        let worse = had > self.nearest && self.late(polled as f64, had as f64);
        Sight { slow, worse }
    }

    /// Counts an I/O that exceeds a limit.
    #[cold]
    fn late(&mut self, polled: f64, had: f64) -> bool {
        let ios = self.polled.ios();
        let mut worse = false;
        for limit in &mut self.limits {
            if had <= limit.latency {
                continue;
            }
            limit.late += 1.0;
            if polled <= limit.latency - limit.slack {
                limit.own += 1.0;
                self.worse |= limit.spent;
            }
            worse |= limit.judge(ios, &self.polled);
        }
        worse
    }

    /// Takes in the I/Os of late; `closed` tells that the load is a closed loop.
    pub(super) fn refresh(&mut self, closed: bool) {
        self.closed = closed;
        if self.limits.is_empty() || !self.polled.has_grown() {
            return;
        }
        let share = self.limits.iter().map(|limit| limit.share);
        let share = share.fold(0.0, f64::max);
        let expected = share * f64::from(self.below());
        if expected > FASTER && self.limits.iter().any(|limit| limit.learnt) {
            self.polled.scale(KEPT);
            self.more.scale(KEPT);
            self.slowest = self.polled.added();
            for limit in &mut self.limits {
                limit.own *= f64::from(KEPT);
            }
        }
        let lowest = self.limits.iter().map(|limit| match limit.learnt {
            true => limit.polled,
            false => limit.latency.min(limit.polled),
        });
        let floor = lowest.fold(f64::MAX, f64::min) * FLOOR;
        let halved = self.polled.sum_up(floor as u64);
        if halved {
            self.more.scale(0.5);
        }
        self.more.sum_up(floor as u64);
        for limit in &mut self.limits {
            let may = self.polled.ios() * limit.share;
            limit.rank = may.max(RANK);
            limit.polled = self.polled.at(limit.rank);
            if limit.learnt {
                limit.slack = self.promised.over(limit.polled + self.around) * AIM;
                limit.latency = limit.polled + limit.slack;
                limit.late = self.polled.above(limit.latency) + self.more.above(limit.latency);
            } else if halved {
                limit.late /= 2.0;
            }
            if halved {
                limit.own /= 2.0;
            }
            limit.judge(self.polled.ios(), &self.polled);
        }
        self.slack = least_slack(&self.limits);
        self.doubt = match std::mem::take(&mut self.worse) {
            true => (self.doubt * WORSE).min(WORST),
            false => (self.doubt * BETTER).max(1.0),
        };
        let latencies = self.limits.iter().map(|limit| limit.latency);
        self.nearest = latencies.fold(f64::MAX, f64::min) as u64;
        let polled = self.limits.iter().map(|limit| limit.polled);
        self.high = (polled.fold(f64::MAX, f64::min) * SLOW) as u64;
        self.notable = self.high.min(self.nearest);
        let may = self.polled.ios() * share;
        self.common = match may >= ENOUGH {
            true => self.polled.below(may * EXACT).min(self.nearest),
            false => 0,
        };
    }

    /// I/Os since the last of the slowest.
    fn below(&self) -> u32 {
        self.polled.added().wrapping_sub(self.slowest)
    }

    /// Nanoseconds for which one I/O of all is watched for closely after it is due, in the mean.
    pub(super) fn after_due(&self) -> f64 {
        let due = self.due();
        let longest = self.limits.iter().map(|limit| limit.latency);
        let longest = longest.fold(0.0, f64::max);
        match self.polled.ios() {
            0.0 => 0.0,
            ios => self.polled.above(due) / ios * (longest - due) / 2.0,
        }
    }

    /// Returns true if something is promised.
    pub(super) fn is_any(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Nanoseconds from its request for which an I/O may be left unseen whatever it takes: endless where
    /// nothing is promised.
    pub(super) fn due(&self) -> f64 {
        let due = self.limits.iter().map(|limit| match limit.learnt {
            true => limit.polled,
            false => limit.latency,
        });
        due.fold(f64::INFINITY, f64::min)
    }

    /// Returns the share of the I/Os that may still be late which a delay would use up: a `fraction` of those near a
    /// limit is seen `delay` nanoseconds later than with polling. 1: all that may still be late; infinite where none
    /// may.
    #[inline]
    pub(super) fn risk(&self, delay: f64, fraction: f64) -> f64 {
        let delay = delay * self.doubt;
        let share = match self.closed {
            true => HARMLESS,
            false => CAREFUL,
        };
        match delay <= self.slack * share {
            true => 0.0,
            false => self.exceeded(delay, fraction),
        }
    }

    /// [`Promise::risk`] of a `delay` that is not harmless.
    #[inline(never)]
    fn exceeded(&self, delay: f64, fraction: f64) -> f64 {
        let expected = match self.closed {
            true => 1.0,
            false => EXPECTED,
        };
        let risk = |limit: &Limit| {
            if limit.rank == 0.0 {
                return f64::INFINITY;
            }
            let alone = self.polled.above(limit.latency);
            let late = match limit.latency - delay {
                time if time > 0.0 => self.polled.above(time),
                _ => self.polled.ios(),
            };
            let late = alone + fraction * (late - alone);
            // Who had fewer above polling's percentile than it says up to now has those still to come.
            let may = match limit.slack > 0.0 {
                true => {
                    let above = self.polled.above(limit.latency - limit.slack);
                    f64::max(above.min(limit.rank) * expected, alone)
                }
                false => f64::max(limit.rank * FULL, alone),
            };
            match (late - may) / limit.rank {
                over if over < ALIKE => 0.0,
                _ if limit.spent => f64::INFINITY,
                _ if limit.full && limit.slack == 0.0 => f64::INFINITY,
                over => over,
            }
        };
        self.limits.iter().map(risk).sum()
    }

    /// Returns true if no promise is broken where every I/O is so much later than by polling, whatever that
    /// does to the device.
    pub(super) fn is_tiny(&self, delay: f64) -> bool {
        delay <= self.slack * TINY
    }

    /// Returns true if no promise is broken where any I/O is so much later than by polling, and no other is.
    pub(super) fn is_harmless(&self, delay: f64) -> bool {
        delay <= self.slack * CAREFUL
    }

    /// Returns true if a limit is below `time`, or not known.
    pub(super) fn is_below(&self, time: f64) -> bool {
        self.limits.iter().any(|limit| limit.latency < time)
    }

    /// Returns true if it is known what polling has.
    pub(super) fn is_over_polling(&self) -> bool {
        self.slack > 0.0
    }

    /// Returns true if so many I/Os are late that nothing should be tried that may change what the device
    /// does.
    pub(super) fn is_full(&self) -> bool {
        self.limits.iter().any(|limit| limit.full || limit.spent)
    }

    /// Returns true if more I/Os were late by the policy's doing than may be.
    pub(super) fn is_spent(&self) -> bool {
        self.limits.iter().any(|limit| limit.spent)
    }

    /// Nanoseconds for which an I/O of which nothing is known is watched for: as long as is promised, or as
    /// long as costs what a block costs, `break_even`.
    pub(super) fn watch(&self, break_even: f64) -> f64 {
        let longest = self.limits.iter().map(|limit| match limit.latency {
            0.0 => UNKNOWN as f64,
            latency => latency,
        });
        let longest = longest.fold(0.0, f64::max);
        longest.min(UNKNOWN as f64).max(break_even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::{Slo, SloLimit};

    #[test]
    fn slow_ios_that_are_still_to_come_are_not_made_up_for_in_advance() {
        let polled = [
            (Percentile::P99, Nanos::from_micros(100)),
            (Percentile::P99_9, Nanos::from_micros(110)),
        ];
        let polled = polled.map(|(percentile, latency)| SloLimit {
            percentile,
            latency,
        });
        let mut promise = Promise::new(
            Promised::Budget {
                share: 0.01,
                floor: Nanos::ZERO,
                polled: Some(Slo::new(&polled).unwrap()),
            },
            Nanos::ZERO,
        );
        // A hundred of them will be above the 99th percentile, of which half have been up to now.
        for n in 0..10_000 {
            promise.seen(match n % 200 {
                0 => 120_000,
                1 => 99_000,
                _ => 90_000,
            });
        }
        promise.refresh(true);
        assert_eq!(promise.risk(500.0, 1.0), 0.0);
        assert!(promise.risk(3_000.0, 1.0) > 0.0);
    }
}
