//! Comparison of two folders of results.

use super::folder::{FolderError, ResultsFolder, ResultsHeader};
use crate::manifest_device::device_setting;
use crate::record::{Platform, Point, RunRecord};
use crate::statistics::{Correction, SIGNIFICANCE, TTest, mean};
use joulio_workload::{Metric, MetricValue};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Figures that are compared if both folders have them.
const METRICS: [&str; 6] = [
    "iops",
    "latency_us",
    "p99_us",
    "cpu_us",
    "interrupts_per_io",
    "ios_per_joule",
];

/// Reason why results cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The folders have results of different experiments.
    #[error("{} has results of {experiment}, {} of {other_experiment}: name two folders of the same experiment", one.display(), other.display())]
    Experiments {
        /// First folder.
        one: PathBuf,
        /// Experiment of its results.
        experiment: String,
        /// Second folder.
        other: PathBuf,
        /// Experiment of its results.
        other_experiment: String,
    },
    /// The results are of platforms whose times cannot be compared.
    #[error("{} was run on {}, {} on {}: their times cannot be compared; name two of the same kind, or compare measured results with virtual time's by --model", one.display(), name(*platform), other.display(), name(*other_platform))]
    Platforms {
        /// First folder.
        one: PathBuf,
        /// Platform of its runs.
        platform: Platform,
        /// Second folder.
        other: PathBuf,
        /// Platform of its runs.
        other_platform: Platform,
    },
    /// A folder that has runs of several machines at one point, as merged ones may.
    #[error("{}: its runs are of several machines ({machines}), and a mean of them is of none: name a folder that has the results of one", path.display())]
    Machines {
        /// The folder.
        path: PathBuf,
        /// Names of the machines.
        machines: String,
    },
    /// A folder in which every run is kept apart or was not done.
    #[error("{} has no figures: every run of it is kept apart, or was not done", .0.display())]
    NoFigures(PathBuf),
    /// The folders have no run in common.
    #[error("{} and {} have no run in common: machines may differ, and so may devices where each has one", one.display(), other.display())]
    Nothing {
        /// First folder.
        one: PathBuf,
        /// Second folder.
        other: PathBuf,
    },
}

fn name(platform: Platform) -> &'static str {
    match platform {
        Platform::Real => "this kernel's or a real device",
        Platform::Emulated => "an emulated device",
        Platform::Guest => "a virtual machine",
        Platform::Twin => "virtual time",
    }
}

/// Runs of two folders compared with each other.
#[derive(Clone, Debug)]
pub struct ComparedRuns {
    /// Differences in machines, versions, devices, files and options, one a line.
    pub notes: Vec<String>,
    /// Figures of points that both have.
    pub points: Vec<ComparedPoint>,
    /// Number of points that only one folder has.
    pub alone: usize,
}

/// A figure of a point in both folders.
#[derive(Clone, Debug)]
pub struct ComparedPoint {
    /// Name of the sweep.
    pub sweep: String,
    /// Factors of the point in both folders.
    pub point: Point,
    /// The figure.
    pub metric: Metric,
    /// Means in the first folder and in the second.
    pub means: (f64, f64),
    /// Percent by which the second mean is above the first.
    pub percent: f64,
    /// Probability that chance alone makes a difference as large, corrected for all comparisons by Holm's rule; `None`:
    /// too few repetitions.
    pub p: Option<f64>,
}

impl ComparedPoint {
    /// Returns true if the difference is significant.
    pub fn differs(&self) -> bool {
        match self.p {
            Some(p) => p <= SIGNIFICANCE,
            // A model without noise is exact, so any difference counts.
            None => false,
        }
    }
}

/// Kinds of results that may be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Results of one platform: both from real devices, both from emulated ones, or both modelled.
    Alike,
    /// Measured results and the same runs in virtual time, which shows where the profiles are wrong.
    WithModel,
}

impl Kinds {
    /// Returns true if results of the platforms `one` and `other` may be compared.
    fn allow(self, one: Platform, other: Platform) -> bool {
        let modelled = [one, other].map(|platform| platform == Platform::Twin);
        one == other || (self == Kinds::WithModel && modelled[0] != modelled[1])
    }
}

