//! A plan of a wait, and what it costs by what I/Os took lately.

use super::costs::WaitCosts;
use super::points::{POINTS, Points};
use crate::StepKind;

/// I/Os out at once that are simulated, at most.
pub(super) const DEEPEST: usize = 32;

/// What ends a watch that sees nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing is watched: the core blocks at once.
    Block,
    /// The core blocks when watching has cost as much as a block.
    BreakEven,
    /// The core blocks when an I/O takes longer than any that is remembered.
    Longest,
    /// The core blocks when an I/O has taken longer than is promised.
    Promise,
}

/// A plan: perhaps a rest, then a watch, then a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Kind of the rest, [`StepKind::Sleep`] or [`StepKind::Pause`], and the point of the history at which
    /// the core is to be back.
    pub(super) rest: Option<(StepKind, usize)>,
    /// Kind of the watch.
    pub(super) watch: StepKind,
    /// End of the watch.
    pub(super) then: Then,
}

impl Plan {
    /// The plan for I/Os of which nothing is known, where latencies are `promised` and where not.
    pub(super) const fn unknown(promised: bool) -> Plan {
        Plan {
            rest: None,
            watch: StepKind::Spin,
            then: match promised {
                true => Then::Promise,
                false => Then::BreakEven,
            },
        }
    }
}

/// A kind of watch: what it draws, and how long after a completion the thread goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) kind: StepKind,
    pub(super) watts: f64,
    pub(super) exit: f64,
}

/// What plans are priced by.
pub(super) struct Pricing<'a> {
    pub(super) costs: &'a WaitCosts,
    /// Kinds of watch that there are, spinning first.
    pub(super) watches: &'a [Watch],
    /// Nanoseconds from the submission to the first wait, of an I/O that is alone.
    pub(super) begin: f64,
    /// Nanoseconds by which a timer may be later than its costs say; below zero: earlier.
    pub(super) late: f64,
    /// How many times as long as expected it takes to go on after a block; at least 1.
    pub(super) slow: f64,
    /// Watts that are spent as long as the I/O takes, whatever the core does.
    pub(super) share: f64,
    /// Watts that a delayed I/O is worth, as the promise has it.
    pub(super) price: f64,
    /// Watts that it is worth where nothing is promised, and for so short a delay that no promise hangs
    /// on it.
    pub(super) least: f64,
    /// Nanoseconds of such a delay.
    pub(super) negligible: f64,
    /// Nanoseconds of the longest limit, where I/Os exceed it nearly as often as they may; else zero.
    pub(super) promised: f64,
}

/// What a plan costs an I/O.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Nanojoules of the core.
    pub(super) joules: f64,
    /// Nanoseconds that an I/O takes of the closed loop, or how much more than by another plan.
    pub(super) time: f64,
    /// Nanoseconds by which it is late, in the mean.
    pub(super) delay: f64,
    /// Nanoseconds by which it is late at most.
    pub(super) most: f64,
}

impl Cost {
    /// A cost of `joules` nanojoules, late by `delay` nanoseconds.
    pub(super) fn one(joules: f64, delay: f64) -> Cost {
        Cost {
            joules,
            time: delay,
            delay,
            most: delay,
        }
    }
}

/// When a rest begins to be worth its own steps: nanoseconds.
const SHORTEST_REST: f64 = 200.0;

