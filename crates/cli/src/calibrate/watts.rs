//! `joulio calibrate --watts`: measures this machine's watts with its meters.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::{Failure, say};
use crate::output::print;
use crate::power::interval;
use crate::power_log::LogArgs;
use crate::progress::bar;
use indicatif::ProgressBar;
use joulio_energy::Discovery;
use joulio_energy::alignment::Shape;
use joulio_lab::calibrate::watts::{
    MeasuredWatts, Rounds, WattsCalibration, WattsError, WattsRecord, WattsRequest,
};
use joulio_lab::meters;
use joulio_lab::power_log::read_log;
use joulio_lab::statistics::Interval;
use joulio_lab::virtual_time::CoreFrequency;
use joulio_units::Nanos;
use joulio_workload::{Spoiled, Stop};
use std::path::{Path, PathBuf};

/// Flags of `joulio calibrate --watts`.
#[derive(clap::Args)]
pub struct WattsArgs {
    /// Also measure this machine's watts, with the meters of its package or else of the wall: of a core that spins,
    /// pauses, waits with tpause or umwait, or idles; of what cores share; and the joules of a wake-up. Uses every
    /// core, for some seconds for each state and round of --rounds. Nothing else should run
    #[arg(long)]
    watts: bool,
    /// Meters to read, a list as for joulio power
    #[arg(long, value_name = "METER", value_delimiter = ',', requires = "watts")]
    meter: Vec<String>,
    /// States to measure in addition to spinning, a list: pause, tpause, umwait, wake, or names of the kernel's idle
    /// states, such as C1E. Default: all
    #[arg(long, value_name = "STATE", value_delimiter = ',', requires = "watts")]
    states: Vec<String>,
    /// Seconds of each measurement of a state (or 1500ms), at least 1. A round has two to six measurements of each
    /// state
    #[arg(long, default_value = "2", value_parser = interval, requires = "watts")]
    window: Nanos,
    /// Measure spinning at each of these clocks, a list such as 3GHz,1.2GHz, and all else at the highest, to show how
    /// watts follow the clock. The kernel's limit for the clock is changed meanwhile, and restored
    #[arg(
        long,
        value_name = "FREQUENCY",
        value_delimiter = ',',
        requires = "watts"
    )]
    frequencies: Vec<CoreFrequency>,
    /// Without a meter: do the same work while a logger records at the plug, between two markers, and save the times
    /// in this file. If the file exists, continue with it. Needs a --window of at least 10 s
    #[arg(long, value_name = "FILE.json", requires = "watts",
        conflicts_with_all = ["write_profile", "check", "meter", "power_log"])]
    record: Option<PathBuf>,
    /// Export of the logger that recorded at the plug meanwhile; --windows names the file of --record
    #[arg(long, value_name = "LOG.csv", requires_all = ["watts", "windows"],
        conflicts_with_all = ["meter", "states", "frequencies"])]
    power_log: Option<PathBuf>,
    /// File that --record wrote
    #[arg(long, value_name = "FILE.json", requires = "power_log")]
    windows: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
    /// Read meters, cores and idle states of the tree under this folder, captured on another
    /// machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true, requires = "watts")]
    root: Option<PathBuf>,
}

/// Source of watts.
pub enum WattsSource {
    /// No watts are requested.
    None,
    /// Meters of this machine.
    Meters(Box<(WattsCalibration, Discovery)>),
    /// A logger's record, which has been read.
    Log(Box<(MeasuredWatts, Vec<Spoiled>)>),
}

impl WattsArgs {
    /// Checks the request.
    pub fn source(&self, rounds: u32, strict: bool) -> Result<WattsSource, Failure> {
        if let Some((log, windows)) = self.power_log.as_ref().zip(self.windows.as_ref()) {
            let record = WattsRecord::load(windows)?;
            let log = read_log(log, &self.log.options())?;
            return Ok(WattsSource::Log(Box::new(record.watts(&log)?)));
        }
        if !self.watts {
            return Ok(WattsSource::None);
        }
        let root = meters::root(self.root.as_deref())?;
        let mut discovery = meters::discover(&root, &self.meter)?;
        let calibration = self.calibration(rounds, strict)?;
        calibration.check_meters(&mut discovery)?;
        Ok(WattsSource::Meters(Box::new((calibration, discovery))))
    }

    /// Returns the file for the windows, if only their recording is requested.
    pub fn record(&self) -> Option<&Path> {
        self.record.as_deref()
    }

    /// Returns the calibration that the flags describe.
    pub fn calibration(&self, rounds: u32, strict: bool) -> Result<WattsCalibration, Failure> {
        let request = WattsRequest {
            root: self.root.clone().unwrap_or_else(|| "/".into()),
            rounds: Rounds {
                blocks: rounds,
                window: self.window,
            },
            states: self.states.clone(),
            frequencies: self.frequencies.clone(),
            strict,
        };
        Ok(WattsCalibration::new(request)?)
    }
}

/// Measures with a progress bar.
pub fn run(
    watts: WattsCalibration,
    discovery: &mut Discovery,
    stop: &Stop,
) -> Result<(MeasuredWatts, Vec<Spoiled>), WattsError> {
    let bar = windows(&watts);
    let done = watts.run(discovery, stop, &say, &mut || bar.inc(1));
    bar.finish_and_clear();
    done
}

/// Runs all measurements while a logger records at the plug, and prints the next steps.
pub fn record(watts: WattsCalibration, file: &Path, stop: &Stop) -> Outcome {
    let bar = windows(&watts);
    let done = watts.record(file, &Shape::default(), stop, &say, &mut || bar.inc(1));
    bar.finish_and_clear();
    let spoiled = done?.spoiled;
    for spoiled in spoiled {
        print(&format!("spoiled: {}\n", spoiled.why))?;
    }
    let file = file.display();
    print(&format!(
        "{file} has the windows. Export the logger's record, and take the watts from it:\n\
         joulio calibrate --watts --power-log LOG.csv --windows {file} --write-profile here.toml\n"
    ))
}

fn windows(watts: &WattsCalibration) -> ProgressBar {
    bar(
        watts.windows(),
        "watts [{bar:40}] {percent:>3} %  {elapsed}",
    )
}

/// Formats the watts as a table.
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
    let clocks = watts
        .clocks
        .iter()
        .filter(|clock| clock.above_idle.is_some());
    let clocks: Vec<Vec<String>> = clocks
        .map(|clock| {
            let name = format!("core, spin at {} GHz", clock.hertz / 1e9);
            row(name, three(clock.above_idle, 1.0, 3), none())
        })
        .collect();
    if !clocks.is_empty() {
        let header = ["", "W", "from", "to", "", ""];
        text.push_str(&format!("\n{}", columns(header, clocks, 1)));
    }
    for clock in &watts.clocks {
        if let Some(why) = &clock.why {
            let ghz = clock.hertz / 1e9;
            text.push_str(&format!("spin at {ghz} GHz: not measured: {why}\n"));
        }
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
