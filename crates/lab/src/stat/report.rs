//! Figures of an interval. Names of fields end in their unit, an SI unit without a prefix.

use super::io_share::ShareOfIos;
use crate::disk_activity::DiskActivity;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use joulio_energy::{Boundary, Energy, MeterResult, Place, WindowError};
use joulio_kernel_io::DiskUse;
use serde::Serialize;

/// Figures of an interval.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatReport {
    /// End of the interval in seconds since 1970.
    pub time: f64,
    /// Seconds of the interval at the block devices.
    pub seconds: f64,
    /// Block devices.
    pub devices: Vec<DeviceRow>,
    /// Meters.
    pub meters: Vec<MeterRow>,
    /// Notes on devices that came and went.
    pub notes: Vec<String>,
}

impl StatReport {
    /// Returns date and time of the interval's end, in the time zone of this machine.
    pub fn date(&self) -> String {
        let time = Timestamp::from_millisecond((self.time * 1e3) as i64).unwrap_or_default();
        let zoned = time.to_zoned(TimeZone::system());
        zoned.strftime("%Y-%m-%d %H:%M:%S").to_string()
    }
}

/// Block device, with the columns of `iostat -x`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceRow {
    /// Name of the device.
    pub name: String,
    /// Reads completed.
    pub read_ios: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads a second.
    pub read_ios_per_second: f64,
    /// Writes a second.
    pub write_ios_per_second: f64,
    /// Bytes read a second.
    pub read_bytes_per_second: f64,
    /// Bytes written a second.
    pub write_bytes_per_second: f64,
    /// Mean time of an I/O, in a queue and at the device; `None` without I/Os.
    pub await_seconds: Option<f64>,
    /// Mean time of a read; `None` without reads.
    pub read_await_seconds: Option<f64>,
    /// Mean time of a write; `None` without writes.
    pub write_await_seconds: Option<f64>,
    /// Mean I/Os outstanding.
    pub queue: f64,
    /// Part of the time in which an I/O was outstanding, 0 to 1.
    pub utilisation: f64,
    /// Devices of this list beneath it, which count its I/Os.
    pub stands_on: Vec<String>,
    /// Modelled energy of the drive; `None`: it is not modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<DeviceModel>,
}

/// Energy of a drive by a profile and the kernel's counters. Nothing of it is measured.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceModel {
    /// True, always: the figures are a profile's.
    pub modelled: bool,
    /// Source of the figures: model of optane-900p.
    pub source: String,
    /// Energy of the interval.
    #[serde(flatten)]
    pub all: EnergyShare,
}

/// Figures of a meter.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeterRow {
    /// Name of the meter.
    pub name: String,
    /// Boundary of the meter.
    pub boundary: String,
    /// Place of the meter: package-0.
    pub place: String,
    /// Source of the figures.
    pub source: String,
    /// True if the figures are a profile's.
    pub modelled: bool,
    /// Energy of the window.
    #[serde(flatten)]
    pub all: EnergyShare,
    /// Energy without that of the idle machine; `None` without an idle baseline.
    pub above_idle: Option<EnergyShare>,
    /// Seconds of the meter's window, which may be of several intervals.
    pub window_seconds: Option<f64>,
    /// Reads and writes in the window, of `ios_of`.
    pub ios: Option<u64>,
    /// Devices whose I/Os are counted.
    pub ios_of: Vec<String>,
    /// Reason for which there is no figure, or no I/Os to divide it by.
    pub problem: Option<String>,
    /// True if there is no figure yet: the window goes on.
    #[serde(skip)]
    pub goes_on: bool,
}

/// Energy over I/Os.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyShare {
    /// True if the energy of the idle machine is subtracted.
    pub idle_subtracted: bool,
    /// Joules of the window.
    pub joules: Option<f64>,
    /// Mean watts of the window.
    pub watts: Option<f64>,
    /// Error bound of `joules` against the meter's hardware.
    pub error_joules: Option<f64>,
    /// Joules with the model's profiles at the lower and at the upper ends of their bands; `None`: measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band_joules: Option<(f64, f64)>,
    /// Joules an I/O.
    pub joules_per_io: Option<f64>,
}

