//! `joulio calibrate --watts`: this machine's watts, by its meters.

use crate::columns::columns;
use crate::failure::{Failure, say};
use crate::power::interval;
use crate::progress::bar;
use joulio_energy::Discovery;
use joulio_lab::calibrate::watts::{
    MeasuredWatts, Rounds, WattsCalibration, WattsError, WattsRequest,
};
use joulio_lab::meters;
use joulio_lab::statistics::Interval;
use joulio_units::Nanos;
use joulio_workload::{Spoiled, Stop};
use std::path::PathBuf;

/// Flags of `joulio calibrate --watts`.
#[derive(clap::Args)]
pub struct WattsArgs {
    /// Measure this machine's watts too, by the meters of its package or else of the wall: of a core
    /// that spins, pauses, waits by tpause and umwait or idles, of what cores share, and joules of a
    /// wake-up. Every core is used, for --rounds times some seconds a state; nothing else should run
    #[arg(long)]
    watts: bool,
    /// Only these meters, a list, as joulio power has them
    #[arg(long, value_name = "METER", value_delimiter = ',', requires = "watts")]
    meter: Vec<String>,
    /// Only these states beside spinning, a list: pause, tpause, umwait, wake, or names of the
    /// kernel's idle states, as C1E
    #[arg(long, value_name = "STATE", value_delimiter = ',', requires = "watts")]
    states: Vec<String>,
    /// Length of each measurement of a state, of which a round has two to six: seconds (or 1500ms),
    /// at least 1
    #[arg(long, default_value = "2", value_parser = interval, requires = "watts")]
    window: Nanos,
    /// Read meters, cores and idle states of the tree under this folder, captured on another
    /// machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true, requires = "watts")]
    root: Option<PathBuf>,
}

impl WattsArgs {
    /// The meters, if watts are asked for.
    pub fn discover(&self) -> Result<Option<Discovery>, Failure> {
        if !self.watts {
            return Ok(None);
        }
        let root = meters::root(self.root.as_deref())?;
        Ok(Some(meters::discover(&root, &self.meter)?))
    }

    /// The measurement by the meters of `discovery`, if there is to be one.
    pub fn begin<'a>(
        &self,
        discovery: &'a mut Option<Discovery>,
        rounds: u32,
        strict: bool,
    ) -> Result<Option<WattsCalibration<'a>>, Failure> {
        let Some(discovery) = discovery else {
            return Ok(None);
        };
        let request = WattsRequest {
            root: self.root.clone().unwrap_or_else(|| "/".into()),
            rounds: Rounds {
                blocks: rounds,
                window: self.window,
            },
            states: self.states.clone(),
            strict,
        };
        Ok(Some(WattsCalibration::new(request, discovery)?))
    }
}

/// Measures, and shows how far it is.
pub fn run(
    watts: WattsCalibration<'_>,
    stop: &Stop,
) -> Result<(MeasuredWatts, Vec<Spoiled>), WattsError> {
    let bar = bar(
        watts.windows(),
        "watts [{bar:40}] {percent:>3} %  {elapsed}",
    );
    let done = watts.run(stop, &say, &mut || bar.inc(1));
    bar.finish_and_clear();
    done
}

/// The watts, for people.
pub fn table(watts: &MeasuredWatts) -> String {
    let three = |of: Option<Interval>, factor: f64, digits: usize| -> [String; 3] {
        of.map_or(["-".into(), "-".into(), "-".into()], |of| {
            [of.value, of.low, of.high].map(|end| format!("{:.digits$}", end * factor))
        })
    };
    let row = |name: String, figures: [String; 3], more: [String; 2]| -> Vec<String> {
        [name].into_iter().chain(figures).chain(more).collect()
    };
    let none = || [String::new(), String::new()];
    let mut rows = Vec::new();
    for awake in &watts.awake {
        let name = match awake.cores {
            0 => "whole, idle".to_owned(),
            1 => "whole, 1 core spins".to_owned(),
            n => format!("whole, {n} cores spin"),
        };
        rows.push(row(name, three(Some(awake.watts), 1.0, 2), none()));
    }
    rows.push(row(
        "shared, while one is awake".into(),
        three(Some(watts.uncore), 1.0, 2),
        none(),
    ));
    for state in watts
        .states
        .iter()
        .filter(|state| state.above_idle.is_some())
    {
        let saves = state
            .below_spin
            .map_or(String::new(), |below| format!("{:.3}", below.value));
        let inside = state
            .inside
            .map_or(String::new(), |share| format!("{:.0}", 100.0 * share));
        let name = format!("core, {}", state.name);
        rows.push(row(name, three(state.above_idle, 1.0, 3), [saves, inside]));
    }
    let from = |state: &Option<String>| match state {
        Some(state) => format!("wake from {state}"),
        None => "wake".to_owned(),
    };
    let header = ["", "W", "from", "to", "less than spin", "in it %"];
    let mut text = columns(header, rows, 1);
    let wakes = watts.wakes.iter().filter(|wake| wake.joules.is_some());
    let wakes: Vec<Vec<String>> = wakes
        .map(|wake| {
            row(
                from(&wake.state),
                three(wake.joules, 1e6, 1),
                [format!("{:.0}", wake.busy_ns), String::new()],
            )
        })
        .collect();
    if !wakes.is_empty() {
        let header = ["", "uJ", "from", "to", "beside ns", ""];
        text.push_str(&format!("\n{}", columns(header, wakes, 1)));
    }
    for state in &watts.states {
        if let Some(why) = &state.why {
            text.push_str(&format!("{}: not measured: {why}\n", state.name));
        }
    }
    for wake in &watts.wakes {
        if let Some(why) = &wake.why {
            text.push_str(&format!("{}: not measured: {why}\n", from(&wake.state)));
        }
    }
    text.push_str(&format!(
        "by {}, {} rounds; core: above an idle one; from and to: the 95 % interval, with the meter's error\n",
        watts.meter, watts.rounds
    ));
    text
}
