//! The cheapest of the plans that there are.

use super::blocking::Blocked;
use super::costing::{Cost, Costing, Watch};
use super::plan::{Plan, Rested, Then};
use super::points::Points;
use super::promise::Promise;
use crate::{StepKind, StepSet};

/// Points of the history at which a rest may end.
pub(super) const LEVELS: [usize; 6] = [0, 2, 5, 8, 12, 15];

/// The plan of close spins, beside which others are held where several I/Os are out.
const SPIN: Plan = Plan::watch(StepKind::Spin, Then::Longest);

/// The plan of blocks as long as what they see is seen before it is due.
const BLOCK: Plan = Plan {
    loose: Some(StepKind::Block),
    ..SPIN
};

/// The cheapest plan up to now for I/Os that take `points`, `depth` of which are out.
struct Choice<'a> {
    costing: &'a Costing<'a>,
    points: &'a Points,
    depth: usize,
    /// The cost of spinning, where several are out.
    spun: Option<Cost>,
    /// The promise by which no plan may delay anything by more than is tiny, and by more than is harmless.
    careful: Option<&'a Promise>,
    spent: Option<&'a Promise>,
    blocked: Option<Blocked<'a>>,
    /// Value of the plan chosen so far, the plan, and its cost, if it was computed.
    value: f64,
    plan: Plan,
    cost: Option<Cost>,
}

impl<'a> Choice<'a> {
    fn new(costing: &'a Costing<'a>, points: &'a Points, depth: usize) -> Choice<'a> {
        // With several I/Os out, those that a plan leaves for later complete together, and the next ones reach the
        // device together: the history does not show how the device takes that.
        let full = costing.promise.filter(|promise| promise.is_full());
        let careful = full.filter(|promise| depth > 1 || !promise.is_over_polling());
        // If the load comes by itself, other I/Os wait behind one that is late.
        let spent = costing.promise;
        let spent = spent.filter(|promise| promise.is_spent() || costing.open && promise.is_full());
        Choice {
            costing,
            points,
            depth,
            spun: (depth > 1).then(|| costing.deep(SPIN, points, depth)),
            careful,
            spent,
            blocked: None,
            value: f64::MAX,
            plan: Plan::unknown(costing.promise.is_some()),
            cost: None,
        }
    }

    /// Adopts `plan`, whose rest is `rested`, if it is cheaper. Returns true if it breaks no promise.
    fn consider(&mut self, plan: Plan, rested: Option<Rested>) -> bool {
        let (costing, points) = (self.costing, self.points);
        let cost = match self.spun {
            None => costing.alone((plan, rested), points, &mut self.blocked),
            Some(spun) => {
                let cost = match plan == SPIN {
                    true => spun,
                    false => costing.deep(plan, points, self.depth),
                };
                // Completions that come together are late by any way of waiting.
                let tail = (cost.tail - spun.tail).max(0.0);
                Cost { tail, ..cost }
            }
        };
        let plain = plan.rest.is_none() && plan.loose.is_none() && plan.watch != StepKind::Block;
        let most = cost.most + costing.chain * cost.delay;
        if !plain
            && (self.careful.is_some_and(|promise| !promise.is_tiny(most))
                || self.spent.is_some_and(|promise| !promise.is_harmless(most)))
        {
            return false;
        }
        let risk = costing.risk(plan, cost);
        let value = costing.value(plan, cost, risk, (points.median(), self.depth));
        if value < self.value {
            (self.value, self.plan, self.cost) = (value, plan, Some(cost));
        }
        risk == 0.0
    }

    /// Considers `plan` after a rest of `kind` until `point`. Returns true if it breaks no promise.
    fn rest(&mut self, (kind, point): (StepKind, usize), plan: Plan) -> bool {
        let rested = self.costing.rested(kind, self.points[point]);
        // A completion that is there when the core is back is seen before it is due.
        let Some(rested) = rested.filter(|one| one.end + one.cold <= self.costing.due) else {
            return false;
        };
        let rest = Some((kind, point));
        self.consider(Plan { rest, ..plan }, Some(rested))
    }
}

/// Returns the cheapest plan by `steps` for I/Os that take `points`, with `depth` out; a rest may end at `levels` of
/// the points.
pub(super) fn choose(
    costing: &Costing<'_>,
    steps: StepSet,
    (points, levels): (&Points, &[usize]),
    depth: usize,
) -> (Plan, Option<Cost>) {
    let mut choice = Choice::new(costing, points, depth);
    let bounded = costing.due < f64::INFINITY;
    // A loose watch is only worth it if it is cheaper than a close one.
    let loose = |close: &Watch| {
        let kind = close.kind;
        let loose = costing.watches.iter();
        loose.filter(move |loose| bounded && loose.kind > kind)
    };
    // A block that never sees a completion is a sleep, which costs less.
    let block = bounded && steps.has(StepKind::Block) && points[0] < costing.loose_until(BLOCK);
    for close in costing.watches {
        let plain = Plan::watch(close.kind, Then::Longest);
        choice.consider(plain, None);
        if costing.promise.is_none() {
            choice.consider(Plan::watch(close.kind, Then::BreakEven), None);
        }
        let loose = loose(close).map(|loose| loose.kind);
        for loose in loose.chain(block.then_some(StepKind::Block)) {
            let loose = Some(loose);
            choice.consider(Plan { loose, ..plain }, None);
        }
    }
    let idle = |time| costing.costs.idle_of(time).watts;
    let (idle, alike) = (idle(points[0]), idle(points[0]) == idle(points.longest()));
    for (kind, idle) in [
        (StepKind::Pause, costing.costs.pause),
        (StepKind::Sleep, idle),
    ] {
        if !steps.has(kind) {
            continue;
        }
        for close in costing.watches {
            for loose in [None].into_iter().chain(loose(close).map(Some)) {
                let plan = Plan {
                    loose: loose.map(|loose| loose.kind),
                    ..Plan::watch(close.kind, Then::Longest)
                };
                if depth > 1 || !alike {
                    for &point in levels {
                        choice.rest((kind, point), plan);
                    }
                    continue;
                }
                // Within one idle state there is one best end, by joules and delay. A promise may need an earlier
                // one.
                let best = points.at_share(costing.enough(idle, loose.unwrap_or(close)));
                let earlier = levels.iter().rev().copied().filter(|point| *point < best);
                for point in [best].into_iter().chain(earlier) {
                    if choice.rest((kind, point), plan) {
                        break;
                    }
                }
            }
        }
    }
    if steps.has(StepKind::Block) && (depth > 1 || costing.least_blocked() < choice.value) {
        choice.consider(Plan::watch(StepKind::Block, Then::Longest), None);
    }
    (choice.plan, choice.cost)
}
