//! Matching of an experiment's points with the runs of a source's published numbers.

use super::data::{Cell, Estimate, ReportData};
use crate::record::Point;
use crate::statistics::{SIGNIFICANCE, TTest};
use joulio_twin::check::judge::{self, Estimates, JudgedNumber, Verdict};
use joulio_twin::published::{Paper, PublishedNumber, RunSpec};
use joulio_workload::{CompletionMode, EngineName, Metric, ReadWrite};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// Published runs, and the points that correspond to them.
#[derive(Debug, Default)]
pub struct Answers {
    paper: Option<Paper>,
    /// Points by name of the published run; the point with the most repetitions comes first.
    points: HashMap<String, Vec<(String, Point)>>,
}

/// Factors that need not match a published run, as long as neither the source nor the experiment has several values.
#[derive(Debug, Default)]
struct Loose {
    device: bool,
    engine: bool,
    /// True if the source has only one scheduler, so that a device without schedulers may match it.
    scheduler: bool,
}

/// Records of the points that match a source's runs, found by the runs' names.
pub struct OfRecords<'a> {
    data: &'a ReportData,
    answers: &'a Answers,
    /// Number of comparisons that are made together; Bonferroni's correction divides the significance level by it.
    together: f64,
}

impl Answers {
    /// Finds the points of `data` that match the runs of `paper`.
    pub fn of(paper: Option<Paper>, data: &ReportData) -> Answers {
        let Some(paper) = paper else {
            return Answers::default();
        };
        let cells = data.cells().filter(|cell| !cell.runs.is_empty());
        let cells: Vec<&Cell> = cells.filter(|cell| !reads_keys(cell)).collect();
        let loose = Loose::of(&paper, &cells);
        let mut points = HashMap::new();
        for run in &paper.run {
            let matching = cells.iter().filter(|cell| answers(run, cell, &loose));
            let mut matching: Vec<_> = matching.collect();
            matching.sort_by_key(|cell| Reverse(cell.runs.len()));
            let place = |cell: &&&Cell| (cell.sweep.clone(), cell.point.clone());
            points.insert(run.name.clone(), matching.iter().map(place).collect());
        }
        Answers {
            paper: Some(paper),
            points,
        }
    }

    /// Returns the source.
    pub fn paper(&self) -> Option<&Paper> {
        self.paper.as_ref()
    }

    /// Returns the published value of `metric` at a point, or the ends of its range.
    pub fn printed(
        &self,
        sweep: &str,
        point: &Point,
        metric: Metric,
    ) -> Option<(f64, Option<f64>)> {
        let plain = |number: &&PublishedNumber| {
            number.metric == metric && number.minus.is_empty() && number.over.is_empty()
        };
        let here = |run: &String| {
            let found = self.points.get(run);
            found.is_some_and(|all| all.iter().any(|(of, at)| of == sweep && at == point))
        };
        let mut numbers = self.paper.iter().flat_map(|paper| &paper.number);
        let found = numbers
            .find(|number| plain(number) && matches!(number.run.as_slice(), [run] if here(run)));
        found.map(|number| (number.value, number.to))
    }

    /// Judges `number` by the points of `data` that match its runs; also returns true if one of the values is modelled.
    ///
    /// # Errors
    /// A run has no value, or the runs have energy of unlike boundaries.
    pub fn number(
        &self,
        number: &PublishedNumber,
        data: &ReportData,
    ) -> Result<(JudgedNumber, bool), String> {
        let mut estimates = self.estimates(data);
        let modelled = estimates.is_modelled(number)?;
        Ok((judge::number(number, &mut estimates)?, modelled))
    }

    /// Returns access to estimates in `data` by the names of published runs.
    pub fn estimates<'a>(&'a self, data: &'a ReportData) -> OfRecords<'a> {
        OfRecords {
            data,
            answers: self,
            together: 1.0,
        }
    }
}

impl OfRecords<'_> {
    /// Returns the same for one of `comparisons` comparisons that are made together.
    pub fn among(self, comparisons: usize) -> Self {
        OfRecords {
            together: comparisons.max(1) as f64,
            ..self
        }
    }

    fn cell(&self, run: &str) -> Result<&Cell, String> {
        let none = || format!("no run here matches the published run '{run}'");
        let places = self.answers.points.get(run);
        let (sweep, point) = places.and_then(|all| all.first()).ok_or_else(none)?;
        self.data.cell(sweep, point).ok_or_else(none)
    }

    /// Returns the estimate of `metric` at the point that matches `run`.
    pub fn found(&self, run: &str, metric: Metric) -> Result<Estimate, String> {
        let none = || format!("the run that matches '{run}' has no {metric}");
        self.cell(run)?.estimate(metric).ok_or_else(none)
    }

    /// Returns true if one of the values that `number` is computed from is modelled.
    fn is_modelled(&self, number: &PublishedNumber) -> Result<bool, String> {
        let runs = number.run.iter().chain(&number.minus).chain(&number.over);
        let found = runs.map(|run| self.found(run, number.metric));
        let found: Vec<Estimate> = found.collect::<Result<_, _>>()?;
        if let [first, rest @ ..] = found.as_slice()
            && !rest.iter().all(|other| first.is_of_boundary(other))
        {
            return Err("its runs have energy of unlike boundaries".into());
        }
        Ok(found.iter().any(|one| one.modelled))
    }
}

