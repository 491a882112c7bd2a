//! The cheapest of the plans that there are.

use super::plan::{Cost, Plan, Pricing, Then};
use super::points::Points;
use crate::{StepKind, StepSet};

/// Points of the history at which a rest may end.
pub(super) const LEVELS: [usize; 6] = [0, 2, 5, 8, 12, 15];

/// The cheapest plan by `steps` for I/Os that take `points`, `depth` of which are out; a rest may end at
/// `levels` of them.
pub(super) fn choose(
    pricing: &Pricing<'_>,
    steps: StepSet,
    (points, levels): (&Points, &[usize]),
    depth: usize,
) -> (Plan, Option<Cost>) {
    let promised = pricing.promise.is_some();
    let mut best = (f64::MAX, Plan::unknown(promised), None);
    // With several out, what is left for later comes back at once, and so to the device: no history tells
    // what that does to it.
    let full = pricing.promise.filter(|promise| promise.is_full());
    let careful = full.filter(|promise| depth > 1 || !promise.is_over_polling());
    // Where the load comes by itself others wait behind what is late.
    let spent = pricing.promise;
    let spent = spent.filter(|promise| promise.is_spent() || pricing.open && promise.is_full());
    // Completions that come together are late whoever waits for them.
    let spin = Plan::watch(StepKind::Spin, Then::Longest);
    let spun = (depth > 1).then(|| pricing.deep(spin, points, depth));
    let together = spun.map_or(0.0, |cost| cost.tail);
    let mut blocked = None;
    let mut consider = |plan: Plan| {
        let mut cost = match spun {
            Some(cost) if plan == spin => cost,
            _ => pricing.cost(plan, (points, &mut blocked), depth),
        };
        cost.tail = (cost.tail - together).max(0.0);
        let plain = plan.rest.is_none() && plan.loose.is_none() && plan.watch != StepKind::Block;
        let most = cost.most + pricing.chain * cost.delay;
        if !plain
            && (careful.is_some_and(|promise| !promise.is_tiny(most))
                || spent.is_some_and(|promise| !promise.is_harmless(most)))
        {
            return;
        }
        let value = pricing.value(plan, cost, (points.median(), depth));
        if value < best.0 {
            best = (value, plan, Some(cost));
        }
    };
    let bounded = pricing.due < f64::INFINITY;
    let watches = || pricing.watches.iter().map(|watch| watch.kind);
    for watch in watches() {
        let plain = Plan::watch(watch, Then::Longest);
        consider(plain);
        if !promised {
            consider(Plan::watch(watch, Then::BreakEven));
        }
        // What a loose watch is worth is that it is cheaper than a close one.
        for loose in watches().filter(|loose| bounded && *loose > watch) {
            consider(Plan {
                loose: Some(loose),
                ..plain
            });
        }
        if steps.has(StepKind::Block) && bounded {
            consider(Plan {
                loose: Some(StepKind::Block),
                ..plain
            });
        }
    }
    if steps.has(StepKind::Block) {
        consider(Plan::watch(StepKind::Block, Then::Longest));
    }
    for kind in [StepKind::Pause, StepKind::Sleep] {
        if !steps.has(kind) {
            continue;
        }
        for &point in levels {
            let until = pricing.rest_until(kind, points[point]);
            // What is there when the core is back is seen before it is due.
            let (end, _, cold) = pricing.rest(kind, pricing.begin, until);
            if until <= pricing.shortest(kind) || end + cold > pricing.due {
                continue;
            }
            let rest = Some((kind, point));
            for watch in watches() {
                let plain = Plan::watch(watch, Then::Longest);
                consider(Plan { rest, ..plain });
                for loose in watches().filter(|loose| bounded && *loose > watch) {
                    consider(Plan {
                        rest,
                        loose: Some(loose),
                        ..plain
                    });
                }
            }
        }
    }
    (best.1, best.2)
}
