//! Promise of the policy, and how many more I/Os a delay would make late.

use super::goal::Promised;
use super::tail::Tail;
use joulio_units::{Nanos, Percentile};

/// Share of the I/Os that may be late which are made late by more than is harmless, where polling leaves no
/// more; and of what is left where that is known: of those that were not made late though they could have been.
const OWN: f64 = 0.03;
const SPENT: f64 = 0.9;
/// Share of a limit's distance from polling's percentile that plans may use: that percentile is not known more
/// exactly.
const AIM: f64 = 0.85;
/// Share of the late I/Os that are allowed from which on no plan is tried that may change the device's behaviour.
const FULL: f64 = 0.95;
/// Late I/Os that are allowed in excess of these shares until there are so many.
const LOAN: f64 = 0.5;
const REPAID: f64 = 20.0;
/// Share of the slack by which all I/Os may be late: of a closed loop, and where some are late as others are;
/// and by which all may be whatever else is unknown.
const HARMLESS: f64 = 0.98;
const CAREFUL: f64 = 0.85;
const TINY: f64 = 0.4;
/// Share of the late I/Os that are allowed which may be expected, where some I/Os are late as others are.
const EXPECTED: f64 = 0.97;
/// Relative difference below which expectations count as equal.
const ALIKE: f64 = 0.002;
/// Factors on the expected delays: after more I/Os were late than expected, after a while in which that was not so,
/// and the largest.
const WORSE: f64 = 1.5;
const BETTER: f64 = 0.9;
const WORST: f64 = 16.0;
/// Number of I/Os above the time that is used as a percentile while there are too few I/Os for the percentile itself.
const RANK: f64 = 3.0;
/// Longest nanoseconds for which an I/O is watched for while the promise is not known.
const UNKNOWN: u64 = 10_000_000;
/// Share of the lowest promised percentile below which latencies are counted together.
const FLOOR: f64 = 0.5;
/// Share of the lowest promised percentile from which on an I/O is one of the slowest.
const SLOW: f64 = 0.9;
/// Times as many I/Os as may be late that are told apart one by one, the slowest first; and how many may be late when
/// there are enough to sample the others.
const EXACT: f64 = 3.0;
const ENOUGH: f64 = 8.0;
/// Number of the other I/Os for each one that is sampled.
pub(super) const SAMPLE: u16 = 8;
/// Times as many quick I/Os in a row as there are for each above the percentile, after which the device is
/// taken for a faster one; and the share of what was learnt that is kept then.
const FASTER: f64 = 32.0;
const KEPT: f32 = 0.125;

/// A latency that a percentile of the I/Os may not exceed.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// Fraction of the I/Os that may exceed the limit.
    share: f64,
    /// Nanoseconds from the request until the completion is seen; 0: not known yet.
    latency: f64,
    /// Nanoseconds of polling at the percentile; 0: not known yet.
    polled: f64,
    /// True if the limit is learnt from polling's latencies.
    learnt: bool,
    /// Nanoseconds by which any I/O may be later than by polling, as far as is known; 0: nothing is known.
    slack: f64,
    /// Number of the remembered I/Os that may exceed the limit.
    rank: f64,
    /// Number of I/Os that exceeded the limit, and of those that polling would have had below its percentile.
    late: f64,
    own: f64,
    /// True if no more of either may be.
    full: bool,
    spent: bool,
}

