//! Records by sweep and point, and estimates from them.

use super::spec::{OneOrMore, Where};
use super::value::sort_values;
use crate::record::{Platform, Point, RunRecord};
use crate::statistics::{Interval, TTest};
use joulio_units::Boundary;
use joulio_workload::{JobCounts, Metric, MetricValue};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Records of one experiment on one machine and one platform.
#[derive(Debug)]
pub struct ReportData {
    /// Platform of the runs.
    pub platform: Platform,
    /// Name of the CPU or of the machine's profile.
    pub machine: String,
    cells: BTreeMap<(String, Point), Cell>,
}

/// Repetitions of one point of a sweep.
#[derive(Debug)]
pub struct Cell {
    /// Name of the sweep.
    pub sweep: String,
    /// Factors of the point.
    pub point: Point,
    /// Runs that count, in the order of their repetitions.
    pub runs: Vec<RunRecord>,
    /// Runs that are kept apart.
    pub apart: Vec<KeptApart>,
}

/// A run that counts in no mean.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptApart {
    /// Repetition of the run.
    pub replicate: u32,
    /// Reason why it does not count.
    pub why: String,
    /// True if the run is unavailable here.
    pub unavailable: bool,
}

/// Estimate of a figure at a point: the values of its repetitions, with their mean and error.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Value of each repetition.
    pub values: Vec<f64>,
    /// Mean of the values with its 95 % interval, which is infinitely wide for a single value.
    pub mean: Interval,
    /// Mean with the model's parameters at the ends of their bands; `None`: not modelled energy.
    pub band: Option<(f64, f64)>,
    /// True for a modelled value, false for a measured one.
    pub modelled: bool,
    /// True if all of its runs were simulated, so that only the seed varies. Modelled energy of other runs is computed
    /// from measured times, with their noise.
    pub simulated: bool,
    /// Boundary and source of an energy figure.
    pub energy: Option<(Boundary, String)>,
}

impl ReportData {
    /// Splits records by platform and machine, so that values from different machines are never averaged. Records of
    /// the sweeps `standing_in` from a machine's emulated device are added to those of its real devices, if these have
    /// no such runs.
    pub fn sets(
        records: impl IntoIterator<Item = RunRecord>,
        standing_in: &[&str],
    ) -> Vec<ReportData> {
        let records: Vec<RunRecord> = records.into_iter().collect();
        let real: BTreeSet<(String, String)> = records
            .iter()
            .filter(|one| one.platform == Platform::Real)
            .map(|one| (one.machine.clone(), one.sweep.clone()))
            .collect();
        let stands_in = |record: &RunRecord| {
            let mut real = real
                .iter()
                .filter(|(machine, _)| *machine == record.machine);
            record.platform == Platform::Emulated
                && standing_in.contains(&record.sweep.as_str())
                && real.clone().next().is_some()
                && !real.any(|(_, sweep)| *sweep == record.sweep)
        };
        let mut sets: BTreeMap<(Platform, String), ReportData> = BTreeMap::new();
        for record in records {
            let platform = match stands_in(&record) {
                true => Platform::Real,
                false => record.platform,
            };
            let key = (platform, record.machine.clone());
            let set = sets.entry(key).or_insert_with(|| ReportData {
                platform,
                machine: record.machine.clone(),
                cells: BTreeMap::new(),
            });
            set.add(record);
        }
        let mut sets: Vec<_> = sets.into_values().collect();
        for cell in sets.iter_mut().flat_map(|set| set.cells.values_mut()) {
            cell.runs.sort_by_key(|run| run.replicate);
            cell.apart.sort();
        }
        sets
    }

    fn add(&mut self, record: RunRecord) {
        let key = (record.sweep.clone(), record.point.clone());
        let cell = match self.cells.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Cell {
                sweep: record.sweep.clone(),
                point: record.point.clone(),
                runs: Vec::new(),
                apart: Vec::new(),
            }),
        };
        match record.apart() {
            Some(why) => cell.apart.push(KeptApart {
                replicate: record.replicate,
                why,
                unavailable: record.is_unavailable(),
            }),
            None => cell.runs.push(record),
        }
    }

    /// Returns the points, sweep by sweep.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.values()
    }

    /// Returns the points of `sweep` whose factors have one of the values of `filter`.
    pub fn select<'a>(&'a self, sweep: &'a str, filter: &'a Where) -> Vec<&'a Cell> {
        let of_sweep = self.cells().filter(|cell| cell.sweep == sweep);
        of_sweep.filter(|cell| cell.is_in(filter)).collect()
    }

    /// Returns a point of a sweep.
    pub fn cell(&self, sweep: &str, point: &Point) -> Option<&Cell> {
        self.cells.get(&(sweep.to_owned(), point.clone()))
    }

    /// Returns the values of `factor` in `cells`, in a natural order.
    pub fn values(cells: &[&Cell], factor: &str) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for cell in cells {
            if let Some(value) = cell.factor(factor)
                && !values.contains(&value)
            {
                values.push(value);
            }
        }
        sort_values(factor, &mut values);
        values
    }
}

