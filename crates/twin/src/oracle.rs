//! The oracle, a candidate that knows when each completion comes: the least energy that keeps a promise.

use crate::in_flight::InFlight;
use crate::step_costs::{IdleStateTimes, StepCosts};
use joulio_model::{CoreState, FrequencyRatio, MachineProfile, Pick};
use joulio_units::{Joules, Nanos, Slo, Watts};
use joulio_wait::{Outstanding, Step, StepKind, StepSet};

/// Rules of an oracle: the steps that it may take, and the limits that it must keep.
///
/// The oracle knows when each I/O in flight completes. For each wait it takes the step that is cheapest, by the
/// machine's watts, among those that keep every latency it can within every limit of `slo`. It considers each wait
/// alone, so that above depth 1 another plan may be cheaper still: comparisons use the best of several oracles and
/// policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oracle {
    /// Limits; an I/O may exceed one only if it would do so even if the core took its completion at once.
    pub slo: Slo,
    /// Watts that are drawn while a closed loop waits, whatever its core does: the cost of time. Zero for a load
    /// whose I/Os arrive by themselves.
    pub share: Watts,
    /// The steps that the oracle may take, of those that the machine has.
    pub can: StepSet,
    /// True if the oracle may leave completions on the queue, to take several at once.
    pub batch: bool,
    /// True if the oracle may sleep while no I/O is in flight. It does not know the time of an I/O before its
    /// submission, and its thread is slower after that sleep.
    pub nap: bool,
    /// True if the oracle knows when the next I/O arrives, and is awake in time. Otherwise an arrival wakes it, as
    /// any event would, and a nap is a sleep until then.
    pub arrivals: bool,
    /// True if the oracle lets as many I/Os exceed a limit as its percentile allows, where that is cheaper.
    pub spend: bool,
}

/// State of an oracle on a machine.
#[derive(Clone, Debug)]
pub(crate) struct OracleState {
    oracle: Oracle,
    spin: Watts,
    kernel: Watts,
    /// The available light steps, with their watts.
    light: Vec<(StepKind, Watts)>,
    /// The idle states, with their watts.
    idle: Vec<(IdleStateTimes, Watts)>,
    timer: Joules,
    /// Time that the CPU has been idle since the last completion, if it has.
    cold: Option<Nanos>,
    /// Times of completion and of arrival of the I/Os in flight, the earliest first.
    upcoming: Vec<(Nanos, Nanos)>,
    /// Measured I/Os that have completed.
    done: u64,
    /// Number of those I/Os that exceeded each limit.
    late: [u64; Slo::MAX],
}

/// Fraction of the allowed late I/Os that an oracle uses: the rest is for I/Os that the end of a run makes late.
const SPENT: f64 = 0.95;

/// A sequence of steps up to a time.
#[derive(Clone, Copy, Debug)]
struct Plan {
    step: Step,
    /// Time at which the core can poll again.
    end: Nanos,
    /// Time by which the thread is slower after it.
    cold: Nanos,
    joules: f64,
}

impl OracleState {
    /// Returns the state for a machine whose cores run at `frequency`.
    pub(crate) fn new(
        machine: &MachineProfile,
        costs: &StepCosts,
        oracle: Oracle,
        frequency: Option<FrequencyRatio>,
    ) -> OracleState {
        let watts = |state| machine.core_watts_at(state, frequency, Pick::Value);
        let can = oracle.can.and(costs.can);
        let light = [
            (StepKind::Pause, CoreState::PauseC02),
            (StepKind::Monitor, CoreState::Monitor),
        ];
        let light = light.into_iter().filter(|(kind, _)| can.has(*kind));
        let idle = costs.idle.iter();
        OracleState {
            oracle,
            spin: watts(CoreState::Spin),
            kernel: watts(CoreState::Kernel),
            light: light.map(|(kind, state)| (kind, watts(state))).collect(),
            idle: idle.map(|cost| (*cost, watts(cost.state.into()))).collect(),
            timer: machine.wake.timer_joules.joules(),
            cold: None,
            upcoming: Vec::new(),
            done: 0,
            late: [0; Slo::MAX],
        }
    }

    /// Returns true if the oracle knows when the next I/O arrives.
    pub(crate) fn knows_arrivals(&self) -> bool {
        self.oracle.arrivals
    }

    /// Counts a measured I/O with `latency`.
    pub(crate) fn completed(&mut self, latency: Nanos) {
        self.done += 1;
        for (late, limit) in self.late.iter_mut().zip(self.oracle.slo.limits()) {
            *late += u64::from(latency > limit.latency);
        }
    }

    /// Lists all sequences of steps from `at` to `target`, or to a later time if `target` cannot be met.
    fn plans(
        &self,
        at: Nanos,
        (count, target): (usize, Nanos),
        costs: &StepCosts,
        plans: &mut Vec<Plan>,
    ) {
        let until = target - costs.pause_exit;
        // Light steps end at the first completion, so that they cannot leave one for later.
        let light = self.light.iter().filter(|_| count < 2 && until > at);
        plans.extend(light.map(|(kind, watts)| Plan {
            step: Step::new(*kind, until),
            end: target,
            cold: Nanos::ZERO,
            joules: (*watts * (target - at)).0,
        }));
        plans.extend(self.sleep(at, target, costs));
    }