impl Limit {
    /// Judges by the number of `ios`, with polling's latencies `polled`. Returns true if the limit has become full or
    /// spent.
    fn judge(&mut self, ios: f64, polled: &Tail) -> bool {
        let may = ios * self.share;
        let alone = polled.above(self.latency);
        // I/Os above polling's own percentile; those of them that are in time make up for as many late ones.
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

/// Returns the least slack of `limits`; infinite if there are none.
fn least_slack(limits: &[Limit]) -> f64 {
    let slacks = limits.iter().map(|limit| limit.slack);
    slacks.fold(f64::INFINITY, f64::min)
}

/// Meaning of one I/O's completion for the promise.
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
    /// Nanoseconds of an I/O's latency that are not spent waiting.
    around: f64,
    /// Latencies that polling would have had, and how many more I/Os really had each.
    polled: Tail,
    more: Tail,
    /// Shortest latency that is promised.
    nearest: u64,
    /// Least slack of a limit; infinite where nothing is promised.
    slack: f64,
    /// Delay that any I/O may have; and the multiple of a delay from which on an I/O may have it, whatever others take:
    /// infinite if that is not known.
    floor: f64,
    times: f64,
    /// True if the policy has made more I/Os late than it should since the last refresh, though none should have
    /// been.
    worse: bool,
    /// True if the load is a closed loop.
    closed: bool,
    /// Factor by which delays are taken to be longer than expected; at least 1.
    doubt: f64,
    /// Latency of the slowest I/Os, and the number of I/Os when the last of them was seen.
    high: u64,
    slowest: u32,
    /// Latency with polling from which on an I/O is of note.
    notable: u64,
    /// Latency with polling below which a sample of the I/Os is enough.
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
        let (floor, share) = promised.allowances();
        Promise {
            slack: least_slack(&limits),
            floor: floor * AIM,
            times: 1.0 / (share * AIM),
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

    /// Counts an I/O that polling would have seen `polled` nanoseconds after its request. Returns true if it is of
    /// note: then [`Promise::sight`] must be called.
    #[inline]
    pub(super) fn seen(&mut self, polled: u64) -> bool {
        self.polled.add(polled, 1);
        polled >= self.notable
    }

    /// Counts [`SAMPLE`] I/Os by one of them, whose latency with polling is below [`Promise::common`].
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

    /// Returns true if there are so many I/Os that a sample would do, and none is sampled yet.
    pub(super) fn is_short(&self) -> bool {
        let share = self.limits.iter().map(|limit| limit.share);
        let may = self.polled.ios() * share.fold(0.0, f64::max);
        self.common == 0 && may >= ENOUGH
    }

    /// Returns the latency with polling below which no I/O is late, and one in [`SAMPLE`] is enough.
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

    /// Counts an I/O that exceeds a limit. Returns true if a limit has become full or spent by that.
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

    /// Takes in the recent I/Os; `closed`: the load is a closed loop.
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

    /// Returns the number of I/Os since the last of the slowest.
    fn below(&self) -> u32 {
        self.polled.added().wrapping_sub(self.slowest)
    }

    /// Returns the mean nanoseconds, over all I/Os, of close watching after an I/O is due.
    pub(super) fn after_due(&self) -> f64 {
        let due = self.due();
        let longest = self.limits.iter().map(|limit| limit.latency);
        let longest = longest.fold(0.0, f64::max);
        match self.polled.ios() {
            0.0 => 0.0,
            ios => self.polled.above(due) / ios * (longest - due) / 2.0,
        }
    }

    /// Returns the nanoseconds from which on each I/O may be `delay` nanoseconds late, whatever others take; infinite
    /// where that is not known.
    pub(super) fn harmless_from(&self, delay: f64) -> f64 {
        let delay = delay * self.doubt;
        match delay <= self.floor {
            true => 0.0,
            false => delay * self.times,
        }
    }

    /// Returns true if something is promised.
    pub(super) fn is_any(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Returns the nanoseconds from its request for which an I/O may stay unseen whatever its time; infinite where
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
            // If fewer I/Os than expected were above polling's percentile up to now, the others are still to come.
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

    /// Returns true if no promise is broken when every I/O is later by `delay` than by polling, whatever that does to
    /// the device.
    pub(super) fn is_tiny(&self, delay: f64) -> bool {
        delay <= self.slack * TINY
    }

    /// Returns true if no promise is broken when any single I/O is later by `delay` than by polling.
    pub(super) fn is_harmless(&self, delay: f64) -> bool {
        delay <= self.slack * CAREFUL
    }

    /// Returns true if a limit is below `time`, or not known.
    pub(super) fn is_below(&self, time: f64) -> bool {
        self.limits.iter().any(|limit| limit.latency < time)
    }

    /// Returns true if polling's latencies are known.
    pub(super) fn is_over_polling(&self) -> bool {
        self.slack > 0.0
    }

    /// Returns true if so many I/Os are late that no plan should be tried that may change the device's behaviour.
    pub(super) fn is_full(&self) -> bool {
        self.limits.iter().any(|limit| limit.full || limit.spent)
    }

    /// Returns true if so many I/Os are late that no `more` may be.
    pub(super) fn is_full_with(&self, more: f64) -> bool {
        let ios = self.polled.ios();
        let full = |limit: &Limit| limit.late + more > ios * limit.share * FULL;
        self.is_full() || self.limits.iter().any(full)
    }

    /// Returns true if the policy has made more I/Os late than allowed.
    pub(super) fn is_spent(&self) -> bool {
        self.limits.iter().any(|limit| limit.spent)
    }

    /// Returns the nanoseconds for which an I/O without a history is watched for: as long as promised, or as long as
    /// costs as much as a block, `break_even`; but no longer than until it has taken so long that the `delay` of a block
    /// is within what is promised.
    pub(super) fn watch(&self, break_even: f64, delay: f64) -> f64 {
        let longest = self.limits.iter().map(|limit| match limit.latency {
            0.0 => UNKNOWN as f64,
            latency => latency,
        });
        let longest = longest.fold(0.0, f64::max).min(UNKNOWN as f64);
        longest.min(self.harmless_from(delay)).max(break_even)
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
        // A hundred of them will be above the 99th percentile; half of those have been so far.
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
