//! Watts of states, computed from measured windows.
//!
//! The watts of a core are the difference between all used cores in a state and one core in it, divided by the number
//! of additional cores: the parts that cores share are powered in both. What the first core adds beyond that is the
//! shared part.

use super::block::{Block, contrast, mean};
use super::clock::ClockWatts;
use super::error::WattsError;
use super::figures::{CoresAwake, StateWatts, WakeJoules, figure_of_idle_state};
use super::group::{MeasuredGroup, Purpose};
use super::plan::Plan;
use crate::statistics::Interval;
use joulio_model::CoreState;

/// Figures of a calibration, independent of the meter's boundary.
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
    /// Watts of a spinning core at each clock of the plan, the highest first; empty if no clocks were chosen.
    pub clocks: Vec<ClockWatts>,
}

/// Watts of spinning.
#[derive(Clone, Copy, Debug)]
pub struct Spinning {
    /// Watts of a core above an idle one.
    pub above_idle: Interval,
    uncore: Interval,
    awake: [CoresAwake; 3],
}

impl Spinning {
    /// Computes the figures of the `blocks` of idle, one and `used` spinning cores.
    ///
    /// # Errors
    /// The difference between spinning and idling is not significant.
    pub fn of(blocks: &[Block], used: usize) -> Result<Spinning, WattsError> {
        let above = contrast(blocks, &per_core(used));
        if !above.is_above_zero() {
            return Err(WattsError::Indistinguishable {
                meter: String::new(),
                cores: used,
                within: above.half(),
            });
        }
        let others = (used - 1) as f64;
        let uncore = contrast(blocks, &[-1.0, 1.0 + 1.0 / others, -1.0 / others]);
        let awake = [
            (0, [1.0, 0.0, 0.0]),
            (1, [0.0, 1.0, 0.0]),
            (used, [0.0, 0.0, 1.0]),
        ];
        let awake = awake.map(|(cores, weights)| CoresAwake {
            cores,
            watts: contrast(blocks, &weights),
        });
        Ok(Spinning {
            above_idle: above,
            uncore,
            awake,
        })
    }
}

impl Found {
    /// Computes the figures of the `groups` of `plan`.
    ///
    /// # Errors
    /// The difference between spinning and idling is not significant, or spinning was not measured.
    pub fn of(plan: &Plan, groups: &[MeasuredGroup]) -> Result<Found, WattsError> {
        let used = plan.used.max(2);
        let of = |purpose| groups.iter().find(|group| group.purpose == purpose);
        let blocks = |purpose| match of(purpose).map(|group| &group.blocks) {
            Some(Ok(blocks)) => Ok(blocks.as_slice()),
            Some(Err(why)) => Err(why.clone()),
            None => Err("its windows were not measured".into()),
        };
        let spinning = blocks(Purpose::Spin).map_err(WattsError::NotDone)?;
        let spinning = Spinning::of(spinning, used)?;
        let spin = spinning.above_idle;
        let name = super::activity::CoreActivity::Spin.to_string();
        let spin_state = StateWatts::of(name, Some(CoreState::Spin), spin, None);
        let mut states = vec![spin_state.beside(&spin)];
        for (index, (activity, figure)) in plan.waits.iter().enumerate() {
            let name = activity.to_string();
            states.push(match blocks(Purpose::Wait(index)) {
                Ok(blocks) => {
                    let above = contrast(blocks, &per_core(used));
                    let inside = mean(blocks, 2, |ran| ran.inside);
                    StateWatts::of(name, *figure, above, inside).beside(&spin)
                }
                Err(why) => StateWatts::none(name, why),
            });
        }
        for (index, state) in plan.idle.iter().enumerate().filter(|one| one.1.watts) {
            let name = state.name.clone();
            states.push(match blocks(Purpose::Idle(index)) {
                Ok(blocks) => idle_state(name, blocks, &spinning.uncore, plan).beside(&spin),
                Err(why) => StateWatts::none(name, why),
            });
        }
        let mut wakes = Vec::new();
        for group in groups {
            if let Purpose::Wake(from) = group.purpose {
                let name = from.map(|index| plan.idle[index].name.clone());
                let busy = above_sleeping(plan, &spin, &states, name.as_deref());
                wakes.push(match (busy, &group.blocks) {
                    (Err(why), _) => WakeJoules::none(name, why.into()),
                    (_, Err(why)) => WakeJoules::none(name, why.clone()),
                    (Ok(busy), Ok(blocks)) => wake(name, blocks, used, &busy),
                });
            }
        }
        let mut clocks = Vec::new();
        for (index, khz) in plan.clocks.iter().enumerate() {
            let above = match index {
                0 => Ok(spin),
                _ => blocks(Purpose::Clock(index)).map(|blocks| contrast(blocks, &per_core(used))),
            };
            clocks.push(ClockWatts::of(*khz, above));
        }
        let without = plan.without.iter();
        states.extend(without.map(|one| StateWatts::none(one.name.clone(), one.why.clone())));
        Ok(Found {
            awake: spinning.awake,
            uncore: spinning.uncore,
            states,
            wakes,
            clocks,
        })
    }
}

/// Computes the watts of an idle state above the deepest, from windows in which all cores of the machine are idle in
/// it.
fn idle_state(name: String, blocks: &[Block], uncore: &Interval, plan: &Plan) -> StateWatts {
    let all = contrast(blocks, &[-1.0, 1.0]);
    let cores = all.minus(&uncore.times(plan.packages as f64));
    let above = cores.times(1.0 / plan.cores.max(1) as f64);
    let figure = figure_of_idle_state(&name);
    // How long cores were in the state is not shown: the kernel counts a stay when it ends, which may be windows later.
    StateWatts::of(name, figure, above, None)
}

/// Returns the watts of a spinning core above one that sleeps in the state `name`, or the reason why they are not
/// known.
fn above_sleeping(
    plan: &Plan,
    spin: &Interval,
    states: &[StateWatts],
    name: Option<&str>,
) -> Result<Interval, &'static str> {
    let deepest = plan.deepest().map(|state| state.name.as_str());
    if name == deepest {
        return Ok(*spin);
    }
    match states.iter().find(|one| Some(one.name.as_str()) == name) {
        Some(one) => match one.above_idle {
            Some(above) => Ok(spin.minus(&above)),
            None => Err("its watts are not known"),
        },
        None => Err("its watts were not measured"),
    }
}

/// Returns the weights of the arms for the watts of one core: all cores minus one core, divided by the number of
/// additional cores.
fn per_core(used: usize) -> [f64; 3] {
    let others = (used - 1) as f64;
    [0.0, -1.0 / others, 1.0 / others]
}

/// Computes the joules of a wake-up: the additional energy of `used` cores at the higher rate of wake-ups, minus the
/// threads' CPU time at `busy` watts above idling, for each additional wake-up.
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

    /// Returns a state that has no figure.
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
