//! Metrics for Prometheus: a file for node_exporter's textfile collector, and an HTTP page.
//!
//! The page is OpenMetrics (openmetrics.io, 1.0) for clients that accept it. The collector reads Prometheus' text
//! format 0.0.4. Only metric types of both formats are used: infos are gauges.

use super::counter_file::{CounterFile, KeptCounters, KeptDevice, KeptEnergy};
use super::labels::{OfDevice, OfMeter};
use super::report::{DeviceRow, EnergyShare, MeterRow, StatReport};
use super::server::{ListenAddress, MetricsServer};
use super::text_format::text_format;
use crate::output_file::{Existing, OutputFile, OutputFileError};
use crate::printable::printable;
use crate::state_file::StateError;
use joulio_energy::Boundary;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfBuild {
    version: &'static str,
}

type Float<L> = Family<L, Counter<f64, AtomicU64>>;

/// Text with which the file begins.
const BEGINNING: &str = "# HELP joulio_";

/// Outputs of metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetricsOutputs<'a> {
    /// File for node_exporter.
    pub file: Option<&'a Path>,
    /// Address at which the page is served.
    pub listen: Option<ListenAddress>,
    /// File with which the counters continue after a restart.
    pub state: Option<&'a Path>,
}

/// Metrics since the command began, or since the state file was created.
pub struct Metrics {
    file: Option<OutputFile>,
    server: Option<MetricsServer>,
    state: Option<CounterFile>,
    /// Joules of every meter so far, including meters that are currently absent.
    joules: BTreeMap<OfMeter, f64>,
    /// I/Os and bytes of every device so far, including devices that are currently absent.
    moved: BTreeMap<OfDevice, (u64, u64)>,
    registry: Registry,
    energy: Float<OfMeter>,
    power: Family<OfMeter, Gauge<f64, AtomicU64>>,
    ios: Family<OfDevice, Counter>,
    bytes: Family<OfDevice, Counter>,
    /// Devices in the latest interval.
    devices: Vec<String>,
}

/// Parses the path of a file for the collector.
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

