//! The file for node_exporter's textfile collector.
//!
//! OpenMetrics text (openmetrics.io, 1.0). The collector reads the Prometheus text format 0.0.4, in
//! which the lines UNIT and EOF are comments, and a counter's type and help, which stand without
//! `_total` here, belong to no sample: it takes the counters as untyped, and their values the same.

use super::report::{DeviceRow, EnergyShare, MeterRow, StatReport};
use crate::output_file::{Existing, OutputFile, OutputFileError};
use crate::printable::printable;
use joulio_energy::Boundary;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfMeter {
    /// The boundary.
    domain: String,
    place: String,
    meter: String,
    source: String,
    modelled: bool,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfDevice {
    device: String,
    direction: &'static str,
}

type Float<L> = Family<L, Counter<f64, AtomicU64>>;

/// Beginning of the file.
const BEGINNING: &str = "# HELP joulio_";

/// Figures since the command began.
pub struct Metrics {
    file: OutputFile,
    registry: Registry,
    energy: Float<OfMeter>,
    power: Family<OfMeter, Gauge<f64, AtomicU64>>,
    ios: Family<OfDevice, Counter>,
    bytes: Family<OfDevice, Counter>,
    /// The devices that are in the file.
    devices: Vec<String>,
}

/// Reads a path whose file the collector reads.
///
/// # Errors
/// The name does not end in `.prom`.
pub fn metrics_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() == Some(OsStr::new("prom")) {
        true => Ok(path),
        false => Err(format!(
            "'{text}' must end in .prom: node_exporter reads no other"
        )),
    }
}