impl Estimates for OfRecords<'_> {
    type Error = String;

    fn estimate(&mut self, run: &str, metric: Metric) -> Result<judge::JudgedValue, String> {
        let found = self.found(run, metric)?;
        Ok(judge::JudgedValue {
            value: found.mean.value,
            half: found.noise(),
        })
    }

    fn rise(&mut self, from: &str, to: &str, metric: Metric, step: f64) -> Result<Verdict, String> {
        let (low, high) = (self.found(from, metric)?, self.found(to, metric)?);
        if self.answers.points.get(from) == self.answers.points.get(to) {
            return Err(format!("'{from}' and '{to}' are the same run here"));
        }
        if !low.is_of_boundary(&high) {
            return Err(format!(
                "'{from}' and '{to}' have energy of unlike boundaries"
            ));
        }
        let step = Step::of(&low, &high, step);
        Ok(step.verdict((step.p * self.together).min(1.0)))
    }

    fn refused(problem: String) -> String {
        problem
    }
}

/// A step from one estimate to another that should be larger.
pub(super) struct Step {
    /// True if the second mean is larger than required.
    above: bool,
    /// Probability that chance alone makes a difference as large; 1: not known.
    pub p: f64,
}

impl Step {
    /// Computes the step between `from` and `to`: whether the second is above `factor` times the first, with Welch's
    /// test if both were repeated.
    pub fn of(from: &Estimate, to: &Estimate, factor: f64) -> Step {
        let scaled: Vec<f64> = from.values.iter().map(|value| value * factor).collect();
        let compared = TTest::Welch.compare(&to.values, &scaled);
        // One run is enough in virtual time: only the seed varies.
        let exact = from.simulated && to.simulated;
        Step {
            above: to.mean.value > from.mean.value * factor,
            p: compared.map_or(if exact { 0.0 } else { 1.0 }, |compared| compared.p),
        }
    }

    /// Returns the verdict on the step as a rise, where `p` is its probability after correction.
    pub fn verdict(&self, p: f64) -> Verdict {
        match (p <= SIGNIFICANCE, self.above) {
            (false, _) => Verdict::Undecided,
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Fails,
        }
    }
}

impl Loose {
    fn of(paper: &Paper, cells: &[&Cell]) -> Loose {
        let one = |values: BTreeSet<Option<String>>| values.len() < 2;
        let here = |factor: &str| one(cells.iter().map(|cell| cell.factor(factor)).collect());
        let runs = &paper.run;
        let there = |value: fn(&RunSpec) -> Option<String>| one(runs.iter().map(value).collect());
        Loose {
            device: there(|run| Some(run.device.clone())),
            engine: there(|run| Some(run.method().engine.to_string())) && here("engine"),
            scheduler: runs
                .iter()
                .filter_map(|run| run.scheduler.as_ref())
                .collect::<BTreeSet<_>>()
                .len()
                < 2,
        }
    }
}

/// Returns true if the I/Os of `cell` are reads of RocksDB's keys, which no published run has.
fn reads_keys(cell: &Cell) -> bool {
    let engine = cell.runs.first().and_then(|run| run.result.engine);
    matches!(
        engine,
        Some(EngineName::DbBench | EngineName::DbBenchJoulio)
    )
}

/// Returns true if `cell` matches the published run `run`.
fn answers(run: &RunSpec, cell: &Cell, loose: &Loose) -> bool {
    let is = |factor: &str, value: String| cell.factor(factor) == Some(value);
    let method = run.method();
    let mode = || {
        cell.factor("completion")
            .and_then(|text| text.parse::<CompletionMode>().ok())
    };
    is("bs", run.bs.to_string())
        && is("iodepth", run.iodepth.to_string())
        && is("numjobs", run.numjobs.to_string())
        && mode() == Some(method.mode)
        && pattern(run, cell)
        && arrivals(run, cell)
        && devices(run, cell)
        && (loose.device
            || cell
                .factor("device")
                .is_some_and(|name| name.contains(&run.device)))
        && (loose.engine || engine(run, cell))
        && scheduler(run, cell, loose)
}

/// Returns true if the schedulers match; a device without schedulers may match if the source has only one.
fn scheduler(run: &RunSpec, cell: &Cell, loose: &Loose) -> bool {
    match (cell.factor("scheduler"), &run.scheduler) {
        (Some(here), there) => here == there.as_deref().unwrap_or("none"),
        (None, None) => true,
        (None, Some(_)) => loose.scheduler,
    }
}

/// Returns true if the engines match: the user-space driver stands for itself, and libaio or io_uring for psync at
/// depth.
fn engine(run: &RunSpec, cell: &Cell) -> bool {
    let asynchronous = ["libaio", "io_uring"];
    let here = cell.factor("engine").unwrap_or_default();
    let there = run.method().engine.to_string();
    here == there || (there == "psync" && run.iodepth > 1 && asynchronous.contains(&here.as_str()))
}

fn pattern(run: &RunSpec, cell: &Cell) -> bool {
    let rw = ReadWrite::random_mix(run.read_percent);
    let mixed = cell
        .factor("rwmixread")
        .and_then(|text| text.parse::<u8>().ok());
    let mixed = mixed.unwrap_or(50);
    cell.factor("rw") == Some(rw.to_string())
        && (rw != ReadWrite::RandRw || mixed == run.read_percent)
}

fn arrivals(run: &RunSpec, cell: &Cell) -> bool {
    // No published run has a stall.
    if cell.point.contains_key("thinktime") {
        return false;
    }
    let rate = cell.point.get("rate_iops").filter(|rate| *rate != "max");
    let rate = rate
        .and_then(|rate| rate.parse::<f64>().ok())
        .map(|rate| 1e6 / rate);
    match (run.every_us, rate) {
        (None, None) => true,
        (Some(run), Some(here)) => (run - here).abs() < 1e-6 * run,
        _ => false,
    }
}

fn devices(run: &RunSpec, cell: &Cell) -> bool {
    let here = cell
        .runs
        .first()
        .map_or(0, |record| record.result.devices.len());
    run.devices.max(1) == here
}
