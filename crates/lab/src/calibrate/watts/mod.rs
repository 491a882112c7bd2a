//! Calibration of watts with the meters that can be read, or with a logger at the plug: watts of a core in each kind of
//! wait, of the parts that cores share, and of both at several clocks; joules of a wake-up.

mod activity;
mod bench;
mod block;
mod clock;
mod error;
mod figures;
mod found;
mod group;
mod metered;
mod plan;
mod profile;
mod protocol;
mod quiet;
mod record;
#[cfg(test)]
mod tests;
mod threads;
mod topology;

pub use block::Rounds;
pub use clock::{ClockLaw, ClockWatts};
use error::WORDS;
pub use error::WattsError;
pub use figures::{CoresAwake, MeasuredWatts, StateWatts, WakeJoules};
pub use profile::with_watts;
use record::MachineClock;
pub use record::{RecordedOn, WattsRecord};

use crate::power_log::{MarkerRecord, wall_time};
use crate::virtual_time::CoreFrequency;
use found::{Found, Spinning};
use group::{MeasuredGroup, Purpose};
use joulio_cpu::allowed_cpus;
use joulio_energy::Discovery;
use joulio_energy::alignment::{AlignmentLimits, Marker, Shape, align};
use joulio_energy::logger::PowerLog;
use joulio_host::{Knob, Knobs, Machine};
use joulio_model::MeteredAt;
use joulio_units::Nanos;
use joulio_workload::{Spoiled, Stop};
use metered::Metered;
use plan::Plan;
use protocol::Protocol;
use quiet::Quiet;
use std::path::{Path, PathBuf};
use threads::MeasuredCores;
use topology::Topology;

/// Shortest window in which a logger with a sample a second has enough samples.
const MIN_LOGGED_WINDOW: Nanos = Nanos::from_millis(10_000);

/// Options of a calibration of watts.
#[derive(Clone, Debug)]
pub struct WattsRequest {
    /// Root of the file tree in which meters, cores and idle states are read: `/`, or a captured one.
    pub root: PathBuf,
    /// Number and length of the measurements of each state.
    pub rounds: Rounds,
    /// Names of the states to measure beside spinning; empty: all.
    pub states: Vec<String>,
    /// Clocks to compare; empty: the kernel chooses the clock.
    pub frequencies: Vec<CoreFrequency>,
    /// True if the measurement ends as soon as other programs disturb it.
    pub strict: bool,
}

/// A checked calibration of watts, with the cores that it uses.
pub struct WattsCalibration {
    request: WattsRequest,
    topology: Topology,
    plan: Plan,
}

impl WattsCalibration {
    /// Returns the number of windows in all rounds.
    pub fn windows(&self) -> u64 {
        u64::from(self.plan.windows()) * u64::from(self.request.rounds.blocks)
    }

    /// Checks that the machine has the requested states and clocks, and at least two cores.
    ///
    /// # Errors
    /// There is only one core, there are fewer than two rounds, or the machine lacks a state or a clock.
    pub fn new(request: WattsRequest) -> Result<WattsCalibration, WattsError> {
        if request.rounds.blocks < 2 {
            return Err(WattsError::OneRound);
        }
        let allowed = allowed_cpus().map_err(|errno| WattsError::Pin { cpu: 0, errno })?;
        let topology = Topology::read(&request.root, &allowed);
        if topology.used.len() < 2 {
            return Err(WattsError::OneCore(topology.used.len()));
        }
        let mut plan = Plan::of(&request.root, &topology, &request.states);
        plan.clocks = clocks(&request)?;
        let idle: Vec<String> = plan.idle.iter().map(|state| state.name.clone()).collect();
        let unknown = |word: &&String| {
            let mut known = WORDS.into_iter().chain(idle.iter().map(String::as_str));
            !known.any(|name| name.eq_ignore_ascii_case(word))
        };
        if let Some(word) = request.states.iter().find(unknown) {
            let word = word.clone();
            return Err(WattsError::NoState { word, idle });
        }
        Ok(WattsCalibration {
            request,
            topology,
            plan,
        })
    }