/// Reason why an output of metrics cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The file cannot be written, or belongs to another program.
    #[error("--textfile: {0}")]
    File(#[from] OutputFileError),
    /// The page cannot be served at the address.
    #[error("--listen {address}: {source}")]
    Listen {
        /// The address.
        address: ListenAddress,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The state file cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// The metrics cannot be formatted.
    #[error("the metrics: {0}")]
    Text(#[from] std::fmt::Error),
}

/// Opens the file `path`, which all users may read.
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
    /// Opens the outputs, with no figures except those of the state file. A metrics file from an earlier run is
    /// replaced.
    ///
    /// # Errors
    /// An output cannot be written or belongs to another program, or the state is damaged.
    pub fn open(outputs: MetricsOutputs<'_>) -> Result<Metrics, MetricsError> {
        let MetricsOutputs {
            file: path,
            listen,
            state,
        } = outputs;
        let server = listen.map(|address| {
            let failed = |source| MetricsError::Listen { address, source };
            MetricsServer::begin(address).map_err(failed)
        });
        let mut metrics = Metrics::new();
        metrics.server = server.transpose()?;
        metrics.file = path.map(file).transpose()?;
        if let Some((file, kept)) = state.map(CounterFile::open).transpose()? {
            metrics.state = Some(file);
            metrics.restore(kept);
        }
        Ok(metrics)
    }

    fn new() -> Metrics {
        let mut metrics = Metrics {
            file: None,
            server: None,
            state: None,
            joules: BTreeMap::new(),
            moved: BTreeMap::new(),
            registry: Registry::with_prefix("joulio"),
            energy: Family::default(),
            power: Family::default(),
            ios: Family::default(),
            bytes: Family::default(),
            devices: Vec::new(),
        };
        let build = Family::<OfBuild, Gauge>::default();
        let version = env!("CARGO_PKG_VERSION");
        build.get_or_create(&OfBuild { version }).set(1);
        let registry = &mut metrics.registry;
        registry.register("build_info", "Version of joulio", build);
        registry.register_with_unit(
            "energy",
            "Energy since joulio stat began, or its state; domains lie within one another and are not to be added",
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
            "I/Os completed since joulio stat began, or its state",
            metrics.ios.clone(),
        );
        registry.register_with_unit(
            "device",
            "Bytes moved since joulio stat began, or its state",
            Unit::Bytes,
            metrics.bytes.clone(),
        );
        metrics
    }

    /// Adds the figures of an interval.
    pub fn add(&mut self, report: &StatReport) {
        for row in &report.meters {
            self.add_meter(row);
        }
        let is_gone = |name: &String| !report.devices.iter().any(|row| row.name == *name);
        let gone: Vec<_> = self.devices.extract_if(.., |name| is_gone(name)).collect();
        for name in gone {
            for direction in ["read", "write"] {
                let labels = OfDevice::new(&name, direction);
                self.ios.remove(&labels);
                self.bytes.remove(&labels);
            }
            let model = printable(&format!("model:{name}"));
            let all = self.joules.keys();
            for labels in all.filter(|of| of.modelled && of.meter == model) {
                self.energy.remove(labels);
                self.power.remove(labels);
            }
        }
        for row in &report.devices {
            self.add_device(row);
        }
    }

    /// Returns the address of the page, if there is one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(MetricsServer::address)
    }

    /// Writes the state file before the metrics file and the page, so that every counter that was visible can be
    /// continued.
    ///
    /// # Errors
    /// An output cannot be written.
    pub fn write(&mut self) -> Result<(), MetricsError> {
        let kept = self.state.is_some().then(|| self.kept());
        if let (Some(state), Some(kept)) = (&mut self.state, kept) {
            state.write(&kept)?;
        }
        let text = self.text()?;
        if let Some(file) = &self.file {
            file.write(&text_format(&text))?;
        }
        if let Some(server) = &self.server {
            server.publish(&text);
        }
        Ok(())
    }

    fn kept(&self) -> KeptCounters {
        let energy = self.joules.iter().map(|(labels, &joules)| KeptEnergy {
            labels: labels.clone(),
            joules,
        });
        let devices = self.moved.iter();
        let devices = devices.map(|(labels, &(ios, bytes))| KeptDevice {
            labels: labels.clone(),
            ios,
            bytes,
        });
        KeptCounters::new(energy.collect(), devices.collect())
    }

    fn restore(&mut self, kept: KeptCounters) {
        let energy = kept.energy.into_iter();
        self.joules
            .extend(energy.map(|kept| (kept.labels, kept.joules)));
        let devices = kept.devices.into_iter();
        self.moved
            .extend(devices.map(|kept| (kept.labels, (kept.ios, kept.bytes))));
    }

    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    fn add_meter(&mut self, row: &MeterRow) {
        let labels = OfMeter {
            domain: row.boundary.clone(),
            // Drivers name their sensors, and some readers do not accept all characters.
            place: printable(&row.place),
            meter: printable(&row.name),
            source: row.source.clone(),
            modelled: row.modelled,
        };
        self.add_energy(&labels, &row.all, row.goes_on);
    }

    fn add_energy(&mut self, labels: &OfMeter, share: &EnergyShare, goes_on: bool) {
        // An interval without a figure adds nothing, but the counter exists.
        let joules = share.joules.unwrap_or(0.0).max(0.0);
        let is_new = self.energy.get(labels).is_none();
        let sum = self.joules.entry(labels.clone()).or_default();
        let before = *sum;
        *sum += joules;
        // A counter from the state file continues from its value.
        let first = if is_new { before } else { 0.0 };
        self.energy.get_or_create(labels).inc_by(first + joules);
        match share.watts {
            Some(watts) => {
                self.power.get_or_create(labels).set(watts);
            }
            // The latest figure stays until the current window ends.
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
            let is_new = self.ios.get(&labels).is_none();
            let sum = self.moved.entry(labels.clone()).or_default();
            let (ios_before, bytes_before) = if is_new { *sum } else { (0, 0) };
            *sum = (sum.0.saturating_add(ios), sum.1.saturating_add(bytes));
            let counters = [
                (&self.ios, ios_before.saturating_add(ios)),
                (&self.bytes, bytes_before.saturating_add(bytes)),
            ];
            for (counter, more) in counters {
                counter.get_or_create(&labels).inc_by(more);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use openmetrics_parser::openmetrics::parse_openmetrics;
    use proptest::prelude::*;

    fn nowhere() -> Metrics {
        Metrics::new()
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
        let is_sample = |line: &&str| !line.starts_with('#') && !line.contains("build_info");
        let samples = text.lines().filter(is_sample);
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

    #[test]
    fn counters_go_on_from_the_state_and_over_an_absence() {
        let device = |ios| {
            let did = crate::DiskActivity {
                name: "sda".into(),
                interval: joulio_kernel_io::DiskUse {
                    reads: ios,
                    read_bytes: 4096 * ios,
                    ..Default::default()
                },
                on: Vec::new(),
            };
            StatReport {
                devices: vec![DeviceRow::new(&did)],
                ..report(meter("m", Some(1.5), false))
            }
        };
        let mut first = nowhere();
        first.add(&device(10));
        // The meter disappears and comes back.
        first.add(&report(meter("m", Some(1.5), false)));
        first.add(&device(1));
        let mut second = nowhere();
        second.restore(first.kept());
        // A device that is absent is not shown, but its counters are kept.
        assert!(lines(&second).is_empty());
        assert_eq!(second.kept(), first.kept());
        second.add(&device(5));
        let shown = lines(&second);
        for sample in [
            "joulio_energy_joules_total 6.0",
            "joulio_device_ios_total 16",
            "joulio_device_bytes_total 65536",
        ] {
            assert!(
                shown.iter().any(|line| line == sample),
                "{sample}: {shown:?}"
            );
        }
    }

    proptest! {
        /// A sensor's name, which its driver chooses, may contain any characters.
        #[test]
        fn whatever_a_meter_is_called_it_is_openmetrics(name in "\\PC{0,12}[\"\\\\\n{}]?.{0,12}") {
            let mut metrics = nowhere();
            metrics.add(&report(meter(&name, Some(1.0), false)));
            let text = metrics.text().expect("text");
            prop_assert!(parse_openmetrics(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn the_model_of_a_drive_that_is_gone_shows_no_power() {
        let did = crate::DiskActivity {
            name: "sdb".into(),
            interval: Default::default(),
            on: Vec::new(),
        };
        let mut row = DeviceRow::new(&did);
        row.model = Some(super::super::report::DeviceModel {
            modelled: true,
            source: "model of x".into(),
            all: meter("m", Some(5.0), false).all,
        });
        let with = StatReport {
            devices: vec![row],
            ..report(meter("m", None, false))
        };
        let mut metrics = nowhere();
        metrics.add(&with);
        assert!(lines(&metrics).contains(&"joulio_power_watts 5.0".to_owned()));
        metrics.add(&report(meter("m", None, false)));
        assert!(
            !lines(&metrics)
                .iter()
                .any(|line| line.contains("power_watts"))
        );
        metrics.add(&with);
        assert!(lines(&metrics).contains(&"joulio_energy_joules_total 10.0".to_owned()));
    }
}
