//! Measured watts as figures of a machine's profile.

use super::clock::ClockLaw;
use super::figures::{MeasuredWatts, figure_of_idle_state};
use crate::statistics::Interval;
use joulio_model::CoreState;
use joulio_model::machine::{CoreWatts, WakeEnergy};
use joulio_model::{Figure, FigureKind, Frequency, MachineProfile, MeteredAt};

/// Least power of a core that profiles allow, in watts.
const MIN_WATTS: f64 = 1e-6;

/// Default exponent of the law of watts by clock.
const EXPONENT: f64 = 2.0;

/// Returns `base`, whose watts describe the machine `name`, with this machine's watts in their place. Figures that were
/// not measured, or are not significant, stay as they are, and their source says so.
pub fn with_watts(base: &MachineProfile, name: &str, watts: &MeasuredWatts) -> MachineProfile {
    let by = Source { watts, base: name };
    let [idle, ..] = watts.awake;
    let spinning = watts.spin().is_some();
    let uncore = watts.uncore.is_above_zero().then(|| {
        by.measured(
            &watts.uncore,
            0.0,
            "one spinning core above an idle machine, less what each further one adds",
        )
    });
    let whole = match watts.boundary {
        MeteredAt::Wall => "the idle machine with the devices that it has",
        MeteredAt::Package => "the idle packages",
    };
    let stays = |figure: &Option<Figure>| figure.as_ref().map(|figure| by.stays(figure, ""));
    MachineProfile {
        boundary: watts.boundary,
        cores: by.exactly(watts.cores as f64, "cores of /sys/devices/system/cpu"),
        base_watts: by.measured(&idle.watts, MIN_WATTS, whole),
        uncore_watts: uncore.or_else(|| stays(&base.uncore_watts)),
        uncore_active_watts: match spinning {
            true => Some(Figure {
                value: 0.0,
                kind: FigureKind::Guess,
                source: "stands in core_watts: by these meters it grows as a core's does".into(),
                band: None,
            }),
            false => stays(&base.uncore_active_watts),
        },
        frequency: frequency(base, &by),
        core_watts: core_watts(&base.core_watts, &by),
        wake: wake(&base.wake, &by),
        ..base.clone()
    }
}

/// Source texts of the profile's figures.
struct Source<'a> {
    watts: &'a MeasuredWatts,
    base: &'a str,
}

impl Source<'_> {
    fn exactly(&self, value: f64, what: &str) -> Figure {
        Figure {
            value,
            kind: FigureKind::Measured,
            source: what.into(),
            band: None,
        }
    }

    fn measured(&self, interval: &Interval, least: f64, what: &str) -> Figure {
        let MeasuredWatts {
            meter,
            rounds,
            window_seconds,
            date,
            kernel,
            microcode,
            ..
        } = self.watts;
        Figure {
            value: interval.value.max(least),
            kind: FigureKind::Measured,
            source: format!(
                "{what}; joulio calibrate --watts on {date}: {rounds} times two windows of {window_seconds} s by {meter}, 95 % interval with the meter's error; Linux {kernel}, microcode {microcode}"
            ),
            band: Some([interval.low.max(least), interval.high.max(least)]),
        }
    }

    /// Returns a figure of the base profile unchanged, with the reason in its source.
    fn stays(&self, figure: &Figure, why: &str) -> Figure {
        let why = match why {
            "" => "not measured".to_owned(),
            why => format!("not measured: {why}"),
        };
        Figure {
            source: format!("as {} ({why}): {}", self.base, figure.source),
            ..figure.clone()
        }
    }
}

/// Returns the law of a spinning core's watts by clock, if clocks were compared.
fn frequency(base: &MachineProfile, by: &Source<'_>) -> Option<Frequency> {
    let old = base.frequency.as_ref();
    let given = old.map_or(EXPONENT, |law| law.exponent.value);
    // The law applies to the watts in `core_watts`, which include those of an idle core.
    let (idle, _) = idle_floor(&base.core_watts, by.watts);
    let Some(law) = ClockLaw::of(&by.watts.clocks, idle.value, given) else {
        return old.map(|law| Frequency {
            reference_hertz: by.stays(&law.reference_hertz, ""),
            static_share: by.stays(&law.static_share, ""),
            exponent: by.stays(&law.exponent, ""),
        });
    };
    let clocks: Vec<String> = (by.watts.clocks.iter())
        .map(|clock| format!("{} GHz", clock.hertz / 1e9))
        .collect();
    let what = format!("a spinning core at {}", clocks.join(", "));
    let exponent = match (law.exponent_found, old) {
        (false, Some(old)) => by.stays(&old.exponent, "of two clocks only the share is known"),
        (found, _) => Figure {
            value: law.exponent,
            kind: match found {
                true => FigureKind::Measured,
                false => FigureKind::Guess,
            },
            source: match found {
                true => by.measured(&law.static_share, 0.0, &what).source,
                false => {
                    "between 1, where the voltage stays, and 3, where it is proportional".into()
                }
            },
            band: (!found).then_some([1.0, 3.0]),
        },
    };
    let at = "highest clock of --frequencies, at which all of the watts are";
    Some(Frequency {
        reference_hertz: by.exactly(law.reference_hertz, at),
        static_share: by.measured(&law.static_share, 0.0, &what),
        exponent,
    })
}

