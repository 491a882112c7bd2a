//! Power states of a controller: reports, and changes that stay or are held for a while.

mod drive;
mod json;
mod latency;
mod measured;

pub use drive::ReadableController;
pub use latency::{
    Bounds, MeasuredLatencies, StateLatency, StateToMeasure, StatefulDrive, measure_latencies,
};
pub use measured::{MeasureOptions, MeasuredState, MeasuredStates, StateWatts, measure_states};

use crate::controller_name::NamedController;
use crate::error::OpenError;
use crate::meters::MetersError;
use crate::pause::pause;
use joulio_emulator::PowerUse;
use joulio_energy::{Clock, Energy, MeterError, Meters, Monotonic};
use joulio_host::energy_sources::device_meter;
use joulio_host::power_states::{FeatureRequest, PowerStatus};
use joulio_host::{ChangeError, Changes};
use joulio_nvme::NvmeError;
use joulio_units::Nanos;
use joulio_workload::Stop;
use std::io;
use std::sync::Arc;

/// Reason why power states cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum PowerStatesError {
    /// A feature could not be changed or restored.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
    /// The controller fails a command.
    #[error(transparent)]
    Controller(#[from] NvmeError),
    /// The controller cannot be opened.
    #[error(transparent)]
    Open(#[from] Box<OpenError>),
    /// The meters of the machine are unavailable.
    #[error(transparent)]
    Meters(#[from] MetersError),
    /// The kernel has no namespace of the controller.
    #[error("{0}: no namespace in /sys/block to read: attach one (nvme attach-ns)")]
    NoNamespace(String),
    /// A read fails.
    #[error("reading: {0}")]
    Read(io::Error),
    /// A signal ended the measurement.
    #[error("not all power states were measured")]
    Interrupted,
    /// The system cannot start a thread to read the meters.
    #[error(transparent)]
    Meter(io::Error),
}

impl PowerStatesError {
    /// Returns true if nothing was read from the controller, and nothing is left changed.
    pub fn is_refusal(&self) -> bool {
        match self {
            PowerStatesError::Change(error) => !error.leaves_changes(),
            PowerStatesError::Open(_)
            | PowerStatesError::Meters(_)
            | PowerStatesError::NoNamespace(_) => true,
            PowerStatesError::Controller(_)
            | PowerStatesError::Read(_)
            | PowerStatesError::Interrupted
            | PowerStatesError::Meter(_) => false,
        }
    }
}

/// A controller with the state of its power.
#[derive(Debug)]
pub struct PowerReport {
    /// Name that the user gave the controller.
    pub device: String,
    /// Model number.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Power states, features and logs.
    pub status: PowerStatus,
    /// Time in each power state, if the controller is emulated.
    pub residency: Option<PowerUse>,
    /// Energy during the wait with the meter's notes, or the reason why there is none; `None`: there was no wait.
    pub measured: Option<Result<(Energy, Vec<String>), String>>,
}

impl PowerReport {
    /// Reads the report from `controller`.
    ///
    /// # Errors
    /// The controller fails a command.
    pub fn read(controller: &NamedController) -> Result<PowerReport, PowerStatesError> {
        let residency = controller.power_use();
        let admin = &controller.admin;
        Ok(PowerReport {
            device: admin.name().into(),
            model: admin.model(),
            serial: admin.serial(),
            status: PowerStatus::read(admin)?,
            residency,
            measured: None,
        })
    }
}

/// Makes changes that stay; returns what the controller reports afterwards. `note` receives lines for the user.
///
/// # Errors
/// A change fails, or the controller fails a command.
pub fn leave(
    requests: &[FeatureRequest],
    controller: &NamedController,
    note: impl Fn(&str),
) -> Result<PowerReport, PowerStatesError> {
    let mut made = Changes::new(note);
    made.features(&controller.admin, requests)
        .map_err(Box::new)?;
    made.leave();
    PowerReport::read(controller)
}

/// Makes changes, waits for `time` or until `stop` while the controller measures its power, if it can, and restores the
/// old values. Returns what the controller reported before that. `note` receives lines for the user.
///
/// # Errors
/// A change fails or cannot be restored, or the controller fails a command.
pub fn hold(
    requests: &[FeatureRequest],
    controller: &NamedController,
    time: Nanos,
    stop: &Stop,
    note: impl Fn(&str),
) -> Result<PowerReport, PowerStatesError> {
    let mut made = Changes::new(note);
    made.features(&controller.admin, requests)
        .map_err(Box::new)?;
    let result = measure(controller, time, stop);
    let back = made.finish();
    let report = result?;
    back.map_err(Box::new)?;
    Ok(report)
}

/// Waits for `time` or until `stop`, and returns what the controller and its meter report.
fn measure(
    controller: &NamedController,
    time: Nanos,
    stop: &Stop,
) -> Result<PowerReport, PowerStatesError> {
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    let admin = &controller.admin;
    let control = Arc::clone(admin.control());
    let meter = device_meter(admin.name(), control, &*clock);
    let refused = meter.as_ref().err().map(MeterError::to_string);
    let mut meters = Meters::new(meter.into_iter().collect(), clock);
    let window = meters.open().map_err(PowerStatesError::Meter)?;
    pause(time, stop, |_| {});
    // Reads the power state before any other command, which could wake the controller.
    let mut report = PowerReport::read(controller)?;
    let measured = window.close(None);
    // Ends the measurement of the device, whose results can be read then.
    drop(meters);
    report.status.read_measurement(admin)?;
    report.measured = Some(match measured.into_iter().next() {
        Some(one) => {
            let figure = one.figure.map_err(|why| why.to_string());
            figure.map(|figure| (figure.total, one.about.notes))
        }
        None => Err(refused.unwrap_or_default()),
    });
    Ok(report)
}
