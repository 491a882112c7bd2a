//! What is shown of an interval. Names of fields end in their unit, which is SI's without prefix.

use joulio_energy::{Energy, MeterResult, Place, WindowError};
use joulio_kernel_io::Interval;
use joulio_lab::{DiskActivity, ShareOfIos};
use serde::Serialize;

/// An interval.
#[derive(Serialize)]
pub struct Report {
    /// Its end, in seconds since 1970.
    pub time: f64,
    /// How long it was, at the block devices.
    pub seconds: f64,
    pub devices: Vec<DeviceRow>,
    pub meters: Vec<MeterRow>,
    /// Devices that came and went.
    pub notes: Vec<String>,
}

/// A block device, as `iostat -x` has it.
#[derive(Serialize)]
pub struct DeviceRow {
    pub name: String,
    pub read_ios: u64,
    pub write_ios: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub read_ios_per_second: f64,
    pub write_ios_per_second: f64,
    pub read_bytes_per_second: f64,
    pub write_bytes_per_second: f64,
    /// The mean time of an I/O, in a queue and at the device; null without I/Os.
    pub await_seconds: Option<f64>,
    pub read_await_seconds: Option<f64>,
    pub write_await_seconds: Option<f64>,
    /// Mean I/Os outstanding.
    pub queue: f64,
    /// The part of the time in which any was outstanding.
    pub utilisation: f64,
    /// Devices of this list that it stands on: where its I/Os are counted, once.
    pub stands_on: Vec<String>,
}

/// A meter.
#[derive(Serialize)]
pub struct MeterRow {
    pub name: String,
    pub boundary: String,
    pub place: String,
    pub source: String,
    pub modelled: bool,
    #[serde(flatten)]
    pub all: Share,
    /// The same without what the idle machine would have used; null without an idle baseline.
    pub above_idle: Option<Share>,
    /// The window of this meter, which may be of several intervals.
    pub window_seconds: Option<f64>,
    /// Reads and writes in it, of `ios_of`.
    pub ios: Option<u64>,
    pub ios_of: Vec<String>,
    /// Why there is no figure, or no I/Os to divide it by.
    pub problem: Option<String>,
    /// There is none yet: its window goes on.
    #[serde(skip)]
    pub goes_on: bool,
}

/// An energy over I/Os.
#[derive(Serialize)]
pub struct Share {
    pub idle_subtracted: bool,
    pub joules: Option<f64>,
    pub watts: Option<f64>,
    /// How far `joules` may be from what the meter's hardware counted.
    pub error_joules: Option<f64>,
    pub joules_per_io: Option<f64>,
}

impl DeviceRow {
    pub fn new(device: &DiskActivity) -> DeviceRow {
        let did: &Interval = &device.interval;
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
        }
    }
}

impl MeterRow {
    /// `measured` over `ios`.
    pub fn new(measured: &MeterResult, ios: ShareOfIos) -> MeterRow {
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
            all: Share::new(total, count),
            above_idle: idle.map(|idle| Share::new(Some(idle), count)),
            window_seconds: total.map(|total| total.window.seconds()),
            ios: count.filter(|_| total.is_some()),
            problem: problem.or_else(|| ios.of.as_ref().err().cloned()),
            ios_of: ios.of.unwrap_or_default(),
            goes_on: matches!(measured.figure, Err(WindowError::TooShort { .. })),
        }
    }
}

impl Share {
    fn new(energy: Option<&Energy>, ios: Option<u64>) -> Share {
        let ios = ios.filter(|&ios| ios > 0);
        let joules = energy.map(|energy| energy.joules.0);
        Share {
            idle_subtracted: energy.is_some_and(|energy| energy.idle_subtracted),
            joules,
            watts: energy.map(|energy| energy.watts().0),
            error_joules: energy.and_then(|energy| energy.error).map(|error| error.0),
            joules_per_io: joules.zip(ios).map(|(joules, ios)| joules / ios as f64),
        }
    }
}

/// In words.
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
