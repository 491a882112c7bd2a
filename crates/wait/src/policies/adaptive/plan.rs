//! A plan of a wait, and its cost, by the recent times of I/Os.

use super::blocking::Blocked;
use super::costing::{Cost, Costing, Watch};
use super::costs::{greater, ns};
use super::points::{POINTS, Points};
use super::promise::Promise;
use crate::StepKind;
use joulio_units::Watts;

/// Largest number of I/Os out at once that is simulated.
pub(super) const DEEPEST: usize = 32;

/// End of a watch that sees nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The core blocks when watching has cost as much as a block.
    BreakEven,
    /// The core blocks when an I/O takes longer than any that is remembered, and longer than promised.
    Longest,
    /// The core blocks when an I/O has taken longer than is promised.
    Promise,
}

/// A plan: an optional rest, an optional loose watch, then a close watch, then a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Kind of the rest, [`StepKind::Sleep`] or [`StepKind::Pause`], and the point of the history at which the core
    /// must be back.
    pub(super) rest: Option<(StepKind, usize)>,
    /// Kind of the loose watch, which may see an I/O late, but before it is due.
    pub(super) loose: Option<StepKind>,
    /// Kind of the close watch; a block lasts until it sees a completion.
    pub(super) watch: StepKind,
    /// End of the close watch.
    pub(super) then: Then,
}

impl Plan {
    /// A close watch.
    pub(super) const fn watch(watch: StepKind, then: Then) -> Plan {
        Plan {
            rest: None,
            loose: None,
            watch,
            then,
        }
    }

    /// Returns true if the plan has the same steps as `other`.
    pub(super) fn is_like(&self, other: Plan) -> bool {
        let rest = |plan: Plan| plan.rest.map(|(kind, _)| kind);
        let steps = |plan: Plan| (rest(plan), plan.loose, plan.watch, plan.then);
        steps(*self) == steps(other)
    }

    /// Returns the plan for I/Os without a history, with latencies `promised` or not.
    pub(super) const fn unknown(promised: bool) -> Plan {
        let then = match promised {
            true => Then::Promise,
            false => Then::BreakEven,
        };
        Plan::watch(StepKind::Spin, then)
    }
}

/// A rest of an I/O that is alone.
#[derive(Clone, Copy)]
pub(super) struct Rested {
    /// Time when the core is back.
    pub(super) end: f64,
    /// Nanojoules.
    pub(super) joules: f64,
    /// Nanoseconds by which the thread is slower after the rest.
    pub(super) cold: f64,
}

/// Shortest rest that is worth its own steps: nanoseconds.
const MIN_REST_NS: f64 = 200.0;

/// A small number.
#[inline]
fn float(number: usize) -> f64 {
    f64::from(number as u32)
}