/// Compares the results in the folder `one` with those in `other`.
///
/// # Errors
/// A folder cannot be read, or the results cannot be compared.
pub fn compare(one: &Path, other: &Path, kinds: Kinds) -> Result<ComparedRuns, CompareError> {
    let (a, b) = (ResultsFolder::read(one)?, ResultsFolder::read(other)?);
    if a.header.experiment != b.header.experiment {
        return Err(CompareError::Experiments {
            one: one.into(),
            experiment: a.header.experiment,
            other: other.into(),
            other_experiment: b.header.experiment,
        });
    }
    if !kinds.allow(a.header.platform, b.header.platform) {
        return Err(CompareError::Platforms {
            one: one.into(),
            platform: a.header.platform,
            other: other.into(),
            other_platform: b.header.platform,
        });
    }
    let mut notes = notes(&a, &b);
    // In virtual time, the file and the options are those of virtual time.
    let unlike = unlike_requests(&a.header, &b.header);
    notes.extend(unlike.filter(|_| kinds == Kinds::Alike));
    let renamed = renamed(&a, &b);
    let (a, b) = (points(&a, &renamed), points(&b, &renamed));
    for (points, path) in [(&a, one), (&b, other)] {
        if points.is_empty() {
            return Err(CompareError::NoFigures(path.into()));
        }
        if let Some(machines) = points.values().find_map(|runs| several_machines(runs)) {
            let path = path.into();
            return Err(CompareError::Machines { path, machines });
        }
    }
    let mut compared = Vec::new();
    for (key, runs) in &a {
        let Some(others) = b.get(key) else { continue };
        let metrics = METRICS.iter().filter_map(|name| name.parse().ok());
        compared.extend(metrics.filter_map(|metric| point(key, runs, others, (metric, kinds))));
    }
    if compared.is_empty() {
        return Err(CompareError::Nothing {
            one: one.into(),
            other: other.into(),
        });
    }
    correct(&mut compared);
    let common = a.keys().filter(|key| b.contains_key(*key)).count();
    Ok(ComparedRuns {
        notes,
        points: compared,
        alone: a.len() + b.len() - 2 * common,
    })
}

type Points<'a> = BTreeMap<(String, Point), Vec<&'a RunRecord>>;

fn devices(folder: &ResultsFolder) -> BTreeSet<&str> {
    let devices = folder
        .records
        .iter()
        .filter_map(|one| one.point.get("device"));
    devices.map(String::as_str).collect()
}

/// Returns the runs that count.
fn runs(folder: &ResultsFolder) -> impl Iterator<Item = &RunRecord> {
    let records = folder.records.iter();
    records.filter(|one| one.apart().is_none())
}

/// Returns the sweeps for which each folder has at most one device, with different names in the two: they are compared
/// without the device. With several devices it is not known which correspond.
fn renamed<'a>(a: &'a ResultsFolder, b: &'a ResultsFolder) -> BTreeSet<&'a str> {
    let devices = |folder: &'a ResultsFolder, sweep: &str| -> BTreeSet<&'a str> {
        let runs = runs(folder).filter(|one| one.sweep == sweep);
        let devices = runs.filter_map(|one| one.point.get("device"));
        devices.map(String::as_str).collect()
    };
    let mut sweeps: BTreeSet<&str> = runs(a).map(|one| one.sweep.as_str()).collect();
    sweeps.retain(|sweep| {
        let both = [devices(a, sweep), devices(b, sweep)];
        both[0] != both[1] && both.iter().all(|devices| devices.len() < 2)
    });
    sweeps
}

/// Returns the runs that count, by sweep and point; in the sweeps `renamed` the point has no device.
fn points<'a>(folder: &'a ResultsFolder, renamed: &BTreeSet<&str>) -> Points<'a> {
    let mut points: Points<'_> = BTreeMap::new();
    for record in runs(folder) {
        let mut point = record.point.clone();
        if renamed.contains(record.sweep.as_str()) {
            point.remove("device");
        }
        let key = (record.sweep.clone(), point);
        points.entry(key).or_default().push(record);
    }
    points
}

/// Returns the machines of `runs`, if they are several.
fn several_machines(runs: &[&RunRecord]) -> Option<String> {
    let machines: BTreeSet<&str> = runs.iter().map(|run| run.machine.as_str()).collect();
    (machines.len() > 1).then(|| machines.into_iter().collect::<Vec<_>>().join(", "))
}