/// File of metrics that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The file cannot be written, or is another program's.
    #[error("--openmetrics: {0}")]
    File(#[from] OutputFileError),
    /// The figures have no form as text.
    #[error("--openmetrics: {0}")]
    Text(#[from] std::fmt::Error),
}

/// Opens the file `path`, for everybody to read.
fn file(path: &Path) -> Result<OutputFile, OutputFileError> {
    let file = OutputFile::open(path, Existing::Replace)?;
    let is_ours = |text: &[u8]| text.is_empty() || text.starts_with(BEGINNING.as_bytes());
    if path.is_file() && !std::fs::read(path).is_ok_and(|text| is_ours(&text)) {
        return Err(OutputFileError::Foreign {
            path: path.into(),
            what: "joulio stat",
        });
    }
    Ok(file.for_all())
}

impl Metrics {
    /// Metrics without a figure so far, for `path`, where an earlier run may have left its own.
    ///
    /// # Errors
    /// The file cannot be written, or is another program's.
    pub fn open(path: &Path) -> Result<Metrics, MetricsError> {
        Ok(Metrics::new(file(path)?))
    }

    fn new(file: OutputFile) -> Metrics {
        let mut metrics = Metrics {
            file,
            registry: Registry::with_prefix("joulio"),
            energy: Family::default(),
            power: Family::default(),
            ios: Family::default(),
            bytes: Family::default(),
            devices: Vec::new(),
        };
        let registry = &mut metrics.registry;
        registry.register_with_unit(
            "energy",
            "Energy since joulio stat began; domains lie within one another and are not to be added",
            Unit::Joules,
            metrics.energy.clone(),
        );
        registry.register_with_unit(
            "power",
            "Mean power over the latest window of the meter",
            Unit::Other("watts".into()),
            metrics.power.clone(),
        );
        registry.register(
            "device_ios",
            "I/Os completed since joulio stat began",
            metrics.ios.clone(),
        );
        registry.register_with_unit(
            "device",
            "Bytes moved since joulio stat began",
            Unit::Bytes,
            metrics.bytes.clone(),
        );
        metrics
    }

    /// Adds the figures of an interval.
    pub fn add(&mut self, report: &StatReport) {
        report.meters.iter().for_each(|row| self.add_meter(row));
        let is_gone = |name: &String| !report.devices.iter().any(|row| row.name == *name);
        let gone: Vec<_> = self.devices.extract_if(.., |name| is_gone(name)).collect();
        for name in gone {
            for direction in ["read", "write"] {
                let labels = OfDevice::new(&name, direction);
                self.ios.remove(&labels);
                self.bytes.remove(&labels);
            }
        }
        for row in &report.devices {
            self.add_device(row);
        }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write(&self) -> Result<(), MetricsError> {
        Ok(self.file.write(&self.text()?)?)
    }

    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    fn add_meter(&self, row: &MeterRow) {
        let labels = OfMeter {
            domain: row.boundary.clone(),
            // Drivers name their sensors, and not every reader takes every character.
            place: printable(&row.place),
            meter: printable(&row.name),
            source: row.source.clone(),
            modelled: row.modelled,
        };
        self.add_energy(&labels, &row.all, row.goes_on);
    }

    fn add_energy(&self, labels: &OfMeter, share: &EnergyShare, goes_on: bool) {
        // An interval without a figure adds nothing, and the counter is there all the same.
        let joules = share.joules.unwrap_or(0.0).max(0.0);
        self.energy.get_or_create(labels).inc_by(joules);
        match share.watts {
            Some(watts) => {
                self.power.get_or_create(labels).set(watts);
            }
            // The latest figure stands until its window ends.
            None if goes_on => {}
            None => {
                self.power.remove(labels);
            }
        }
    }

    fn add_device(&mut self, row: &DeviceRow) {
        let both = [
            ("read", row.read_ios, row.read_bytes),
            ("write", row.write_ios, row.write_bytes),
        ];
        for (direction, ios, bytes) in both {
            let labels = OfDevice::new(&row.name, direction);
            self.ios.get_or_create(&labels).inc_by(ios);
            self.bytes.get_or_create(&labels).inc_by(bytes);
        }
        if let Some(model) = &row.model {
            let labels = OfMeter {
                domain: Boundary::Device.to_string(),
                place: printable(&row.name),
                meter: printable(&format!("model:{}", row.name)),
                source: printable(&model.source),
                modelled: true,
            };
            self.add_energy(&labels, &model.all, false);
        }
        if !self.devices.contains(&row.name) {
            self.devices.push(row.name.clone());
        }
    }
}

impl OfDevice {
    fn new(device: &str, direction: &'static str) -> OfDevice {
        OfDevice {
            device: device.into(),
            direction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openmetrics_parser::openmetrics::parse_openmetrics;
    use proptest::prelude::*;

    fn nowhere() -> Metrics {
        Metrics::open(Path::new("/dev/null")).unwrap()
    }

    fn meter(name: &str, joules: Option<f64>, goes_on: bool) -> MeterRow {
        MeterRow {
            name: name.into(),
            boundary: "wall".into(),
            place: "machine".into(),
            source: "hwmon".into(),
            modelled: false,
            all: EnergyShare {
                idle_subtracted: false,
                joules,
                watts: joules,
                error_joules: None,
                band_joules: None,
                joules_per_io: None,
            },
            above_idle: None,
            window_seconds: None,
            ios: None,
            ios_of: Vec::new(),
            problem: None,
            goes_on,
        }
    }

    fn report(meter: MeterRow) -> StatReport {
        StatReport {
            time: 0.0,
            seconds: 1.0,
            devices: Vec::new(),
            meters: vec![meter],
            notes: Vec::new(),
        }
    }

    fn lines(metrics: &Metrics) -> Vec<String> {
        let text = metrics.text().expect("text");
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let bare = |line: &str| {
            let (name, rest) = line.split_once('{').expect("labels");
            format!("{name} {}", rest.rsplit(' ').next().expect("a value"))
        };
        samples.map(bare).collect()
    }

    #[test]
    fn a_lap_without_a_figure_leaves_the_counter_where_it_is() {
        let mut metrics = nowhere();
        let (energy, power) = ("joulio_energy_joules_total", "joulio_power_watts");
        metrics.add(&report(meter("m", None, false)));
        assert_eq!(lines(&metrics), [format!("{energy} 0.0")]);
        metrics.add(&report(meter("m", Some(5.5), false)));
        assert_eq!(
            lines(&metrics),
            [format!("{energy} 5.5"), format!("{power} 5.5")]
        );
        metrics.add(&report(meter("m", None, true)));
        assert_eq!(
            lines(&metrics),
            [format!("{energy} 5.5"), format!("{power} 5.5")]
        );
        metrics.add(&report(meter("m", None, false)));
        assert_eq!(lines(&metrics), [format!("{energy} 5.5")]);
    }

    proptest! {
        /// Drivers name their sensors.
        #[test]
        fn whatever_a_meter_is_called_it_is_openmetrics(name in "\\PC{0,12}[\"\\\\\n{}]?.{0,12}") {
            let mut metrics = nowhere();
            metrics.add(&report(meter(&name, Some(1.0), false)));
            let text = metrics.text().expect("text");
            prop_assert!(parse_openmetrics(&text).is_ok(), "{}", text);
        }
    }
}
