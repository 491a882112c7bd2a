//! Measured power states: latencies of their transitions, and watts in each.

use super::PowerStatesError;
use super::drive::{MeasuredDrive, ReadableController};
use super::latency::{Bounds, StateLatency, StateToMeasure, StatefulDrive, measure_latencies};
use joulio_energy::{Energy, FindingState, Meters, Root};
use joulio_host::Changes;
use joulio_host::energy_sources::add_device;
use joulio_host::power_states::FeatureRequest;
use joulio_nvme_spec::identify::PowerStateDescriptor;
use joulio_units::Nanos;
use joulio_workload::Stop;
use serde::Serialize;
use std::sync::Arc;

/// Shortest time without commands in a power state.
const MIN_SETTLE: Nanos = Nanos::from_millis(10);
/// Time without commands in a state whose latencies the vendor does not report.
const UNREPORTED_SETTLE: Nanos = Nanos::from_millis(100);

/// Wait before measuring: the drive's meter reports means over whole seconds, and the first one must be of this state
/// only.
const METER_SETTLE: Nanos = Nanos::from_millis(1_500);

/// Options of a measurement.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// Rounds of the latency measurement, of which the shortest times count.
    pub rounds: u32,
    /// Time over which watts are measured in each state.
    pub time: Nanos,
    /// Words that select meters of the machine, in addition to the drive's own.
    pub meters: Vec<String>,
}

/// Measured power states of a drive.
#[derive(Debug, Serialize)]
pub struct MeasuredStates {
    /// Name that the user gave the controller.
    pub device: String,
    /// Model number.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Rounds of the latency measurement, of which the shortest times count.
    pub rounds: u32,
    /// Smallest difference between latencies, in microseconds, that is not noise.
    pub noise_us: f64,
    /// Power states, from 0.
    pub states: Vec<MeasuredState>,
    /// Reasons why there are no watts, one line for each meter.
    pub unmetered: Vec<String>,
}

/// Measured power state, with its vendor's figures.
#[derive(Debug, Serialize)]
pub struct MeasuredState {
    /// Number of the state.
    pub ps: u8,
    /// True if the state is operational.
    pub operational: bool,
    /// Lower and upper bound of the time to enter it from power state 0, in microseconds; `None`: it is 0.
    pub entry_us: Option<(f64, f64)>,
    /// Vendor's maximum entry latency in microseconds (ENLAT); `None`: not reported.
    pub enlat_us: Option<u32>,
    /// Lower and upper bound of the time to leave it for power state 0, in microseconds; `None`: it is 0.
    pub exit_us: Option<(f64, f64)>,
    /// Vendor's maximum exit latency in microseconds (EXLAT); `None`: not reported.
    pub exlat_us: Option<u32>,
    /// Latency of the first read after a rest in the state, in microseconds.
    pub first_read_us: f64,
    /// Microseconds from setting the state, in power state 0, to the end of a read sent at once.
    pub set_and_read_us: f64,
    /// Vendor's maximum power in watts (MP).
    pub max_power_watts: f64,
    /// Watts without I/O, a figure for each meter.
    pub watts: Vec<StateWatts>,
}

/// Watts in a power state, measured by one meter.
#[derive(Debug, Serialize)]
pub struct StateWatts {
    /// Boundary of the meter.
    pub boundary: String,
    /// Source of the figure.
    pub source: String,
    /// True if the figure is a profile's.
    pub modelled: bool,
    /// Mean watts.
    pub watts: f64,
    /// Bound of the error in watts; `None`: not known.
    pub error_watts: Option<f64>,
}

/// Measures the power states of `drive`: first latencies, in rounds, then watts in each state. Autonomous transitions
/// are off during the measurement; they and the power state are restored afterwards. `note` receives lines for the
/// user.
///
/// # Errors
/// The drive fails a command or a read, the measurement was stopped, or a change cannot be restored.
pub fn measure_states(
    drive: &mut ReadableController,
    options: &MeasureOptions,
    stop: &Stop,
    note: impl Fn(&str),
) -> Result<MeasuredStates, PowerStatesError> {
    let control = Arc::clone(drive.controller.admin.control());
    let (device, model, serial) = {
        let admin = &drive.controller.admin;
        (admin.name().to_owned(), admin.model(), admin.serial())
    };
    let mut measured = MeasuredStates {
        device,
        model,
        serial,
        rounds: options.rounds,
        noise_us: 0.0,
        states: Vec::new(),
        unmetered: Vec::new(),
    };
    let requests = [
        control
            .identify_controller()
            .has_apst()
            .then_some(FeatureRequest::Apst(false)),
        Some(FeatureRequest::PowerState(0)),
    ];
    let requests: Vec<_> = requests.into_iter().flatten().collect();
    // A second handle for admin commands: the changes hold one while the drive is read.
    let admin = drive.controller.admin.again();
    let mut made = Changes::new(note);
    made.features(&admin, &requests).map_err(Box::new)?;
    let result = measure(drive, options, stop, &mut measured);
    let back = made.finish();
    result?;
    back.map_err(Box::new)?;
    Ok(measured)
}

