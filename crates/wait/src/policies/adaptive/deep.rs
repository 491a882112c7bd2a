//! What a plan costs where several I/Os are out: a short simulation by what they took lately.

use super::plan::{Cost, DEEPEST, Plan, Pricing};
use super::points::{POINTS, Points};

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
        let (mut done, mut joules, mut delay, mut most) = (0, 0.0, 0.0, 0.0);
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
                for io in out.iter_mut().filter(|io| io.1 <= seen) {
                    delay += at - io.1;
                    most = f64::max(most, at - io.1);
                    at += work;
                    *io = (at, at + draw());
                    newest = at;
                    done += 1;
                }
                if !settled && done >= depth {
                    // What was out at first had to begin somewhere.
                    (settled, start) = (true, at);
                    (joules, delay, most) = (0.0, 0.0, 0.0);
                    before = done;
                }
                continue;
            }
            let resting = rest.and_then(|(kind, until, before)| {
                let oldest = out.iter().fold(f64::MAX, |oldest, io| least(oldest, io.0));
                (oldest + until > at + before).then_some((kind, until, oldest))
            });
            if let Some((kind, until, oldest)) = resting {
                let (end, spent, chill) = self.rest(kind, at, oldest + until);
                at = end;
                joules += spent;
                cold = f64::max(cold, chill);
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
            most,
        }
    }
}