    /// Returns a sleep with a timer that ends at `target`, or as soon after it as possible, in the deepest idle
    /// state that pays.
    fn sleep(&self, at: Nanos, target: Nanos, costs: &StepCosts) -> Option<Plan> {
        let before = costs.to_sleep();
        for (index, (state, watts)) in self.idle.iter().enumerate().rev() {
            let after = state.exit + costs.timer_fires + costs.wake;
            let room = target - at - before - after;
            if room < state.chosen && index > 0 {
                continue;
            }
            // If the governor would choose the next state, the sleep ends earlier, so that it does not.
            let next = self.idle.get(index + 1);
            let idle = next.map_or(room, |(next, _)| room.min(next.chosen - Nanos(1)));
            let end = at + before + idle + after;
            let spun = target - end;
            let cold = costs.cold.after(idle);
            let work = before + after + cold;
            let joules = self.timer + *watts * idle + self.kernel * work + self.spin * spun;
            return Some(Plan {
                step: Step::sleep_until(at + before + idle - costs.timer_slack),
                end: end.max(target),
                cold,
                joules: joules.0,
            });
        }
        None
    }

    /// Returns true if the first `count` of the upcoming completions may be taken by a poll at the end of `plan`:
    /// they keep each limit that they would keep if they were taken at once, or no more of them exceed it than may.
    fn keeps(&self, count: usize, plan: &Plan, costs: &StepCosts) -> bool {
        let cold = match self.cold {
            Some(idle) => costs.cold.after(idle).max(plan.cold),
            None => plan.cold,
        };
        let handed = plan.end + costs.leave + cold + costs.complete_all(count);
        let limits = self.oracle.slo.limits().iter().zip(self.late);
        let mut limits =
            limits.map(|(limit, late)| (limit.latency, limit.percentile.above(), late));
        limits.all(|(limit, above, late)| {
            let first = self.upcoming.iter().take(count);
            let broken = first.filter(|&&(finish, arrival)| {
                let alone = finish + costs.leave + costs.complete;
                handed - arrival > limit && alone - arrival <= limit
            });
            match broken.count() as u64 {
                0 => true,
                broken => {
                    let may = SPENT * above * (self.done + count as u64) as f64;
                    self.oracle.spend && (late + broken) as f64 <= may
                }
            }
        })
    }

    /// Returns the step of a wait for the I/Os `in_flight` that begins at `at` and ends at `deadline` at the
    /// latest. The core has been idle for `cold` since the last completion, if it has.
    pub(crate) fn step(
        &mut self,
        at: Nanos,
        deadline: Nanos,
        cold: Option<Nanos>,
        in_flight: &InFlight,
        costs: &StepCosts,
    ) -> Step {
        self.cold = cold;
        in_flight.upcoming(&mut self.upcoming);
        debug_assert_eq!(self.upcoming.len(), in_flight.count());
        if self.oracle.arrivals {
            return self.choose(at, deadline, costs);
        }
        if self.upcoming.is_empty() && self.oracle.nap {
            return Step::sleep_until(deadline);
        }
        self.choose(at, Nanos::MAX, costs).bounded(deadline)
    }

    /// Chooses the cheapest step per I/O, which ends at `deadline` at the latest.
    fn choose(&self, at: Nanos, deadline: Nanos, costs: &StepCosts) -> Step {
        let targets = match self.oracle.batch {
            true => self.upcoming.len(),
            false => self.upcoming.len().min(1),
        };
        let first = self.upcoming.first().map_or(Nanos::MAX, |first| first.0);
        let spun = first.min(deadline);
        if spun <= at || spun == Nanos::MAX {
            return Step::SPIN.bounded(deadline);
        }
        let cost = |plan: &Plan, count: usize| {
            let time = (plan.end - at).seconds();
            (plan.joules + self.oracle.share.0 * time) / count.max(1) as f64
        };
        let spin = Plan {
            step: Step::new(StepKind::Spin, spun),
            end: spun,
            cold: Nanos::ZERO,
            joules: (self.spin * (spun - at)).0,
        };
        let mut best = (cost(&spin, usize::from(first <= deadline)), spin.step);
        let mut plans = Vec::new();
        let mut consider = |count: usize, target: Nanos| {
            plans.clear();
            self.plans(at, (count, target), costs, &mut plans);
            for plan in &plans {
                let cost = cost(plan, count);
                let in_time = plan.end <= deadline || count > 0;
                if cost < best.0 && in_time && self.keeps(count, plan, costs) {
                    best = (cost, plan.step);
                }
            }
        };
        if first > deadline && self.oracle.nap {
            consider(0, deadline);
        }
        for (index, (finish, _)) in self.upcoming.iter().take(targets).enumerate() {
            if *finish > deadline {
                break;
            }
            consider(index + 1, *finish);
        }
        best.1
    }
}
