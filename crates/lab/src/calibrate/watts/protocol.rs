//! The order of a measurement of watts, and its arithmetic.
//!
//! What a core draws is the difference between all used cores in a state and one of them, by the
//! number of the others: what cores share while any of them is awake is in both. What one core adds
//! beyond that is what they share.

use super::activity::{Arm, CoreActivity};
use super::bench::{Cores, JouleMeter};
use super::block::{Block, Rounds, contrast, mean};
use super::error::WattsError;
use super::figures::{CoresAwake, StateWatts, WakeJoules, figure_of_idle_state};
use super::plan::{IdleStatePlan, Plan};
use crate::statistics::Interval;
use joulio_model::CoreState;
use joulio_units::Nanos;

/// The shorter of the two sleeps by which wake-ups are measured, at least: at more wakes a second
/// than some thousands a core has no time to idle.
const SHORTEST_SLEEP: Nanos = Nanos::from_micros(250);
/// Times that the sleep is longer than leaving the state takes, at least, so that it pays to enter
/// it: three to six are its target residency in the kernel's tables.
const SLEEP_LATENCIES: u64 = 10;
/// Times that the longer sleep is as long as the shorter.
const SLEEP_RATIO: u64 = 4;

/// Figures of a calibration, before the boundary is known.
#[derive(Clone, Debug)]
pub struct Found {
    /// Watts with no, one and all used cores spinning.
    pub awake: [CoresAwake; 3],
    /// Watts that cores share while one is awake.
    pub uncore: Interval,
    /// Watts of each state.
    pub states: Vec<StateWatts>,
    /// Joules of wake-ups.
    pub wakes: Vec<WakeJoules>,
}

/// A measurement in the doing.
pub struct Protocol<'a> {
    /// Plan of the measurement.
    pub plan: &'a Plan,
    /// Number and length of the measurements.
    pub rounds: Rounds,
    /// The cores.
    pub cores: &'a mut dyn Cores,
    /// The meters.
    pub joules: &'a mut dyn JouleMeter,
    /// Called after each window.
    pub tick: &'a mut dyn FnMut(),
}

impl Protocol<'_> {
    /// Measures all of the plan. A state whose idle states the system does not let anybody limit
    /// has the reason in place of a figure.
    ///
    /// # Errors
    /// A window fails, or spinning cannot be told from idling.
    pub fn run(mut self) -> Result<Found, WattsError> {
        let used = self.plan.used.max(2);
        let (spin, uncore, awake) = self.spin(used)?;
        let mut states = vec![spin];
        let spin = states.first().and_then(|state| state.above_idle);
        let spin = spin.unwrap_or(Interval::around(0.0, 0.0));
        for (activity, figure) in &self.plan.waits {
            let blocks = self.blocks(&awake_arms(*activity, used))?;
            let above = contrast(&blocks, &per_core(used));
            let inside = mean(&blocks, 2, |ran| ran.inside);
            let figure = StateWatts::of(activity.to_string(), *figure, above, inside);
            states.push(figure.beside(&spin));
        }
        for state in self.plan.idle.iter().filter(|state| state.watts) {
            states.push(self.idle_state(state, &uncore)?.beside(&spin));
        }
        let wakes = self.wakes(used, &spin, &states)?;
        states.extend(self.plan.without.iter().cloned());
        Ok(Found {
            awake,
            uncore,
            states,
            wakes,
        })
    }

    fn blocks(&mut self, arms: &[Arm]) -> Result<Vec<Block>, WattsError> {
        self.rounds.run(arms, self.cores, self.joules, self.tick)
    }

    fn spin(&mut self, used: usize) -> Result<(StateWatts, Interval, [CoresAwake; 3]), WattsError> {
        let blocks = self.blocks(&awake_arms(CoreActivity::Spin, used))?;
        let above = contrast(&blocks, &per_core(used));
        if !above.is_above_zero() {
            return Err(WattsError::Indistinguishable {
                meter: String::new(),
                cores: used,
                within: above.half(),
            });
        }
        let others = (used - 1) as f64;
        let uncore = contrast(&blocks, &[-1.0, 1.0 + 1.0 / others, -1.0 / others]);
        let awake = [
            (0, [1.0, 0.0, 0.0]),
            (1, [0.0, 1.0, 0.0]),
            (used, [0.0, 0.0, 1.0]),
        ];
        let awake = awake.map(|(cores, weights)| CoresAwake {
            cores,
            watts: contrast(&blocks, &weights),
        });
        let name = CoreActivity::Spin.to_string();
        let spin = StateWatts::of(name, Some(CoreState::Spin), above, None);
        Ok((spin, uncore, awake))
    }

    /// All cores of the machine idle in `state`, beside the deepest.
    fn idle_state(
        &mut self,
        state: &IdleStatePlan,
        uncore: &Interval,
    ) -> Result<StateWatts, WattsError> {
        let arms = [Arm::idle(), Arm::idle().within(Some(&state.name))];
        let blocks = match self.blocks(&arms) {
            Ok(blocks) => blocks,
            Err(error) => return Ok(StateWatts::none(state.name.clone(), unlimited(error)?)),
        };
        let all = contrast(&blocks, &[-1.0, 1.0]);
        let cores = all.minus(&uncore.times(self.plan.packages as f64));
        let above = cores.times(1.0 / self.plan.cores.max(1) as f64);
        let figure = figure_of_idle_state(&state.name);
        // The kernel counts a stay when it ends, which on an idle core may be windows later.
        Ok(StateWatts::of(state.name.clone(), figure, above, None))
    }

    fn wakes(
        &mut self,
        used: usize,
        spin: &Interval,
        states: &[StateWatts],
    ) -> Result<Vec<WakeJoules>, WattsError> {
        if !self.plan.wakes {
            return Ok(Vec::new());
        }
        let woken = self
            .plan
            .idle
            .iter()
            .filter(|state| state.can_be_woken_from());
        let mut from: Vec<Option<&IdleStatePlan>> = woken.map(Some).collect();
        if from.is_empty() {
            from.push(None);
        }
        let deepest = self.plan.deepest().map(|state| &state.name);
        let mut wakes = Vec::new();
        for state in from {
            let name = state.map(|state| &state.name);
            let sleeping = match states.iter().find(|one| Some(&one.name) == name) {
                _ if name == deepest => Ok(Interval::around(0.0, 0.0)),
                Some(one) => one.above_idle.ok_or("its watts are not known"),
                None => Err("its watts were not measured"),
            };
            let sleeping = match sleeping {
                Ok(sleeping) => sleeping,
                Err(why) => {
                    wakes.push(WakeJoules::none(name.cloned(), why.into()));
                    continue;
                }
            };
            let latency = state.map_or(0, |state| state.latency.0);
            let short = SHORTEST_SLEEP.max(Nanos(latency.saturating_mul(SLEEP_LATENCIES)));
            let long = Nanos(short.0.saturating_mul(SLEEP_RATIO));
            // The deepest state is the kernel's own choice.
            let limit = name.filter(|_| name != deepest).map(String::as_str);
            let sleeps = |time| Arm::on(CoreActivity::Sleeps(time), used).within(limit);
            wakes.push(
                match self.blocks(&[Arm::idle(), sleeps(long), sleeps(short)]) {
                    Ok(blocks) => wake(name.cloned(), &blocks, used, &spin.minus(&sleeping)),
                    Err(error) => WakeJoules::none(name.cloned(), unlimited(error)?),
                },
            );
        }
        Ok(wakes)
    }
}