impl Costing<'_> {
    pub(super) fn watch(&self, kind: StepKind) -> Watch {
        let mut watches = self.watches.iter();
        *watches
            .find(|one| one.kind == kind)
            .unwrap_or(&self.watches[0])
    }

    /// Returns the nanoseconds after the submission at which a rest ends so that the core is back at `point`.
    pub(super) fn rest_until(&self, kind: StepKind, point: f64) -> f64 {
        if kind != StepKind::Sleep {
            return point - ns(self.costs.pause_exit);
        }
        let length = point - ns(self.costs.sleep_before);
        let until = point - self.timer_delay(length);
        match until > self.shortest(kind) {
            true => until,
            false => self.shallow_until(point).unwrap_or(until),
        }
    }

    /// Returns the end of a sleep that is too short for an idle state which the core would not have left by `point`.
    fn shallow_until(&self, point: f64) -> Option<f64> {
        let costs = self.costs;
        let states = costs.idle.windows(2).rev();
        let mut ends = states.map(|pair| {
            let deeper = ns(costs.sleep_before) + ns(pair[1].chosen) - 1.0;
            let left = ns(pair[0].exit) + ns(costs.sleep_after) + self.late;
            f64::min(deeper, point - left.max(0.0))
        });
        ends.find(|end| *end > self.shortest(StepKind::Sleep))
    }

    /// Returns the nanoseconds after the submission at which the loose watch of `plan` ends, so that it sees
    /// completions before they are due.
    pub(super) fn loose_until(&self, plan: Plan) -> f64 {
        let until = match plan.loose {
            None => 0.0,
            Some(StepKind::Block) => self.due - self.block(self.begin, self.due).delay,
            Some(kind) => {
                let slept = plan.rest.filter(|rest| rest.0 == StepKind::Sleep);
                let cold = slept.map_or(0.0, |_| self.costs.cold_after(self.due));
                self.due - self.watch(kind).exit - cold
            }
        };
        greater(until, 0.0)
    }

    /// Returns the nanoseconds after the submission at which the close watch of `plan` ends, where I/Os took up to
    /// `longest`.
    pub(super) fn watch_until(&self, plan: Plan, longest: f64) -> f64 {
        match plan.then {
            Then::BreakEven => self.break_even,
            Then::Longest => greater(longest * 1.3 + self.break_even, self.promised),
            Then::Promise => greater(self.promised, self.break_even),
        }
    }

    /// Returns the nanoseconds from a timer's time to the thread's next instruction after a sleep of `length`, as
    /// measured lately.
    fn timer_delay(&self, length: f64) -> f64 {
        greater(self.costs.timer_delay(length) + self.late, 0.0)
    }

    /// Returns the nanoseconds from the submission of an I/O that is alone to the end of the shortest rest.
    pub(super) fn shortest(&self, kind: StepKind) -> f64 {
        self.begin + self.before(kind)
    }

    /// Returns the nanoseconds between the decision to rest and the end of the shortest rest.
    pub(super) fn before(&self, kind: StepKind) -> f64 {
        let before = match kind {
            StepKind::Sleep => ns(self.costs.sleep_before),
            _ => ns(self.costs.poll),
        };
        before + MIN_REST_NS
    }

    /// Returns the cost of `plan` for I/Os that are alone and take `points`.
    pub(super) fn alone<'a>(
        &'a self,
        (plan, rested): (Plan, Option<Rested>),
        points: &Points,
        blocked: &mut Option<Blocked<'a>>,
    ) -> Cost {
        let (mut joules, mut delay, mut most) = (0.0, 0.0, 0.0);
        let (mut at, mut cold, mut there) = (self.begin, 0.0, 0);
        if let Some(rest) = rested {
            (at, cold, there) = (rest.end, rest.cold, points.within(rest.end));
            joules += float(there) * cold * self.costs.spin.0;
            delay += float(there) * (at + cold) - points.sum(0, there);
            if there > 0 {
                most = at + cold - points[0];
            }
        }
        let rested = rested.map_or(0.0, |rest| rest.joules);
        let mut seen = there;
        if let Some(kind) = plan.loose {
            let until = greater(self.loose_until(plan), at);
            let within = points.within(until).max(seen);
            if kind == StepKind::Block {
                let sum = self.blocks(at, points, (seen, within), blocked);
                joules += sum.joules;
                delay += sum.delay;
                most = greater(most, sum.most);
                if within < POINTS {
                    let vain = self.block(at, until);
                    joules += float(POINTS - within) * vain.joules;
                    cold = self.costs.cold_after(until - at);
                    at = until + greater(vain.delay - cold, 0.0);
                }
                seen = within;
            } else {
                let watch = self.watch(kind);
                self.watched(
                    watch,
                    (seen, within),
                    (at, cold),
                    points,
                    (&mut joules, &mut delay),
                );
                joules += float(POINTS - within) * (until - at) * watch.watts;
                (at, seen) = (until, within);
            }
        }
        if plan.watch == StepKind::Block {
            let sum = self.blocks(at, points, (seen, POINTS), blocked);
            joules += sum.joules;
            let (delay, tail) = ((delay + sum.delay) / POINTS as f64, sum.most);
            return Cost {
                joules: rested + joules / POINTS as f64,
                time: delay,
                delay,
                tail,
                most: greater(most, tail),
            };
        }
        let watch = self.watch(plan.watch);
        let until = greater(self.watch_until(plan, points.longest()), at);
        let within = points.within(until).max(seen);
        self.watched(
            watch,
            (seen, within),
            (at, cold),
            points,
            (&mut joules, &mut delay),
        );
        let vain = (until - at) * watch.watts;
        for &time in points.after(within) {
            let blocked = self.block(until, time);
            joules += vain + blocked.joules;
            delay += blocked.delay + cold;
        }
        let delay = delay / POINTS as f64;
        Cost {
            joules: rested + joules / POINTS as f64,
            time: delay,
            delay,
            tail: watch.exit + cold,
            most: greater(most, watch.exit + cold),
        }
    }

    /// Adds the joules and the delay for the `points` at `from` to `to`, seen by `watch`, which begins at `at` in a
    /// thread that is slower by `cold` then.
    fn watched(
        &self,
        watch: Watch,
        (from, to): (usize, usize),
        (at, cold): (f64, f64),
        points: &Points,
        (joules, delay): (&mut f64, &mut f64),
    ) {
        let many = float(to - from);
        let late = watch.exit + cold;
        let sum = points.sum(from, to);
        // I/Os that have completed when it begins were waited for by the step before.
        let watched = greater(sum - many * at, 0.0);
        *joules += watched * watch.watts + many * late * self.costs.spin.0;
        *delay += many * late + greater(many * at - sum, 0.0);
    }

    /// Returns a rest for an I/O that is alone after which the core is back at `point`, if there is time for one.
    pub(super) fn rested(&self, kind: StepKind, point: f64) -> Option<Rested> {
        let until = self.rest_until(kind, point);
        (until > self.shortest(kind)).then(|| self.rest(kind, self.begin, until))
    }

    /// Returns the share of the I/Os that have completed at the best end of a rest, in which the core draws `idle`:
    /// there one nanosecond more costs as much for these as it saves for the others, which are then watched for by
    /// `watch`.
    pub(super) fn enough(&self, idle: Watts, watch: &Watch) -> f64 {
        (watch.watts - idle.0) / (watch.watts + self.delay_weight + self.share)
    }

    /// A rest from `at` to `until`.
    pub(super) fn rest(&self, kind: StepKind, at: f64, until: f64) -> Rested {
        let costs = self.costs;
        if kind != StepKind::Sleep {
            let end = until + ns(costs.pause_exit);
            return Rested {
                end,
                joules: (end - at) * costs.pause.0,
                cold: 0.0,
            };
        }
        let before = ns(costs.sleep_before);
        let asleep = at + before;
        let length = greater(until - asleep, 0.0);
        let state = costs.idle_of(length);
        let after = ns(costs.sleep_after);
        let late = ns(state.exit) + ns(costs.sleep_after) + self.late;
        let end = asleep + length + greater(late, 0.0);
        let idle = greater(end - asleep - after, length);
        let joules = (before + after) * costs.kernel.0 + idle * state.watts.0 + costs.timer.0 * 1e9;
        Rested {
            end,
            joules,
            cold: costs.cold_after(length),
        }
    }

    /// Returns the plan for I/Os of which little is known, but that some took `shortest` nanoseconds or more, with
    /// latencies `promised` or not.
    pub(super) fn unknown(&self, promised: bool, shortest: f64) -> Plan {
        // Nothing else is known of them either: an I/O may be as late as a block makes it.
        let late = self.block(0.0, 1e12).delay * (1.0 + self.chain) + self.nap;
        let harmless = |promise: &Promise| {
            promise.risk(late, 1.0) == 0.0 || promise.harmless_from(late) <= shortest
        };
        match self.promise.is_some_and(harmless) {
            true => Plan::watch(StepKind::Block, Then::Longest),
            false => Plan::unknown(promised),
        }
    }

    /// Returns the cost of `plan`, with `depth` I/Os out that take `points`.
    pub(super) fn cost(&self, plan: Plan, points: &Points, depth: usize) -> Cost {
        match depth {
            1 => {
                let rest = plan.rest;
                let rested = rest.and_then(|(kind, point)| self.rested(kind, points[point]));
                self.alone((plan, rested), points, &mut None)
            }
            deep => self.deep(plan, points, deep),
        }
    }

    /// Returns the longest nanoseconds from an I/O's arrival, while the core waits by `plan`, to its submission.
    fn wake(&self, plan: Plan) -> f64 {
        let costs = self.costs;
        let blocks = plan.loose == Some(StepKind::Block) || plan.watch == StepKind::Block;
        let after = match plan.rest {
            _ if blocks => costs.block_after,
            Some((StepKind::Sleep, _)) => costs.sleep_after,
            _ => return self.watch(plan.loose.unwrap_or(plan.watch)).exit,
        };
        let exit = costs.idle.last().map_or(0, |state| state.exit.0);
        (exit + after.0) as f64 * self.slow
    }

    /// Returns how much more a `plan` of this `cost` would exceed the promise.
    pub(super) fn risk(&self, plan: Plan, cost: Cost) -> f64 {
        let late = cost.tail + self.chain * cost.delay + self.nap;
        self.promise.map_or(0.0, |promise| {
            let between = match self.between > 0.0 {
                true => promise.risk(late + self.wake(plan), self.between),
                false => 0.0,
            };
            between + promise.risk(late, 1.0)
        })
    }

    /// Returns the value of a `plan` of this `cost` and `risk`, with `depth` I/Os out that take `median`.
    pub(super) fn value(
        &self,
        plan: Plan,
        cost: Cost,
        risk: f64,
        (median, depth): (f64, usize),
    ) -> f64 {
        let depth = float(depth.min(DEEPEST));
        // Cost of I/Os longer than the points of the history.
        let after = match plan.watch {
            StepKind::Block => 0.0,
            kind => self.watch(kind).watts * self.after_due,
        };
        // Cost of polling.
        let polled = self.costs.spin.0 * median / depth;
        cost.joules
            + after
            + self.share * cost.time
            + self.delay_weight * cost.delay / depth
            + polled * risk
    }
}
