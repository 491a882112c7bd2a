//! Costs of a plan with several I/Os out: a short simulation with their recent times.

use super::costing::{Cost, Costing};
use super::costs::{greater, ns};
use super::plan::{DEEPEST, Plan};
use super::points::{POINTS, Points};
use crate::StepKind;

/// Number of places for I/Os that are out: a power of two above [`DEEPEST`].
const PLACES: usize = 2 * DEEPEST;

/// I/Os that are out: completion and submission of each, the first to complete in front.
struct Out {
    ring: [(f64, f64); PLACES],
    /// Place of the first I/O, and one after the last, modulo [`PLACES`].
    front: usize,
    end: usize,
}

impl Out {
    fn new() -> Out {
        Out {
            ring: [(0.0, 0.0); PLACES],
            front: 0,
            end: 0,
        }
    }

    /// Returns when the first I/O completes.
    fn first(&self) -> f64 {
        self.ring[self.front % PLACES].0
    }

    /// Returns how many I/Os complete until `at`.
    fn count(&self, at: f64) -> usize {
        let mut count = 0;
        while self.front + count < self.end && self.ring[(self.front + count) % PLACES].0 <= at {
            count += 1;
        }
        count
    }

    /// Removes the first I/O; returns when it completes.
    fn complete(&mut self) -> f64 {
        let first = self.first();
        self.front += 1;
        first
    }

    /// Adds an I/O. Most complete after all others.
    fn submit(&mut self, submitted: f64, completed: f64) {
        let mut place = self.end;
        while place > self.front && self.ring[(place - 1) % PLACES].0 > completed {
            self.ring[place % PLACES] = self.ring[(place - 1) % PLACES];
            place -= 1;
        }
        self.ring[place % PLACES] = (completed, submitted);
        self.end += 1;
    }

    /// Returns the earliest submission of the I/Os that are out.
    fn oldest(&self) -> f64 {
        let submitted = (self.front..self.end).map(|place| self.ring[place % PLACES].1);
        submitted.fold(f64::MAX, |one, other| if one < other { one } else { other })
    }
}

impl Costing<'_> {
    /// Returns the cost of an I/O by `plan` in a closed loop of `depth` that take `points`.
    pub(super) fn deep(&self, plan: Plan, points: &Points, depth: usize) -> Cost {
        let depth = depth.clamp(1, DEEPEST);
        let (longest, work) = (points.longest(), ns(self.costs.around));
        let watch = self.watch(plan.watch);
        let watched = self.watch_until(plan, longest);
        let rest = plan.rest.map(|(kind, point)| {
            let until = self.rest_until(kind, points[point]);
            (kind, until, self.before(kind))
        });
        let loose = plan.loose.map(|kind| (kind, self.loose_until(plan)));
        let mut out = Out::new();
        let mut drawn = 0;
        let mut draw = || {
            // Seven and sixteen have no common divisor: each point is drawn equally often.
            drawn = (drawn + 7) % POINTS;
            points[drawn]
        };
        let (mut newest, apart) = (0.0, points.median() / f64::from(depth as u32));
        for index in 0..depth {
            newest = apart * f64::from(index as u32);
            out.submit(newest, newest + draw());
        }
        let (mut at, mut cold) = (points.median(), 0.0);
        let (mut start, wanted) = (at, 3 * depth + POINTS);
        let (mut done, mut joules, mut delay) = (0, 0.0, 0.0);
        // Beginning of the close watch, and nanoseconds by which completions were seen late.
        let (mut close, mut tail, mut most) = (at, 0.0, 0.0);
        // Nanoseconds for which I/Os waited for others that were prepared with them.
        let mut made = 0.0;
        let (mut settled, mut before) = (false, 0);
        while done < wanted {
            let first = out.first();
            if first <= at {
                let seen = at;
                at += cold;
                joules += cold * self.costs.spin.0;
                cold = 0.0;
                let batch = out.count(seen);
                let many = f64::from(batch as u32);
                // All are prepared before the first is submitted.
                let making = many * work;
                let submitted = at + making;
                for _ in 0..batch {
                    let completed = out.complete();
                    let late = submitted - work - completed;
                    delay += late;
                    most = greater(most, late);
                    if completed >= close {
                        tail = greater(tail, late);
                    }
                }
                for _ in 0..batch {
                    out.submit(submitted, submitted + draw());
                }
                made += many * (making - work);
                (at, newest) = (submitted, submitted);
                done += batch;
                close = at;
                if !settled && done >= depth {
                    // The I/Os that were out at first had an arbitrary beginning.
                    (settled, start) = (true, at);
                    (joules, delay, tail, most, made) = (0.0, 0.0, 0.0, 0.0, 0.0);
                    before = done;
                }
                continue;
            }
            let oldest = match rest.is_some() || loose.is_some() {
                true => out.oldest(),
                false => 0.0,
            };
            if let Some((kind, until, before)) = rest
                && oldest + until > at + before
            {
                let rest = self.rest(kind, at, oldest + until);
                at = rest.end;
                joules += rest.joules;
                cold = greater(cold, rest.cold);
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
                    at = end + greater(blocked.delay - chill, 0.0);
                    cold = greater(cold, chill);
                } else {
                    let loose = self.watch(kind);
                    joules += greater(end - at, 0.0) * loose.watts;
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
            joules += greater(until - at, 0.0) * watch.watts;
            at = greater(at, until);
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
                    _ => greater(tail, watch.exit),
                },
            most,
        }
    }
}