fn point(
    (sweep, point): &(String, Point),
    runs: &[&RunRecord],
    others: &[&RunRecord],
    (metric, kinds): (Metric, Kinds),
) -> Option<ComparedPoint> {
    let values = |runs: &[&RunRecord]| -> Vec<MetricValue> {
        runs.iter()
            .filter_map(|run| metric.of(&run.result))
            .collect()
    };
    let (a, b) = (values(runs), values(others));
    let boundary = |value: &MetricValue| {
        let modelled = kinds == Kinds::Alike && value.modelled;
        // The source of modelled joules has the names of the devices.
        let meter = kinds == Kinds::Alike && !value.modelled;
        let energy = value.energy.as_ref();
        let energy = energy.map(|(boundary, source)| (*boundary, meter.then(|| source.clone())));
        (energy, modelled)
    };
    // Comparing modelled energy with modelled energy would say nothing about the machine.
    let models = a.iter().chain(&b).all(|value| value.modelled);
    if kinds == Kinds::WithModel && models && a.iter().any(|value| value.energy.is_some()) {
        return None;
    }
    let first = boundary(a.first()?);
    // Figures of different boundaries or meters cannot be compared.
    if a.iter().chain(&b).any(|value| boundary(value) != first) {
        return None;
    }
    let plain =
        |values: &[MetricValue]| -> Vec<f64> { values.iter().map(|one| one.value).collect() };
    let (a, b) = (plain(&a), plain(&b));
    let means = (mean(&a), mean(&b));
    (!b.is_empty() && (means.0 != 0.0 || means.1 != 0.0)).then(|| ComparedPoint {
        sweep: sweep.clone(),
        point: point.clone(),
        metric,
        means,
        percent: (means.1 / means.0 - 1.0) * 100.0,
        p: TTest::Welch.compare(&a, &b).map(|compared| compared.p),
    })
}

/// Corrects the probabilities for the number of comparisons.
fn correct(points: &mut [ComparedPoint]) {
    let p: Vec<f64> = points.iter().filter_map(|one| one.p).collect();
    let mut corrected = Correction::Holm.apply(&p).into_iter();
    for point in points.iter_mut().filter(|one| one.p.is_some()) {
        point.p = corrected.next();
    }
}

/// Returns the differences in machines, versions and devices.
fn notes(a: &ResultsFolder, b: &ResultsFolder) -> Vec<String> {
    let machines = |folder: &ResultsFolder| -> BTreeSet<String> {
        folder
            .records
            .iter()
            .map(|one| one.machine.clone())
            .collect()
    };
    let kernel = |folder: &ResultsFolder| -> BTreeSet<String> {
        let kernels = folder
            .manifests
            .iter()
            .filter_map(|one| one["manifest"]["kernel"].as_str());
        kernels.map(str::to_owned).collect()
    };
    let model = |folder: &ResultsFolder| -> BTreeSet<String> {
        let manifests = folder.manifests.iter();
        let models =
            manifests.filter_map(|one| one["manifest"]["energy"]["machine_profile"].as_str());
        models.map(str::to_owned).collect()
    };
    let words = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(", ");
    let parts = [
        ("machine", words(machines(a)), words(machines(b))),
        ("kernel", words(kernel(a)), words(kernel(b))),
        ("machine of the model", words(model(a)), words(model(b))),
        ("joulio", a.header.joulio.clone(), b.header.joulio.clone()),
        (
            "devices",
            words(owned(devices(a))),
            words(owned(devices(b))),
        ),
        (
            "APST and host memory of the devices",
            words(device_settings(a)),
            words(device_settings(b)),
        ),
        (
            "--quick",
            a.header.quick.to_string(),
            b.header.quick.to_string(),
        ),
    ];
    // Virtual time has no kernel release.
    let unlike = parts
        .into_iter()
        .filter(|(_, a, b)| a != b && !a.is_empty() && !b.is_empty());
    unlike
        .map(|(what, a, b)| format!("{what}: {a} and {b}"))
        .collect()
}

/// Returns a sentence if the folders' runs were requested by different files, or by one file with different options.
fn unlike_requests(a: &ResultsHeader, b: &ResultsHeader) -> Option<String> {
    if a.file != b.file {
        return Some("the experiment's file is not the same".into());
    }
    // The options have the version, and are others with --quick.
    let alike = a.joulio == b.joulio && a.quick == b.quick;
    let sweeps = a.sweeps.as_object().into_iter().flatten();
    let mut both = sweeps.filter_map(|(name, options)| Some((options, b.sweeps.get(name)?)));
    let differ = alike && both.any(|(one, other)| one != other);
    differ.then(|| "the options are not the same: such as --machine, --meter, --allow-write".into())
}

/// Returns the APST and host memory settings of the devices in real runs, if they were read.
fn device_settings(folder: &ResultsFolder) -> BTreeSet<String> {
    let manifests = folder.manifests.iter();
    let devices = manifests.filter_map(|one| one["manifest"]["devices"].as_array());
    let settings = devices.flatten().filter_map(|device| {
        let apst = device["apst"].as_bool();
        let bytes = device["host_memory_bytes"].as_u64();
        (apst.is_some() || bytes.is_some()).then(|| device_setting(apst, bytes))
    });
    settings.collect()
}

fn owned(set: BTreeSet<&str>) -> BTreeSet<String> {
    set.into_iter().map(str::to_owned).collect()
}