    /// Checks that `discovery` found a usable meter.
    ///
    /// # Errors
    /// There is no such meter; the error has a reason for each.
    pub fn check_meters(&self, discovery: &mut Discovery) -> Result<(), WattsError> {
        Metered::of(discovery, &Stop::default()).map(drop)
    }

    /// Measures with the meters of `discovery`. Returns the watts, and the reasons why the measurement is spoiled if
    /// there are any. `report` receives a line about each setting that could not be restored; `tick` is called after
    /// each window.
    ///
    /// # Errors
    /// A meter fails, the difference between spinning and idling is not significant, or the measurement was stopped
    /// or spoiled.
    pub fn run(
        self,
        discovery: &mut Discovery,
        stop: &Stop,
        report: &dyn Fn(&str),
        tick: &mut dyn FnMut(),
    ) -> Result<(MeasuredWatts, Vec<Spoiled>), WattsError> {
        let WattsRequest { rounds, strict, .. } = self.request;
        let on = self.machine();
        let mut quiet = Quiet::begin_all(strict);
        let mut joules = Metered::of(discovery, stop)?;
        let (meter, boundary) = (joules.names(), joules.boundary());
        let named = |error| match error {
            WattsError::Indistinguishable { cores, within, .. } => WattsError::Indistinguishable {
                meter: meter.clone(),
                cores,
                within,
            },
            error => error,
        };
        let lag = joules.lag();
        let mut cores = self.cores(lag, &mut quiet, stop, report);
        let mut protocol = Protocol {
            rounds,
            cores: &mut cores,
            joules: &mut joules,
            tick,
        };
        let mut groups = Vec::new();
        for group in self.plan.groups() {
            let measured = protocol.measure(group)?;
            // Without a significant difference the half hour of comparisons would be useless.
            if let (Purpose::Spin, Ok(blocks)) = (measured.purpose, &measured.blocks) {
                Spinning::of(blocks, self.plan.used.max(2)).map_err(named)?;
            }
            groups.push(measured);
        }
        let spoiled = quiet.end_all();
        if let Some(first) = spoiled.first().filter(|_| strict) {
            return Err(WattsError::Spoiled(first.clone()));
        }
        let watts = watts(&self.plan, &groups, rounds, &on, (meter.clone(), boundary));
        Ok((watts.map_err(named)?, spoiled))
    }

    /// Runs the activities of [`WattsCalibration::run`] without a meter, between two markers of `shape`, and records
    /// them group by group in the file `path`. An existing file is continued.
    ///
    /// # Errors
    /// The file cannot be read or written, or belongs to another plan; the windows are too short for a logger; or the
    /// measurement was stopped or spoiled.
    pub fn record(
        self,
        path: &Path,
        shape: &Shape,
        stop: &Stop,
        report: &dyn Fn(&str),
        tick: &mut dyn FnMut(),
    ) -> Result<WattsRecord, WattsError> {
        let rounds = self.request.rounds;
        if rounds.window < MIN_LOGGED_WINDOW {
            return Err(WattsError::ShortWindow);
        }
        let fresh = WattsRecord::new(self.plan.clone(), rounds, self.machine());
        let mut record = match path.exists() {
            false => fresh,
            true => {
                let record = WattsRecord::load(path)?;
                if !record.is_of(&fresh) {
                    return Err(WattsError::AnotherPlan(path.into()));
                }
                record
            }
        };
        // Saves the file first, to find out before hours of measurement that it cannot be written.
        record.save(path)?;
        let marker = || -> Result<MarkerRecord, WattsError> {
            let made: Result<Marker, _> = shape.make(stop.flag());
            let made = made.map_err(|_| WattsError::Interrupted)?;
            Ok(MarkerRecord::from(&made))
        };
        record.markers.push(marker()?);
        for group in record.left() {
            let mut quiet = Quiet::begin_all(self.request.strict);
            let mut cores = self.cores(Nanos::ZERO, &mut quiet, stop, report);
            record.record(group, &mut cores, &mut MachineClock { stop }, tick)?;
            let spoiled = quiet.end_all();
            if let Some(first) = spoiled.first().filter(|_| self.request.strict) {
                return Err(WattsError::Spoiled(first.clone()));
            }
            record.spoiled.extend(spoiled);
            record.save(path)?;
        }
        record.markers.push(marker()?);
        record.save(path)?;
        Ok(record)
    }

