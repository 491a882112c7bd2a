//! Detection of other threads that want the core.

use super::costing::Watch;
use super::costs::WaitCosts;
use crate::StepKind;
use joulio_units::{Joules, Nanos, Watts};

/// Weight of a nanosecond of delay where others want the core, in nanoseconds of the core's time.
pub(super) const DELAY_WEIGHT: f64 = 0.5;
/// Window over which lost time is summed up.
const WINDOW: Nanos = Nanos::from_millis(20);
/// Share of it that has to be lost.
const LOST: f64 = 0.1;
/// Time and number of I/Os after which a core that others wanted is tried as the thread's own again. A spin that is
/// wrong costs a slice, which must be rarer than one I/O in a thousand.
const PROBE: Nanos = Nanos::from_millis(100);
const PROBE_IOS: u32 = 4_000;
/// Time after which a core that no thread wanted meanwhile counts as having been the thread's own; before that it was
/// shared all along.
const OWN: Nanos = PROBE;
/// Number of doublings of the time until a core is tried again, for a try that was wrong, and at most: a policy that
/// never tries never finds out.
const DOUBLED: u32 = 3;
const MAX_DOUBLED: u32 = 6;

/// Recent time that a thread was ready and did not run.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    costs: WaitCosts,
    watches: [Watch; 1],
    since: Nanos,
    lost: Nanos,
    /// Time until which the core counts as wanted, and number of I/Os.
    until: Nanos,
    ios: u32,
    /// Number of times that `until` was put off since the last loss.
    put_off: u32,
    /// Time since which the core is taken for the thread's own.
    own_since: Option<Nanos>,
    /// Number of doublings of the time until the core is tried again.
    doubled: u32,
}

impl Shared {
    /// A thread on a machine of `costs`.
    pub(super) fn new(costs: &WaitCosts) -> Shared {
        let unit = Watts(1.0);
        let idle = costs.idle.iter().map(|state| super::IdleCost {
            watts: Watts(0.0),
            ..*state
        });
        Shared {
            costs: WaitCosts {
                spin: unit,
                kernel: unit,
                pause: unit,
                monitor: unit,
                package: Watts(0.0),
                wall: Watts(0.0),
                idle: idle.collect(),
                timer: Joules(0.0),
                interrupt: Joules(0.0),
                ..costs.clone()
            },
            watches: [Watch {
                kind: StepKind::Spin,
                watts: 1.0,
                exit: 0.0,
            }],
            since: Nanos::ZERO,
            lost: Nanos::ZERO,
            until: Nanos::ZERO,
            ios: 0,
            put_off: 0,
            own_since: None,
            doubled: MAX_DOUBLED,
        }
    }

    /// Returns the costs of the steps in time of the core.
    pub(super) fn costs(&self) -> &WaitCosts {
        &self.costs
    }

    /// Returns the only watch: all kinds keep the core.
    pub(super) fn watches(&self) -> &[Watch] {
        &self.watches
    }

    /// Counts `time` that was lost, up to `at`. Returns true if the core is found to be wanted now and was not
    /// before.
    pub(super) fn lost(&mut self, time: Nanos, at: Nanos) -> bool {
        if at.since(self.since) > WINDOW {
            (self.since, self.lost) = (at - time, Nanos::ZERO);
        }
        self.lost += time;
        let wanted = self.lost.0 as f64 > WINDOW.0 as f64 * LOST;
        let news = wanted && !self.is_crowded(at);
        if news {
            let since = self.own_since.take();
            let shared = since.is_none_or(|since| at.since(since) < OWN);
            self.doubled = match shared {
                true => (self.doubled + DOUBLED).min(MAX_DOUBLED),
                false => 0,
            };
        }
        if wanted {
            (self.until, self.ios, self.put_off) = (at + PROBE, PROBE_IOS, 0);
        }
        news
    }

    /// Puts off the time at which a core that others want is tried as the thread's own, once half of the time and of the
    /// I/Os until then have passed, and at most as often as the doublings allow.
    pub(super) fn put_off(&mut self, now: Nanos) {
        let half = now + Nanos(PROBE.0 / 2) > self.until && self.ios < PROBE_IOS / 2;
        if half && self.put_off + 1 < 1 << self.doubled {
            self.put_off += 1;
            (self.until, self.ios) = (now + PROBE, PROBE_IOS);
        }
    }

    /// Returns true if others want the core.
    pub(super) fn is_crowded(&self, now: Nanos) -> bool {
        now < self.until || self.ios > 0
    }

    /// Notes that plans are made at `now`. Returns true if others want the core.
    pub(super) fn plans(&mut self, now: Nanos) -> bool {
        let crowded = self.is_crowded(now);
        if !crowded {
            self.own_since.get_or_insert(now);
        }
        crowded
    }

    /// Returns true if I/Os are being counted until the core is tried as the thread's own again.
    #[inline]
    pub(super) fn counts(&self) -> bool {
        self.ios > 0
    }

    /// Counts an I/O.
    #[inline]
    pub(super) fn completed(&mut self) {
        self.ios = self.ios.saturating_sub(1);
    }
}
