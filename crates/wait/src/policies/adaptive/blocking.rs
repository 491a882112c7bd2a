//! Costs of blocks.

use super::costing::{Cost, Costing};
use super::costs::{IdleCost, WaitCosts, ns};
use super::points::{POINTS, Points};

/// Blocks that begin at the same time, for I/Os that take longer and longer.
struct Blocking<'a> {
    /// Idle state of the last block, its exit time, and the deeper states.
    state: &'a IdleCost,
    exit: f64,
    deeper: &'a [IdleCost],
    /// Nanoseconds of the shortest idle time for which the next state is chosen.
    next: f64,
    costs: &'a WaitCosts,
    /// Factor by which the thread takes longer than expected to go on after a block.
    slow: f64,
    /// Earliest time at which the core is idle.
    asleep: f64,
    /// Nanoseconds from the interrupt to the thread's next instruction, beside the exit from the idle state.
    after: f64,
    /// Nanojoules of the time outside the idle state.
    awake: f64,
}

impl<'a> Blocking<'a> {
    /// Blocks at `at`.
    fn new(costs: &'a WaitCosts, slow: f64, at: f64) -> Blocking<'a> {
        let (before, after) = (ns(costs.block_before), ns(costs.block_after) * slow);
        let (state, deeper) = (&costs.idle[0], &costs.idle[1..]);
        Blocking {
            state,
            exit: ns(state.exit) * slow,
            deeper,
            next: chosen(deeper),
            costs,
            slow,
            asleep: at + before,
            after,
            awake: (before + after) * costs.kernel.0 + costs.interrupt.0 * 1e9,
        }
    }

    /// Joules and delay of the next, for an I/O that takes `time`.
    fn next(&mut self, time: f64) -> (f64, f64) {
        let idle = time - self.asleep;
        let (idle, exit) = match idle > 0.0 {
            true => {
                while idle >= self.next {
                    self.deeper();
                }
                (idle, self.exit)
            }
            false => (0.0, 0.0),
        };
        let end = self.asleep + idle + exit + self.after;
        let cold = self.costs.cold_after(idle);
        let asleep = (idle + exit) * self.state.watts.0 + cold * self.costs.spin.0;
        (self.awake + asleep, end - time + cold)
    }

    /// The next idle state is chosen from now on.
    fn deeper(&mut self) {
        if let Some((state, deeper)) = self.deeper.split_first() {
            (self.state, self.deeper) = (state, deeper);
            self.exit = ns(state.exit) * self.slow;
        }
        self.next = chosen(self.deeper);
    }
}

/// Nanoseconds of the shortest idle time for which the first of `states` is chosen.
fn chosen(states: &[IdleCost]) -> f64 {
    states
        .first()
        .map_or(f64::INFINITY, |state| ns(state.chosen))
}

/// The sum of what blocks cost.
#[derive(Clone, Copy, Default)]
pub(super) struct Blocks {
    /// Nanojoules.
    pub(super) joules: f64,
    /// Nanoseconds by which they are late.
    pub(super) delay: f64,
    /// Nanoseconds by which one of them is late at most.
    pub(super) most: f64,
}

impl Blocks {
    /// Adds one.
    fn add(&mut self, (joules, delay): (f64, f64)) {
        self.joules += joules;
        self.delay += delay;
        if delay > self.most {
            self.most = delay;
        }
    }
}

/// Blocks at the first wait.
pub(super) struct Blocked<'a> {
    blocking: Blocking<'a>,
    /// Sums of the costs for the shortest points, computed up to the count that was asked for.
    sums: [Blocks; POINTS + 1],
    summed: usize,
}

impl Blocked<'_> {
    /// Returns what the blocks cost for the `count` shortest of `points`.
    fn of(&mut self, points: &Points, count: usize) -> Blocks {
        while self.summed < count {
            let mut sum = self.sums[self.summed];
            sum.add(self.blocking.next(points[self.summed]));
            self.summed += 1;
            self.sums[self.summed] = sum;
        }
        self.sums[count]
    }
}

impl Costing<'_> {
    /// The least that a block is worth to an I/O that is alone.
    pub(super) fn least_blocked(&self) -> f64 {
        let blocking = Blocking::new(self.costs, self.slow, self.begin);
        blocking.awake + (self.delay_weight + self.share) * blocking.after
    }

    /// The cost of a block at `at` for an I/O that takes `time`.
    pub(super) fn block(&self, at: f64, time: f64) -> Cost {
        let (joules, delay) = Blocking::new(self.costs, self.slow, at).next(time);
        Cost::one(joules, delay)
    }

    /// The sum of the costs of blocks at `at` for those of `points` at `from` to `to`. `blocked` keeps what plans
    /// have in common.
    pub(super) fn blocks<'a>(
        &'a self,
        at: f64,
        points: &Points,
        (from, to): (usize, usize),
        blocked: &mut Option<Blocked<'a>>,
    ) -> Blocks {
        if from == 0 && at == self.begin {
            let blocked = blocked.get_or_insert_with(|| Blocked {
                blocking: Blocking::new(self.costs, self.slow, at),
                sums: [Blocks::default(); POINTS + 1],
                summed: 0,
            });
            return blocked.of(points, to);
        }
        let mut blocking = Blocking::new(self.costs, self.slow, at);
        let mut sum = Blocks::default();
        for time in &points.after(from)[..to - from] {
            sum.add(blocking.next(*time));
        }
        sum
    }
}
