//! Making plans again, from what is known now.

use super::choose::{LEVELS, choose};
use super::class_plan::{ClassPlan, surprising};
use super::costing::Costing;
use super::history::{FEW, KEPT};
use super::plan::{DEEPEST, Plan, Then};
use super::points::Points;
use super::{State, shared};
use crate::StepKind;
use joulio_units::Nanos;

/// Waits between two plans.
pub(super) const WAITS: u32 = 32;
/// Time between two plans above depth 1, for each pair of I/Os that are out.
const REST: Nanos = Nanos::from_micros(16);
/// Number of times that both are doubled, once for each plan of the same kind as the one before.
const CONFIRMED: u32 = 2;

impl State {
    /// Makes the plans anew.
    #[cold]
    #[inline(never)]
    pub(super) fn replan(&mut self, now: Nanos) {
        self.promise.refresh(self.came == 0);
        self.lateness.forget();
        self.gaps.begun(now);
        let depth = self.depth.round().max(1.0) as u32;
        self.planned = self.depth;
        let deep = u64::from(depth.min(DEEPEST as u32));
        let open = self.gaps.open();
        // Trying whether the core is the thread's own again costs a slice if it is not, and all I/Os that are out are
        // late then: only while so many more may be.
        if self.shared.is_crowded(now) && self.promise.is_full_with(self.depth) {
            self.shared.put_off(now);
        }
        let crowded = self.shared.plans(now);
        let (costs, watches) = match crowded {
            true => (self.shared.costs(), self.shared.watches()),
            false => (&self.costs, &*self.watches),
        };
        let break_even = costs.break_even();
        let delay = costs.block_delay(f64::INFINITY) * self.lateness.slow();
        let promised = self.promise.watch(break_even, delay);
        let renewed = self.unknown.watch_until != promised as u64;
        self.unknown = ClassPlan::unknown(promised as u64);
        let promise = (!crowded && self.promise.is_any()).then_some(&self.promise);
        let mut costing = Costing {
            costs,
            watches,
            promise,
            begin: if depth == 1 { self.begin } else { 0.0 },
            late: self.lateness.timer(),
            slow: self.lateness.slow(),
            share: if open || crowded { 0.0 } else { self.share },
            // If other threads want the core, a delay is worth the same whatever is promised.
            delay_weight: match crowded {
                true => shared::DELAY_WEIGHT,
                false => costs.spin.0,
            },
            due: promise.map_or(f64::INFINITY, |promise| promise.due()),
            after_due: promise.map_or(0.0, |promise| promise.after_due()),
            chain: self.delays.chain(),
            between: self.delays.between(),
            nap: 0.0,
            promised: promise.map_or(0.0, |_| promised),
            break_even,
            open,
        };
        // The lateness of the I/Os themselves adds to that of a nap; the one with more of the time is planned first.
        if !self.gaps.prevail() {
            costing.nap = self.tail;
        }
        self.gaps.plan(&costing, self.delays.alone());
        costing.nap = self.gaps.delay() * self.delays.alone();
        // Joules of a plan whose cost was computed in time of the core.
        let joules = |plan: Plan, points: &Points| {
            let costing = Costing {
                costs: &self.costs,
                watches: &self.watches,
                break_even: self.costs.break_even(),
                ..costing
            };
            costing.cost(plan, points, depth as usize)
        };
        // A thread that keeps a core which others want loses whole slices of it; one that blocks loses next to
        // nothing.
        let gives = crowded && self.promise.is_any() && self.steps.has(StepKind::Block);
        let (mut tail, mut confirmed) = (0.0_f64, !open && !crowded);
        for (kept, history) in self.history.iter_mut().enumerate() {
            let class = &mut self.plans[kept];
            if history.len() == 0 {
                if class.median != 0.0 || renewed {
                    confirmed &= class.median == 0.0;
                    *class = self.unknown;
                }
                continue;
            }
            if !history.is_fresh() {
                continue;
            }
            confirmed &= history.len() == KEPT;
            let points = history.points();
            let known = match history.is_known() {
                true => points.median(),
                false => class.known,
            };
            let (plan, cost) = match history.len() < FEW {
                true => (costing.unknown(self.promise.is_any(), points[0]), None),
                false if self.account.is_overdrawn() => (Plan::unknown(false), None),
                false if gives => {
                    let median = points.median();
                    let blocked = median + costing.block(0.0, median).delay;
                    // With many out, blocks overlap, and each may be seen sooner than that.
                    let seen = history.seen_blocked();
                    let blocked = seen.map_or(blocked, |seen| seen.min(blocked));
                    // If a spin does not keep the promise either, it is no reason to spin.
                    let soon = self.promise.is_below(blocked) && !self.promise.is_below(median);
                    let kind = if soon {
                        StepKind::Spin
                    } else {
                        StepKind::Block
                    };
                    let plan = Plan::watch(kind, Then::Longest);
                    (plan, Some(costing.cost(plan, &points, depth as usize)))
                }
                false => {
                    let levels = match open && depth > 1 {
                        // I/Os that come by themselves do not come evenly.
                        true => &LEVELS[..1],
                        false => &LEVELS[..],
                    };
                    choose(&costing, self.steps, (&points, levels), depth as usize)
                }
            };
            let cost = match crowded {
                true => cost.map(|_| joules(plan, &points)),
                false => cost,
            };
            if let Some(cost) = cost {
                tail = tail.max(cost.tail + costing.chain * cost.delay);
            }
            confirmed &= plan.is_like(class.plan);
            let longest = history.longest().0 as f64;
            let rest = plan.rest.map(|(kind, point)| {
                let time = match point {
                    // The core must be awake when the shortest completes.
                    0 => history.shortest() as f64 - 2.0 * costs.poll.0 as f64,
                    point => points[point],
                };
                let until = costing.rest_until(kind, time);
                let worth = until > costing.shortest(kind);
                (kind, if worth { until } else { 0.0 })
            });
            let (rest, rest_until) = rest.unwrap_or((StepKind::Sleep, 0.0));
            *class = ClassPlan {
                plan,
                rest,
                rest_until: rest_until as u64,
                loose_until: costing.loose_until(plan) as u64,
                watch_until: costing.watch_until(plan, longest) as u64,
                many: plan
                    .rest
                    .map_or(u8::MAX, |(_, point)| surprising(point, depth)),
                shortest: history.shortest(),
                median: points.median(),
                known,
                spread: points.spread(),
                cost,
            };
        }
        self.tail = tail;
        let waits = |class: &ClassPlan| class.rest_until > 0 || class.loose_until > 0;
        self.rests = self.plans.iter().any(waits);
        self.set_usual();
        let spins = !self.rests
            && self
                .plans
                .iter()
                .all(|class| class.plan.watch == StepKind::Spin);
        for (watch, class) in self.watch.iter_mut().zip(&self.plans) {
            *watch = if spins { class.watch_until } else { 0 };
        }
        self.mixed = !self.rests && !spins && self.is_mixed();
        self.confirmed = match confirmed {
            true => (self.confirmed + 1).min(CONFIRMED),
            false => 0,
        };
        let rest = if depth == 1 { 0 } else { REST.0 * deep * deep };
        self.hot.set_waits(WAITS << self.confirmed);
        self.again = now + Nanos(rest << self.confirmed);
    }

    /// Returns true if the I/Os of some classes with a history are blocked for at once, and those of others not.
    fn is_mixed(&self) -> bool {
        let known = self.plans.iter().filter(|class| class.median != 0.0);
        let mut blocks = known.map(|class| class.plan.watch == StepKind::Block);
        let first = blocks.next();
        blocks.any(|block| Some(block) != first)
    }

    /// Takes in recent latencies if plans are not made for long, once there are so many that most I/Os need not be
    /// sampled.
    #[cold]
    pub(super) fn learn(&mut self) {
        if self.promise.is_short() {
            self.promise.refresh(self.came == 0);
            self.set_usual();
        }
    }

    /// Sets the time from which on I/Os are not like most.
    fn set_usual(&mut self) {
        let common = self.promise.common();
        for history in &mut self.history {
            history.set_usual(common);
        }
    }
}
