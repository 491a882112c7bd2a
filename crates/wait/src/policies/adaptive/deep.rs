//! Costs of a plan where several I/Os are out: a short simulation by the times that they took
//! lately.

use super::plan::{Cost, DEEPEST, Plan, Pricing};
use super::points::{POINTS, Points};
use crate::StepKind;

impl Pricing<'_> {
    /// The cost of an I/O by `plan` in a closed loop of `depth` that take `points`.
    pub(super) fn deep(&self, plan: Plan, points: &Points, depth: usize) -> Cost {
        let depth = depth.clamp(1, DEEPEST);
        let (longest, work) = (points.longest(), self.costs.around.0 as f64);
        let watch = self.watch(plan.watch);
        let watched = self.watch_until(plan, longest);
        let rest = plan.rest.map(|(kind, point)| {
            let until = self.rest_until(kind, points[point]);
            (kind, until, self.before(kind))
        });
        let loose = plan.loose.map(|kind| (kind, self.loose_until(plan)));
        // Submission and completion of each that is out.
        let mut out = [(0.0_f64, 0.0_f64); DEEPEST];
        let mut drawn = 0;
        let mut draw = || {
            // Seven and sixteen have no common divisor: each comes as often.
            drawn = (drawn + 7) % POINTS;
            points[drawn]
        };
        for (index, io) in out[..depth].iter_mut().enumerate() {
            let at = points.median() * index as f64 / depth as f64;
            *io = (at, at + draw());
        }
        let out = &mut out[..depth];
        let mut newest = out[depth - 1].0;
        let (mut at, mut cold) = (points.median(), 0.0);
        let (mut start, wanted) = (at, 3 * depth + POINTS);
        let (mut done, mut joules, mut delay) = (0, 0.0, 0.0);
        // Since when completions are watched for closely, and nanoseconds by which one of them was seen late.
        let (mut close, mut tail, mut most) = (at, 0.0, 0.0);
        // Nanoseconds for which I/Os waited for others that were made with them.
        let mut made = 0.0;
        let (mut settled, mut before) = (false, 0);
        while done < wanted {
            // No time is not a number: a comparison does for the least.
            let least = |least: f64, time: f64| if time < least { time } else { least };
            let first = out.iter().fold(f64::MAX, |first, io| least(first, io.1));
            if first <= at {
                let seen = at;
                at += cold;
                joules += cold * self.costs.spin.0;
                cold = 0.0;
                let batch = out.iter().filter(|io| io.1 <= seen).count();
                // All are made before any is submitted.
                let making = batch as f64 * work;
                let submitted = at + making;
                for io in out.iter_mut().filter(|io| io.1 <= seen) {
                    let late = submitted - work - io.1;
                    delay += late;
                    most = f64::max(most, late);
                    if io.1 >= close {
                        tail = f64::max(tail, late);
                    }
                    *io = (submitted, submitted + draw());
                }
                made += batch as f64 * (making - work);
                (at, newest) = (submitted, submitted);
                done += batch;
                close = at;
                if !settled && done >= depth {
                    // What was out at first had to begin somewhere.
                    (settled, start) = (true, at);
                    (joules, delay, tail, most, made) = (0.0, 0.0, 0.0, 0.0, 0.0);
                    before = done;
                }
                continue;
            }
            let oldest = out.iter().fold(f64::MAX, |oldest, io| least(oldest, io.0));
            if let Some((kind, until, before)) = rest
                && oldest + until > at + before
            {
                let (end, spent, chill) = self.rest(kind, at, oldest + until);
                at = end;
                joules += spent;
                cold = f64::max(cold, chill);
                close = at;
                continue;
            }
            if let Some((kind, until)) = loose
                && oldest + until > at
            {
                let end = first.min(oldest + until);
                if kind == StepKind::Block {
                    let blocked = self.block(at, end);
                    joules += blocked.joules;
                    let chill = self.costs.cold_after(end - at);
                    at = end + (blocked.delay - chill).max(0.0);
                    cold = f64::max(cold, chill);
                } else {
                    let loose = self.watch(kind);
                    joules += (end - at).max(0.0) * loose.watts;
                    at = end + loose.exit;
                }
                close = at;
                continue;
            }
            if plan.watch == StepKind::Block {
                let blocked = self.block(at, first);
                joules += blocked.joules;
                at = first + blocked.delay;
                continue;
            }
            let until = newest + watched;
            if first <= until {
                joules += (first - at) * watch.watts;
                at = first + watch.exit;
                continue;
            }
            joules += (until - at).max(0.0) * watch.watts;
            at = at.max(until);
            let blocked = self.block(at, first);
            joules += blocked.joules;
            at = first + blocked.delay;
        }
        let ios = f64::from((done - before) as u32);
        Cost {
            joules: joules / ios,
            time: (at - start) / ios,
            delay: delay / ios,
            tail: made / ios
                + match plan.watch {
                    StepKind::Block => tail,
                    _ => tail.max(watch.exit),
                },
            most,
        }
    }
}