impl Cell {
    /// Returns the point's device, if it is an emulated one that is used in place of one of `platform`.
    pub fn stand_in(&self, platform: Platform) -> Option<String> {
        let emulated = |run: &RunRecord| run.platform == Platform::Emulated;
        let stands_in = platform == Platform::Real && self.runs.first().is_some_and(emulated);
        self.factor("device").filter(|_| stands_in)
    }

    /// Returns the value of `factor`: the point's or, if the sweep does not have this factor, that of the runs. An
    /// emulated device is named by its profile.
    pub fn factor(&self, factor: &str) -> Option<String> {
        if let Some(value) = self.point.get(factor) {
            return Some(plain(factor, value));
        }
        let result = &self.runs.first()?.result;
        Some(match factor {
            "device" => result.devices.join(","),
            "engine" => result.engine?.to_string(),
            "completion" => result.completion.requested.clone(),
            "rw" => result.rw?.to_string(),
            "bs" => result.bs.as_ref()?.to_string(),
            "iodepth" => result.iodepth?.to_string(),
            "numjobs" => result.numjobs.to_string(),
            _ => return None,
        })
    }

    /// Returns true if every factor of `filter` has one of its values.
    pub fn is_in(&self, filter: &Where) -> bool {
        filter.iter().all(|(factor, values)| {
            let value = self.factor(factor);
            value.is_some_and(|value| is_one_of(factor, &value, values))
        })
    }

    /// Returns the estimate of a count by its name; `None` if no run has it.
    pub fn count(&self, name: &str) -> Option<Estimate> {
        let values = self.runs.iter().filter_map(|run| run.counts.get(name));
        let values = values.map(|value| MetricValue {
            value: *value,
            modelled: false,
            band: None,
            energy: None,
        });
        Estimate::of(&values.collect::<Vec<_>>(), false)
    }

    /// Returns true if all runs were simulated.
    fn is_simulated(&self) -> bool {
        self.runs.iter().all(|run| run.result.modelled)
    }

    /// Returns the estimate of a figure of job `index`, from 0; `None` if no run has that job.
    pub fn of_job(&self, index: usize, figure: fn(&JobCounts) -> f64) -> Option<Estimate> {
        let good = self
            .runs
            .iter()
            .filter(|run| run.platform != Platform::Guest);
        let values = good.filter_map(|run| {
            let job = run.result.counts.as_ref()?.per_job.get(index)?;
            Some(MetricValue {
                value: figure(job),
                modelled: run.result.modelled,
                band: None,
                energy: None,
            })
        });
        Estimate::of(&values.collect::<Vec<_>>(), self.is_simulated())
    }

    /// Returns the estimate of a metric, or of a count by its name.
    pub fn estimate_of(&self, metric: Option<Metric>, count: Option<&str>) -> Option<Estimate> {
        match (metric, count) {
            (Some(metric), _) => self.estimate(metric),
            (None, Some(count)) => self.count(count),
            (None, None) => None,
        }
    }

    /// Returns the estimate of `metric`; `None` if no run has it, or runs have it at different boundaries. For runs in
    /// a guest only counts per I/O have estimates: their times are not valid.
    pub fn estimate(&self, metric: Metric) -> Option<Estimate> {
        let good = |run: &&RunRecord| run.platform != Platform::Guest || is_count(metric);
        let runs = self.runs.iter().filter(good);
        let found = runs.filter_map(|run| metric.of(&run.result));
        Estimate::of(&found.collect::<Vec<_>>(), self.is_simulated())
    }
}

/// Returns true for metrics that are counts per I/O and independent of time.
fn is_count(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Switches | Metric::InterruptsPerIo | Metric::Sleeps
    )
}

/// Returns a sentence on why `cells` have nothing to show of `metrics`; `needs` is what they need.
pub(super) fn no_data<'a>(
    cells: impl IntoIterator<Item = &'a Cell>,
    metrics: &[Metric],
    needs: Option<&str>,
) -> String {
    let cells: Vec<&Cell> = cells.into_iter().collect();
    let runs = || cells.iter().flat_map(|cell| &cell.runs);
    let none = runs().next().is_none();
    let apart = cells.iter().flat_map(|cell| &cell.apart);
    let apart: Vec<&KeptApart> = apart.collect();
    let because = match (apart.first(), needs) {
        (Some(first), _) if none => match apart.iter().all(|one| one.unavailable) {
            true => format!("it is unavailable here: {}", first.why),
            false => format!("every run of it was kept apart: {}", first.why),
        },
        (_, Some(needs)) => format!("it needs {needs}"),
        (_, None) if none => "no run of it was done".into(),
        (_, None) => {
            let energy = metrics.iter().any(|one| matches!(one, Metric::Energy(..)));
            let counts = runs().filter_map(|run| run.result.counts.as_ref());
            let mut unmetered = counts.flat_map(|counts| &counts.unmetered);
            match unmetered.next().filter(|_| energy) {
                Some(one) => format!("its runs have no figure of {}: {}", one.meter, one.why),
                None => "its runs have no figure of it, or figures of unlike sources".into(),
            }
        }
    };
    format!("No data here: {because}.")
}