    fn machine(&self) -> RecordedOn {
        let machine = Machine::read(&self.request.root, &[]);
        let unknown = || "unknown".to_string();
        RecordedOn {
            kernel: machine.kernel.value.unwrap_or_else(unknown),
            microcode: machine.cpu.microcode.value.unwrap_or_else(unknown),
            date: wall_time::utc(wall_time::now()).chars().take(10).collect(),
        }
    }

    fn cores<'a>(
        &'a self,
        lag: Nanos,
        quiet: &'a mut Quiet,
        stop: &'a Stop,
        report: &'a dyn Fn(&str),
    ) -> MeasuredCores<'a> {
        MeasuredCores {
            root: self.request.root.clone(),
            cpus: self.topology.used.clone(),
            lag,
            quiet,
            stop,
            report,
        }
    }
}

impl WattsRecord {
    /// Returns the watts of the record's windows, computed from `log`, and the reasons why they are spoiled.
    ///
    /// # Errors
    /// Windows are missing in the record or in the log, the log's clock cannot be determined, or the difference
    /// between spinning and idling is not significant.
    pub fn watts(&self, log: &PowerLog) -> Result<(MeasuredWatts, Vec<Spoiled>), WattsError> {
        let markers: Vec<Marker> = self.markers.iter().map(Marker::from).collect();
        let alignment = align(log, &markers, &AlignmentLimits::default());
        let alignment = alignment.map_err(crate::power_log::PowerLogError::from)?;
        let groups = self.measured(log, &alignment)?;
        let meter = match log.serials.as_slice() {
            [] => "logger".to_owned(),
            serials => format!("logger {}", serials.join(", ")),
        };
        let on = RecordedOn {
            kernel: self.kernel.clone(),
            microcode: self.microcode.clone(),
            date: self.date.clone(),
        };
        let by = (meter.clone(), MeteredAt::Wall);
        let watts = watts(&self.plan, &groups, self.rounds(), &on, by);
        let watts = watts.map_err(|error| match error {
            WattsError::Indistinguishable { cores, within, .. } => WattsError::Indistinguishable {
                meter: meter.clone(),
                cores,
                within,
            },
            error => error,
        })?;
        Ok((watts, self.spoiled.clone()))
    }
}

fn watts(
    plan: &Plan,
    groups: &[MeasuredGroup],
    rounds: Rounds,
    on: &RecordedOn,
    (meter, boundary): (String, MeteredAt),
) -> Result<MeasuredWatts, WattsError> {
    let found = Found::of(plan, groups)?;
    let RecordedOn {
        kernel,
        microcode,
        date,
    } = on.clone();
    Ok(MeasuredWatts {
        meter,
        boundary,
        cores_used: plan.used,
        cores: plan.cores,
        rounds: rounds.blocks,
        window_seconds: rounds.window.seconds(),
        kernel,
        microcode,
        date,
        idle_state: plan.deepest().map(|state| state.name.clone()),
        awake: found.awake,
        uncore: found.uncore,
        states: found.states,
        wakes: found.wakes,
        clocks: found.clocks,
    })
}

/// Returns the clocks of `request` in kHz, in falling order.
fn clocks(request: &WattsRequest) -> Result<Vec<u64>, WattsError> {
    let khz = |frequency: &CoreFrequency| (frequency.hertz() / 1e3).round() as u64;
    let mut clocks: Vec<u64> = request.frequencies.iter().map(khz).collect();
    clocks.sort_unstable_by(|one, other| other.cmp(one));
    clocks.dedup();
    if clocks.len() < request.frequencies.len() || clocks.len() == 1 {
        return Err(WattsError::Clocks("name two or more that differ".into()));
    }
    for khz in &clocks {
        let planned = Knobs::at(&request.root).plan(&Knob::MaxFrequency, &khz.to_string());
        planned.map_err(|error| WattsError::Clocks(error.to_string()))?;
    }
    Ok(clocks)
}