impl DeviceRow {
    /// Creates the row of `device`.
    pub(super) fn new(device: &DiskActivity) -> DeviceRow {
        let did: &DiskUse = &device.interval;
        let seconds = |ms: Option<f64>| ms.map(|ms| ms / 1e3);
        DeviceRow {
            name: device.name.clone(),
            read_ios: did.reads,
            write_ios: did.writes,
            read_bytes: did.read_bytes,
            write_bytes: did.write_bytes,
            read_ios_per_second: did.rate(did.reads),
            write_ios_per_second: did.rate(did.writes),
            read_bytes_per_second: did.rate(did.read_bytes),
            write_bytes_per_second: did.rate(did.write_bytes),
            await_seconds: seconds(did.await_ms),
            read_await_seconds: seconds(did.read_await_ms),
            write_await_seconds: seconds(did.write_await_ms),
            queue: did.queue,
            utilisation: did.utilisation,
            stands_on: device.on.clone(),
            model: None,
        }
    }
}

impl MeterRow {
    /// Creates a row of the modelled `energy`, divided by the `ios` of `devices`; an error becomes the row's problem.
    pub(super) fn modelled(
        energy: Result<&Energy, String>,
        source: String,
        ios: u64,
        devices: Vec<String>,
    ) -> MeterRow {
        let figure = energy.as_ref().ok();
        MeterRow {
            name: "model:cores".into(),
            boundary: Boundary::Cores.to_string(),
            place: place(&Place::Machine),
            source,
            modelled: true,
            all: EnergyShare::new(figure.copied(), Some(ios)),
            above_idle: None,
            window_seconds: figure.map(|energy| energy.window.seconds()),
            ios: figure.map(|_| ios),
            ios_of: devices,
            problem: energy.err(),
            goes_on: false,
        }
    }

    /// Creates the row of `measured`, divided by `ios`.
    pub(super) fn new(measured: &MeterResult, ios: ShareOfIos) -> MeterRow {
        let about = &measured.about;
        let figure = measured.figure.as_ref();
        let count = ios.of.is_ok().then_some(ios.ios);
        let total = figure.ok().map(|figure| &figure.total);
        let problem = figure.err().map(ToString::to_string);
        let idle = figure.ok().and_then(|figure| figure.above_idle.as_ref());
        MeterRow {
            name: about.name.clone(),
            boundary: about.zone.boundary.to_string(),
            place: place(&about.zone.place),
            source: about.source.to_string(),
            modelled: about.modelled,
            all: EnergyShare::new(total, count),
            above_idle: idle.map(|idle| EnergyShare::new(Some(idle), count)),
            window_seconds: total.map(|total| total.window.seconds()),
            ios: count.filter(|_| total.is_some()),
            problem: problem.or_else(|| ios.of.as_ref().err().cloned()),
            ios_of: ios.of.unwrap_or_default(),
            goes_on: matches!(measured.figure, Err(WindowError::TooShort { .. })),
        }
    }
}

impl EnergyShare {
    /// Returns the error bound in joules: the meter's, or the distance to the farther end of the model's band.
    pub fn bound_joules(&self) -> Option<f64> {
        let of_band = |(low, high): (f64, f64)| {
            let joules = self.joules?;
            Some((joules - low).max(high - joules))
        };
        self.error_joules.or_else(|| of_band(self.band_joules?))
    }

    pub(super) fn new(energy: Option<&Energy>, ios: Option<u64>) -> EnergyShare {
        let ios = ios.filter(|&ios| ios > 0);
        let joules = energy.map(|energy| energy.joules.0);
        let band = energy.and_then(|energy| energy.band);
        EnergyShare {
            idle_subtracted: energy.is_some_and(|energy| energy.idle_subtracted),
            joules,
            watts: energy.map(|energy| energy.watts().0),
            error_joules: energy.and_then(|energy| energy.error).map(|error| error.0),
            band_joules: band.map(|band| (band.low.0, band.high.0)),
            joules_per_io: joules.zip(ios).map(|(joules, ios)| joules / ios as f64),
        }
    }
}

/// Returns the name of a place.
fn place(place: &Place) -> String {
    match place {
        Place::Machine => "machine".into(),
        Place::Package { package, die: None } => format!("package-{package}"),
        Place::Package {
            package,
            die: Some(die),
        } => format!("package-{package}-die-{die}"),
        Place::Part(name) => name.clone(),
        Place::Several(parts) => {
            let names: Vec<_> = parts.iter().map(self::place).collect();
            names.join(" + ")
        }
    }
}
