//! Who knows when everything ends: the least energy that keeps a promise.

use crate::prices::{IdlePrice, Prices};
use crate::run::World;
use crate::thread::Thread;
use joulio_model::{CoreState, FrequencyRatio, MachineProfile, Pick};
use joulio_units::{Joules, Nanos, Watts};
use joulio_wait::{Outstanding, Step, StepKind, StepSet};

/// What an oracle may do, and what it has to keep.
///
/// It takes the cheapest step for each wait, by the machine's watts, that keeps every latency it
/// can under `limit`. It looks no further than the wait, so that above depth 1 another plan may be
/// cheaper still: whoever compares takes the best of several, fixed ways among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oracle {
    /// The longest that an I/O may take which would not take longer anyway.
    pub limit: Nanos,
    /// Watts that flow while a closed loop waits, whatever its core does: the price of time. Zero
    /// where the load comes by itself.
    pub share: Watts,
    /// The steps that it may take, of those that the machine has.
    pub can: StepSet,
    /// Whether it may leave completions where they are, to take in several at once.
    pub batch: bool,
    /// Whether it may sleep while nothing is out. What an I/O will take is not known before it is,
    /// and its thread is slower after that sleep.
    pub nap: bool,
}

/// An oracle on a machine.
#[derive(Clone, Debug)]
pub(crate) struct Seer {
    oracle: Oracle,
    spin: Watts,
    kernel: Watts,
    /// The light steps that there are.
    light: Vec<(StepKind, Watts)>,
    /// The idle states.
    idle: Vec<(IdlePrice, Watts)>,
    timer: Joules,
    /// How long the CPU has been idle since the last completion, if it has.
    cold: Option<Nanos>,
    /// Completions and arrivals of what is out, the earliest first.
    upcoming: Vec<(Nanos, Nanos)>,
}

/// A way to a time.
#[derive(Clone, Copy, Debug)]
struct Plan {
    step: Step,
    /// When the core can look.
    end: Nanos,
    /// What the thread is slower by then.
    cold: Nanos,
    joules: f64,
}

impl Seer {
    /// On a machine whose cores run at `frequency`.
    pub(crate) fn new(
        machine: &MachineProfile,
        prices: &Prices,
        oracle: Oracle,
        frequency: Option<FrequencyRatio>,
    ) -> Seer {
        let watts = |state| machine.core_watts_at(state, frequency, Pick::Value);
        let can = oracle.can.and(prices.can);
        let light = [
            (StepKind::Pause, CoreState::PauseC02),
            (StepKind::Monitor, CoreState::Monitor),
        ];
        let light = light.into_iter().filter(|(kind, _)| can.has(*kind));
        let idle = prices.idle.iter();
        Seer {
            oracle,
            spin: watts(CoreState::Spin),
            kernel: watts(CoreState::Kernel),
            light: light.map(|(kind, state)| (kind, watts(state))).collect(),
            idle: idle
                .map(|price| (*price, watts(price.state.into())))
                .collect(),
            timer: machine.wake.timer_joules.joules(),
            cold: None,
            upcoming: Vec::new(),
        }
    }

    /// Every way from `at` to `target`, and past it if need be.
    fn ways(
        &self,
        at: Nanos,
        (count, target): (usize, Nanos),
        prices: &Prices,
        ways: &mut Vec<Plan>,
    ) {
        let until = target - prices.pause_exit;
        // They end at the first completion: none can be left for later.
        let light = self.light.iter().filter(|_| count < 2 && until > at);
        ways.extend(light.map(|(kind, watts)| Plan {
            step: Step::new(*kind, until),
            end: target,
            cold: Nanos::ZERO,
            joules: (*watts * (target - at)).0,
        }));
        ways.extend(self.sleep(at, target, prices));
    }

    /// A sleep by a timer that ends at `target`, or as soon after it as it can: in the deepest state
    /// that pays.
    fn sleep(&self, at: Nanos, target: Nanos, prices: &Prices) -> Option<Plan> {
        let before = prices.to_sleep();
        for (index, (state, watts)) in self.idle.iter().enumerate().rev() {
            let after = state.exit + prices.timer_fires + prices.wake;
            let room = target - at - before - after;
            if room < state.chosen && index > 0 {
                continue;
            }
            // Where the next state would be chosen after all it is left earlier.
            let next = self.idle.get(index + 1);
            let idle = next.map_or(room, |(next, _)| room.min(next.chosen - Nanos(1)));
            let end = at + before + idle + after;
            let spun = target - end;
            let cold = prices.cold.after(idle);
            let work = before + after + cold;
            let joules = self.timer + *watts * idle + self.kernel * work + self.spin * spun;
            return Some(Plan {
                step: Step::sleep_until(at + before + idle - prices.timer_slack),
                end: end.max(target),
                cold,
                joules: joules.0,
            });
        }
        None
    }

    /// Whether the first `count` of those upcoming keep the limit, handed out by a look at `end`.
    fn keeps(&self, count: usize, plan: &Plan, prices: &Prices) -> bool {
        let limit = self.oracle.limit;
        let cold = match self.cold {
            Some(idle) => prices.cold.after(idle).max(plan.cold),
            None => plan.cold,
        };
        let handed = plan.end + prices.leave + cold + prices.complete_all(count);
        let mut first = self.upcoming.iter().take(count);
        first.all(|&(finish, arrival)| {
            let alone = finish + prices.leave + prices.complete;
            handed - arrival <= limit || alone - arrival > limit
        })
    }

    /// The cheapest step, an I/O, until `deadline` at the latest.
    fn choose(&self, at: Nanos, deadline: Nanos, prices: &Prices) -> Step {
        let targets = match self.oracle.batch {
            true => self.upcoming.len(),
            false => self.upcoming.len().min(1),
        };
        let first = self.upcoming.first().map_or(Nanos::MAX, |first| first.0);
        let spun = first.min(deadline);
        if spun <= at || spun == Nanos::MAX {
            return Step::SPIN.bounded(deadline);
        }
        let price = |plan: &Plan, count: usize| {
            let time = (plan.end - at).seconds();
            (plan.joules + self.oracle.share.0 * time) / count.max(1) as f64
        };
        let spin = Plan {
            step: Step::new(StepKind::Spin, spun),
            end: spun,
            cold: Nanos::ZERO,
            joules: (self.spin * (spun - at)).0,
        };
        let mut best = (price(&spin, usize::from(first <= deadline)), spin.step);
        let mut ways = Vec::new();
        let mut consider = |count: usize, target: Nanos| {
            ways.clear();
            self.ways(at, (count, target), prices, &mut ways);
            for plan in &ways {
                let price = price(plan, count);
                let in_time = plan.end <= deadline || count > 0;
                if price < best.0 && in_time && self.keeps(count, plan, prices) {
                    best = (price, plan.step);
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

impl Thread<'_> {
    /// What the oracle does now, if one waits here.
    pub(crate) fn foresee(&mut self, at: Nanos, world: &World<'_>) -> Option<Step> {
        let deadline = self.deadline(at);
        let seer = self.seer.as_mut()?;
        seer.cold = self.cold;
        self.flights.upcoming(&mut seer.upcoming);
        debug_assert_eq!(seer.upcoming.len(), self.flights.count());
        Some(seer.choose(at, deadline, &world.prices))
    }
}