impl Pricing<'_> {
    pub(super) fn watch(&self, kind: StepKind) -> Watch {
        let mut watches = self.watches.iter();
        *watches
            .find(|one| one.kind == kind)
            .unwrap_or(&self.watches[0])
    }

    /// Nanoseconds after the submission at which a rest ends so that the core is back at `point`.
    pub(super) fn rest_until(&self, kind: StepKind, point: f64) -> f64 {
        match kind {
            StepKind::Sleep => {
                let length = point - self.costs.sleep_before.0 as f64;
                point - self.timer_delay(length)
            }
            _ => point - self.costs.pause_exit.0 as f64,
        }
    }

    /// Nanoseconds after the submission at which the watch of `plan` ends, where I/Os took `longest`.
    pub(super) fn watch_until(&self, plan: Plan, longest: f64) -> f64 {
        match plan.then {
            Then::Block => 0.0,
            Then::BreakEven => self.costs.break_even(),
            Then::Longest => (longest * 1.3 + self.costs.break_even()).max(self.promised),
            Then::Promise => self.promised.max(self.costs.break_even()),
        }
    }

    /// Nanoseconds from a timer's time to the thread's next instruction after a sleep of `length`, as they
    /// were measured lately.
    fn timer_delay(&self, length: f64) -> f64 {
        (self.costs.timer_delay(length) + self.late).max(0.0)
    }

    /// Nanoseconds from the submission of an I/O that is alone to the end of the shortest rest.
    pub(super) fn shortest(&self, kind: StepKind) -> f64 {
        self.begin + self.before(kind)
    }

    /// Nanoseconds between the decision to rest and the end of the shortest rest.
    pub(super) fn before(&self, kind: StepKind) -> f64 {
        let before = match kind {
            StepKind::Sleep => self.costs.sleep_before.0 as f64,
            _ => self.costs.poll.0 as f64,
        };
        before + SHORTEST_REST
    }

    /// The cost of `plan` for I/Os that are alone and take `points`.
    pub(super) fn alone(&self, plan: Plan, points: &Points) -> Cost {
        let rest = plan.rest.and_then(|(kind, point)| {
            let until = self.rest_until(kind, points[point]);
            (until > self.shortest(kind)).then(|| self.rest(kind, self.begin, until))
        });
        let (at, rested, cold) = rest.unwrap_or((self.begin, 0.0, 0.0));
        let watch = self.watch(plan.watch);
        let until = self.watch_until(plan, points.longest());
        let spin = self.costs.spin.0;
        // Those that are there when the rest ends, those that are seen, and the others.
        let there = rest.map_or(0, |_| points.within(at));
        let watched = points.within(until).max(there);
        let (rests, watches) = (there as f64, (watched - there) as f64);
        let mut joules = rests * cold * spin
            + (points.sum(there, watched) - watches * at).max(0.0) * watch.watts
            + watches * (watch.exit + cold) * spin;
        let mut delay = rests * (at + cold) - points.sum(0, there) + watches * (watch.exit + cold);
        let mut most = watch.exit + cold;
        if there > 0 {
            most = most.max(at - points[0] + cold);
        }
        let vain = (until - at).max(0.0) * watch.watts;
        for &time in points.after(watched) {
            let blocked = self.block(at.max(until), time);
            joules += vain + blocked.joules;
            delay += blocked.delay + cold;
            most = most.max(blocked.delay + cold);
        }
        let delay = delay / POINTS as f64;
        Cost {
            joules: rested + joules / POINTS as f64,
            time: delay,
            delay,
            most,
        }
    }

    /// The end, joules and cold start of a rest from `at` to `until`.
    pub(super) fn rest(&self, kind: StepKind, at: f64, until: f64) -> (f64, f64, f64) {
        let costs = self.costs;
        if kind != StepKind::Sleep {
            let end = until + costs.pause_exit.0 as f64;
            return (end, (end - at) * costs.pause.0, 0.0);
        }
        let before = costs.sleep_before.0 as f64;
        let asleep = at + before;
        let length = (until - asleep).max(0.0);
        let state = costs.idle_of(length);
        let after = costs.sleep_after.0 as f64;
        let late = (state.exit + costs.sleep_after).0 as f64 + self.late;
        let end = asleep + length + late.max(0.0);
        let idle = (end - asleep - after).max(length);
        let joules = (before + after) * costs.kernel.0 + idle * state.watts.0 + costs.timer.0 * 1e9;
        (end, joules, costs.cold_after(length))
    }

    /// The cost of a block at `at` for an I/O that takes `time`.
    pub(super) fn block(&self, at: f64, time: f64) -> Cost {
        let costs = self.costs;
        let before = costs.block_before.0 as f64;
        let after = costs.block_after.0 as f64 * self.slow;
        let asleep = at + before;
        let idle = (time - asleep).max(0.0);
        let state = costs.idle_of(idle);
        let exit = match idle > 0.0 {
            true => state.exit.0 as f64 * self.slow,
            false => 0.0,
        };
        let end = asleep.max(time) + exit + after;
        let cold = costs.cold_after(idle);
        let awake = before + after;
        let asleep = (idle + exit) * state.watts.0 + cold * costs.spin.0;
        let joules = awake * costs.kernel.0 + asleep + costs.interrupt.0 * 1e9;
        Cost::one(joules, end - time + cold)
    }

    /// Watts that the delay of `cost` is worth.
    pub(super) fn price(&self, cost: Cost) -> f64 {
        match cost.most <= self.negligible {
            true => self.least,
            false => self.price,
        }
    }

    /// The cost of `plan`, where `depth` are out and take `points`.
    pub(super) fn cost(&self, plan: Plan, points: &Points, depth: usize) -> Cost {
        match depth {
            1 => self.alone(plan, points),
            deep => self.deep(plan, points, deep),
        }
    }

    /// What a plan of this `cost` is worth, where `depth` are out.
    pub(super) fn value(&self, cost: Cost, depth: usize) -> f64 {
        let delay = self.price(cost) * cost.delay / depth.min(DEEPEST) as f64;
        cost.joules + self.share * cost.time + delay
    }
}