fn measure(
    drive: &mut ReadableController,
    options: &MeasureOptions,
    stop: &Stop,
    measured: &mut MeasuredStates,
) -> Result<(), PowerStatesError> {
    let control = Arc::clone(drive.controller.admin.control());
    let described = control.identify_controller().power_states();
    let states: Vec<_> = (0..).zip(described).map(to_measure).collect();
    // Opens the meters first, so that invalid words are refused before the long measurement.
    let (found, refused) = meters(drive, options)?;
    let metered = !found.is_empty();
    drop(found);
    measured.unmetered = refused;
    let awake = control.power_management()?.with_ps(0);
    let mut drive = MeasuredDrive { drive, awake, stop };
    let latencies = measure_latencies(&mut drive, &states, options.rounds)?;
    measured.noise_us = latencies.noise.0 as f64 / 1e3;
    let each = states.iter().zip(latencies.states);
    for ((state, latency), described) in each.zip(described) {
        let mut found = MeasuredState::new(*state, latency, described);
        drive.set(state.ps)?;
        if metered {
            drive.rest(state.settle.max(METER_SETTLE))?;
        }
        // Opens the meters again, so that the mean that the drive computes covers this state only.
        let (mut meters, _) = meters(drive.drive, options)?;
        if !meters.is_empty() {
            let window = meters.open().map_err(PowerStatesError::Meter)?;
            drive.rest(options.time)?;
            for one in window.close(None) {
                match one.figure {
                    Ok(figure) => found.watts.push(StateWatts::new(&figure.total)),
                    Err(why) => {
                        let line = format!("ps {}: {}: {why}", state.ps, one.about.name);
                        measured.unmetered.push(line);
                    }
                }
            }
        }
        measured.states.push(found);
    }
    drive.set(0)
}

/// Returns the drive's own meter and those of the machine that `options` select, and the reasons why others are
/// missing.
fn meters(
    drive: &ReadableController,
    options: &MeasureOptions,
) -> Result<(Meters, Vec<String>), PowerStatesError> {
    let root = Root::system();
    let words = match options.meters.is_empty() {
        true => vec!["none".to_owned()],
        false => options.meters.clone(),
    };
    let mut discovery = crate::meters::discover(&root, &words)?;
    let admin = &drive.controller.admin;
    let control = Arc::clone(admin.control());
    add_device(admin.name(), control, &root, &mut discovery);
    let own = discovery.others.iter();
    let own = own.filter(|other| other.name.starts_with("nvme:"));
    let refused = own.map(|other| match &other.state {
        FindingState::Unreadable { why, .. }
        | FindingState::Absent { why, .. }
        | FindingState::Unused { why } => format!("{}: {why}", other.name),
    });
    Ok((discovery.meters, refused.collect()))
}

/// Returns how to measure the state `ps`, with a time after which the drive has certainly entered it.
fn to_measure((ps, state): (u8, &PowerStateDescriptor)) -> StateToMeasure {
    let reported = u64::from(state.enlat.get()) + u64::from(state.exlat.get());
    let settle = match reported {
        0 if ps > 0 => UNREPORTED_SETTLE,
        us => Nanos::from_micros(4 * us).max(MIN_SETTLE),
    };
    StateToMeasure {
        ps,
        operational: !state.power_state_flags().nops(),
        settle,
    }
}

impl MeasuredState {
    fn new(
        state: StateToMeasure,
        latency: StateLatency,
        described: &PowerStateDescriptor,
    ) -> MeasuredState {
        let us = |time: Nanos| time.0 as f64 / 1e3;
        let bounds = |bounds: Option<Bounds>| bounds.map(|of| (us(of.low), us(of.high)));
        let reported = |us: u32| (us > 0).then_some(us);
        MeasuredState {
            ps: state.ps,
            operational: state.operational,
            entry_us: bounds(latency.entry),
            enlat_us: reported(described.enlat.get()),
            exit_us: bounds(latency.exit),
            exlat_us: reported(described.exlat.get()),
            first_read_us: us(latency.first_read),
            set_and_read_us: us(latency.set_and_read),
            max_power_watts: described.max_power_microwatts() as f64 / 1e6,
            watts: Vec::new(),
        }
    }
}

impl StateWatts {
    fn new(energy: &Energy) -> StateWatts {
        let seconds = energy.window.seconds();
        StateWatts {
            boundary: energy.boundary.to_string(),
            source: energy.source.clone(),
            modelled: energy.modelled,
            watts: energy.watts().0,
            error_watts: energy.error.map(|error| error.0 / seconds),
        }
    }
}