/// Returns true if `value` of a factor is one of `values`; an emulated device is compared by its profile.
pub(crate) fn is_one_of(factor: &str, value: &str, values: &OneOrMore) -> bool {
    let value = plain(factor, value);
    values
        .values()
        .iter()
        .any(|one| plain(factor, one) == value)
}

/// Returns the `value` of a factor in the form that people use.
pub(super) fn plain(factor: &str, value: &str) -> String {
    match factor {
        "device" => device_name(value),
        "bs" | "queue_priority" => counted(value),
        _ => value.to_owned(),
    }
}

/// Shortens values that jobs take in turn by counting repeated ones: `7×4k:128k`.
fn counted(list: &str) -> String {
    let mut parts: Vec<(&str, usize)> = Vec::new();
    for part in list.split(':') {
        match parts.last_mut() {
            Some((last, count)) if *last == part => *count += 1,
            _ => parts.push((part, 1)),
        }
    }
    let text = |(part, count): (&str, usize)| match count {
        1 => part.to_owned(),
        count => format!("{count}×{part}"),
    };
    parts.into_iter().map(text).collect::<Vec<_>>().join(":")
}

/// Returns an emulated device's profile and parameters, without its size and its number among equal devices.
pub(super) fn device_name(device: &str) -> String {
    let Some(name) = device.strip_prefix("emulated:") else {
        return device.to_owned();
    };
    let name = name.split_once('#').map_or(name, |(name, _)| name);
    let parts = name.split(',').filter(|part| !part.starts_with("size="));
    parts.collect::<Vec<_>>().join(",")
}

impl Estimate {
    fn of(found: &[MetricValue], simulated: bool) -> Option<Estimate> {
        let first = found.first()?;
        let unlike =
            |one: &MetricValue| one.energy != first.energy || one.modelled != first.modelled;
        if found.iter().any(unlike) {
            return None;
        }
        let values: Vec<f64> = found.iter().map(|one| one.value).collect();
        let n = values.len() as f64;
        let bands = found.iter().map(|one| one.band);
        let bands: Option<Vec<_>> = bands.collect();
        let mean = |end: fn(&(f64, f64)) -> f64, bands: &[(f64, f64)]| {
            bands.iter().map(end).sum::<f64>() / n
        };
        Some(Estimate {
            mean: Interval::of(&values, 0.0),
            band: bands.map(|all| (mean(|band| band.0, &all), mean(|band| band.1, &all))),
            modelled: first.modelled,
            simulated,
            energy: first.energy.clone(),
            values,
        })
    }

    /// Returns half of the mean's 95 % interval; zero for a single simulated value, which has no noise.
    pub fn noise(&self) -> f64 {
        match self.simulated && self.values.len() < 2 {
            true => 0.0,
            false => self.mean.half(),
        }
    }

    /// Returns the ratio of the mean of `other` to this one, with the interval of Welch's test at `significance`.
    /// Simulated values need only one run; for a single run on a device, the interval is unknown.
    pub fn ratio_of(&self, other: &Estimate, significance: f64) -> Interval {
        let ratio = TTest::Welch.ratio(&other.values, &self.values, significance);
        let exact = self.simulated && other.simulated;
        ratio.unwrap_or_else(|| {
            let half = if exact { 0.0 } else { f64::INFINITY };
            Interval::around(other.mean.value / self.mean.value, half)
        })
    }

    /// Returns true if neither is an energy figure, or both have the same boundary and source; of two modelled figures
    /// only the boundary has to be the same, because the source contains the devices' names.
    pub fn is_of_boundary(&self, other: &Estimate) -> bool {
        let modelled = self.modelled && other.modelled;
        match (&self.energy, &other.energy) {
            (Some((one, _)), Some((another, _))) if modelled => one == another,
            (one, another) => one == another,
        }
    }

    /// Returns true if the model's bands of both overlap: then it is not known which is larger on a real machine,
    /// however many simulations there are.
    pub fn bands_overlap(&self, other: &Estimate) -> bool {
        match (self.band, other.band) {
            (Some(one), Some(other)) => one.0 <= other.1 && other.0 <= one.1,
            _ => false,
        }
    }
}