/// Why an idle state is not measured; the error itself, if it is of more than that.
fn unlimited(error: WattsError) -> Result<String, WattsError> {
    match error {
        WattsError::Change(change) if !change.leaves_changes() => Ok(change.to_string()),
        error => Err(error),
    }
}

/// Idle, one core, all that are used.
fn awake_arms(activity: CoreActivity, used: usize) -> [Arm; 3] {
    [Arm::idle(), Arm::on(activity, 1), Arm::on(activity, used)]
}

/// All less one, by the number of the others.
fn per_core(used: usize) -> [f64; 3] {
    let others = (used - 1) as f64;
    [0.0, -1.0 / others, 1.0 / others]
}

/// Joules of a wake-up, from what `used` cores draw more at the higher rate, less what the threads'
/// time costs at `busy` watts above idling.
fn wake(state: Option<String>, blocks: &[Block], used: usize, busy: &Interval) -> WakeJoules {
    let [slow, fast] = [1, 2];
    let differences = blocks.iter().map(|block| {
        let [slow, fast] = [block.arm(slow), block.arm(fast)];
        let watts = (fast.watts - slow.watts) / used as f64;
        let error = (fast.error + slow.error) / used as f64;
        let wakes = (fast.ran.wakes - slow.ran.wakes).max(f64::MIN_POSITIVE);
        let time = fast.ran.busy - slow.ran.busy;
        (watts / wakes, error / wakes, time / wakes)
    });
    let all: Vec<(f64, f64, f64)> = differences.collect();
    let middle =
        |of: fn(&(f64, f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let joules: Vec<f64> = all
        .iter()
        .map(|(joules, _, time)| joules - time * busy.value)
        .collect();
    let (error, time) = (middle(|one| one.1), middle(|one| one.2));
    let joules = Interval::of(&joules, error + time.abs() * busy.half());
    let rate = |arm| mean(blocks, arm, |ran| Some(ran.wakes)).unwrap_or(0.0);
    let found = joules.is_above_zero();
    WakeJoules {
        state,
        rates: [rate(slow), rate(fast)],
        busy_ns: time * 1e9,
        joules: found.then_some(joules),
        why: (!found).then(|| {
            format!(
                "not distinguishable from none (within {:.1} uJ)",
                joules.half() * 1e6
            )
        }),
    }
}

impl StateWatts {
    fn of(
        name: String,
        figure: Option<CoreState>,
        above: Interval,
        inside: Option<f64>,
    ) -> StateWatts {
        let found = above.is_above_zero();
        StateWatts {
            name,
            figure,
            above_idle: found.then_some(above),
            below_spin: None,
            inside,
            why: (!found).then(|| {
                format!(
                    "not distinguishable from idle ({:.3} W at most)",
                    above.high
                )
            }),
        }
    }

    /// A state without a figure.
    pub(super) fn none(name: String, why: String) -> StateWatts {
        StateWatts {
            name,
            figure: None,
            above_idle: None,
            below_spin: None,
            inside: None,
            why: Some(why),
        }
    }

    fn beside(self, spin: &Interval) -> StateWatts {
        StateWatts {
            below_spin: self.above_idle.map(|above| spin.minus(&above)),
            ..self
        }
    }
}

impl WakeJoules {
    fn none(state: Option<String>, why: String) -> WakeJoules {
        WakeJoules {
            state,
            rates: [0.0; 2],
            busy_ns: 0.0,
            joules: None,
            why: Some(why),
        }
    }
}