/// Returns the watts of an idle core from the profile `base`, to which all measured watts are added, and the name of
/// that figure.
fn idle_floor<'a>(base: &'a CoreWatts, watts: &MeasuredWatts) -> (&'a Figure, &'static str) {
    let idle = watts.idle_state.as_deref().and_then(figure_of_idle_state);
    match idle {
        Some(CoreState::C1) => (&base.c1, "c1"),
        Some(CoreState::C1e) => (&base.c1e, "c1e"),
        _ => (&base.c6, "c6"),
    }
}

fn core_watts(base: &CoreWatts, by: &Source<'_>) -> CoreWatts {
    let (floor, floor_name) = idle_floor(base, by.watts);
    let floor_band = floor.band.unwrap_or([floor.value; 2]);
    let of = |wanted: CoreState, old: Option<&Figure>| -> Option<Figure> {
        let state = by
            .watts
            .states
            .iter()
            .find(|state| state.figure == Some(wanted));
        let Some((state, above)) = state.and_then(|state| Some((state, state.above_idle?))) else {
            let why = state.and_then(|state| state.why.as_deref());
            return old.map(|old| by.stays(old, why.unwrap_or("")));
        };
        let in_full = Interval {
            value: above.value + floor.value,
            low: above.low + floor_band[0],
            high: above.high + floor_band[1],
        };
        let inside = state.inside.map_or(String::new(), |inside| {
            format!(", in the state for {:.0} % of the cycles", 100.0 * inside)
        });
        let what = format!(
            "{}: {:.3} W a core above idle{inside}, and {floor_name}'s",
            state.name, above.value
        );
        Some(by.measured(&in_full, MIN_WATTS, &what))
    };
    let must = |wanted, old: &Figure| of(wanted, Some(old)).unwrap_or_else(|| old.clone());
    let pause_c02 = of(CoreState::PauseC02, base.pause_c02.as_ref());
    let mwaitx = by
        .watts
        .states
        .iter()
        .any(|state| state.figure == Some(CoreState::Monitor) && state.above_idle.is_some());
    let monitor = of(CoreState::Monitor, base.monitor.as_ref());
    let mut all = CoreWatts {
        spin: must(CoreState::Spin, &base.spin),
        kernel: by.stays(&base.kernel, ""),
        pause_c01: of(CoreState::PauseC01, base.pause_c01.as_ref()),
        // A CPU has either MWAITX or TPAUSE.
        monitor: monitor.filter(|_| mwaitx || pause_c02.is_none()),
        pause_c02: pause_c02.filter(|_| !mwaitx),
        c1: must(CoreState::C1, &base.c1),
        c1e: must(CoreState::C1e, &base.c1e),
        // The base has the idle cores in their deepest state, and the watts of all states are counted above C6.
        c6: match floor_name {
            "c6" => by.stays(floor, "what an idle core still draws is in base_watts"),
            deepest => {
                let why = format!("{deepest} is the deepest state here, and in base_watts");
                by.stays(floor, &why)
            }
        },
    };
    ordered(&mut all);
    all
}

/// Limits the watts of each state to those from C6 to spinning: measured intervals overlap, and figures from another
/// machine's profile may lie outside.
fn ordered(all: &mut CoreWatts) {
    let spin = all.spin.value;
    let c6 = all.c6.value.min(spin);
    hold(&mut all.c6, c6, c6);
    let optional = [&mut all.pause_c01, &mut all.pause_c02, &mut all.monitor];
    let states = optional
        .into_iter()
        .flatten()
        .chain([&mut all.c1, &mut all.c1e]);
    states.for_each(|figure| hold(figure, c6, spin));
    hold(&mut all.kernel, c6, f64::INFINITY);
}

fn hold(figure: &mut Figure, low: f64, high: f64) {
    let value = figure.value;
    if (low..=high).contains(&value) {
        return;
    }
    figure.value = value.clamp(low, high);
    figure.source = format!(
        "{}; {value:.3} W is held between c6 and spin",
        figure.source
    );
    let band = figure.band.unwrap_or([value; 2]);
    figure.band = Some([band[0].min(figure.value), band[1].max(figure.value)]);
}

fn wake(base: &WakeEnergy, by: &Source<'_>) -> WakeEnergy {
    // Wakes from the shallowest state, as after most I/Os.
    let mut wakes = by.watts.wakes.iter();
    let found = wakes.find_map(|wake| Some((wake, wake.joules?)));
    let Some((wake, joules)) = found else {
        let why = by.watts.wakes.first().and_then(|wake| wake.why.as_deref());
        let why = why.unwrap_or("");
        return WakeEnergy {
            interrupt_joules: by.stays(&base.interrupt_joules, why),
            timer_joules: by.stays(&base.timer_joules, why),
        };
    };
    let from = wake.state.as_deref().unwrap_or("what the kernel chooses");
    let [slow, fast] = wake.rates;
    let what = format!(
        "wakes by a timer from {from}, {fast:.0} and {slow:.0} a second and core, less {:.0} ns each at the watts of spinning",
        wake.busy_ns
    );
    let timer_joules = by.measured(&joules, 0.0, &what);
    WakeEnergy {
        interrupt_joules: Figure {
            kind: FigureKind::Derived,
            source: format!(
                "as timer_joules, in which setting the timer is not: {}",
                timer_joules.source
            ),
            ..timer_joules.clone()
        },
        timer_joules,
    }
}
