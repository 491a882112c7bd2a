//! Plan of a campaign: its runs, their time, and what is unavailable here and why.

use super::shard::Shard;
use super::{Campaign, CampaignSweep};
use crate::experiment::Silent;
use crate::external::ExternalRun;
use crate::idle_interval::IdleProbe;
use crate::record::Point;
use crate::report::{TableKind, Where, is_one_of};
use crate::sweep::{
    Factor, PlannedRun, RealRunner, RunFailure, Runner, SweepOptions, VirtualRunner,
};
use joulio_units::Nanos;
use joulio_workload::{Arrivals, RunResult, Stop};
use std::collections::{BTreeMap, BTreeSet};

/// Virtual I/Os that one CPU simulates in a second, roughly.
const VIRTUAL_IOS: f64 = 400_000.0;

/// Plan of a campaign: its runs, their time, and what is unavailable.
#[derive(Clone, Debug)]
pub struct CampaignPlan {
    /// Sweeps, in the file's order.
    pub sweeps: Vec<PlannedSweep>,
    /// Tables and figures, in the file's order, tables first.
    pub items: Vec<PlannedItem>,
    /// Seconds of all runs whose length is known.
    pub seconds: f64,
    /// True if some runs are as long as their I/Os take.
    pub at_least: bool,
}

/// A sweep that would be run.
#[derive(Clone, Debug)]
pub struct PlannedSweep {
    /// Name of the sweep.
    pub name: String,
    /// Number of points.
    pub points: usize,
    /// Runs: points x repetitions, of the shard.
    pub runs: usize,
    /// Seconds of the runs whose length is known.
    pub seconds: f64,
    /// Parts that are unavailable, and why.
    pub unavailable: Vec<UnavailablePoints>,
    /// Device that stands in for those of the command line, which the sweep's engine does not drive.
    pub stand_in: Option<String>,
}

/// Points that are unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailablePoints {
    /// Description of the points: `psync poll`, `all`.
    pub what: String,
    /// Number of points.
    pub points: usize,
    /// Why.
    pub why: String,
}

/// A table or a figure.
#[derive(Clone, Debug)]
pub struct PlannedItem {
    /// Identifier of the experiment.
    pub id: String,
    /// Title of the experiment.
    pub title: String,
    /// Points that it shows.
    pub points: usize,
    /// Number of available points among them.
    pub available: usize,
    /// Why others cannot, the first reason.
    pub why: Option<String>,
}

/// Points of a sweep, each with the reason why it is unavailable.
type Reasons = BTreeMap<Point, Option<String>>;

impl Campaign {
    /// The plan of `shard`. One read with each method, setting and device shows which of them are available; nothing
    /// is written, and settings are put back.
    pub fn plan(&self, shard: Shard, stop: &Stop) -> CampaignPlan {
        let mut sweeps = Vec::new();
        let mut reasons: BTreeMap<&str, Reasons> = BTreeMap::new();
        let mut at_least = false;
        for sweep in &self.sweeps {
            let options = &sweep.layers.options;
            let mine = sweep.runs.iter().enumerate();
            let mine = mine.filter(|(at, _)| shard.has(sweep.first + at));
            let mine: Vec<&PlannedRun> = mine.map(|(_, run)| run).collect();
            let seconds = mine.iter().filter_map(|run| self.seconds(options, run));
            let seconds: f64 = seconds.sum::<f64>() + idle_seconds(sweep, &mine);
            at_least |= !self.in_virtual_time() && options.base.workload.number_ios.is_some();
            let points = sweep.axes.points();
            let found = self.reasons(options, &points, stop);
            sweeps.push(PlannedSweep {
                name: sweep.layers.name.clone(),
                points: points.len(),
                runs: mine.len(),
                seconds,
                unavailable: unavailable(&found),
                stand_in: self.stand_in(sweep),
            });
            reasons.insert(&sweep.layers.name, found);
        }
        for (name, why) in &self.refused {
            sweeps.push(PlannedSweep {
                name: name.clone(),
                points: 0,
                runs: 0,
                seconds: 0.0,
                unavailable: vec![UnavailablePoints {
                    what: "all".into(),
                    points: 0,
                    why: why.clone(),
                }],
                stand_in: None,
            });
        }
        CampaignPlan {
            items: self.items(&reasons),
            seconds: sweeps.iter().map(|sweep| sweep.seconds).sum(),
            sweeps,
            at_least,
        }
    }

    fn stand_in(&self, sweep: &CampaignSweep) -> Option<String> {
        let device = self.file.sweep.get(sweep.index)?.stand_in.as_ref()?;
        let given = self.on.devices.is_empty() || self.on.devices.contains(device);
        let used = sweep.axes.values(Factor::Device).contains(device);
        (used && !given).then(|| device.clone())
    }

    /// Seconds of a run; `None` where they hang on how fast the device is.
    fn seconds(&self, options: &SweepOptions, run: &PlannedRun) -> Option<f64> {
        let options = options.options_of(run).ok()?;
        let job = options.job().ok()?;
        let ramp = job.ramp_time.seconds();
        if !self.in_virtual_time() {
            return Some(ramp + job.runtime?.seconds());
        }
        let ios = match (job.number_ios, job.runtime) {
            (Some(ios), _) => ios as f64 * job.numjobs as f64,
            (None, runtime) => {
                let apart = match job.arrivals {
                    Arrivals::Every(apart) | Arrivals::Poisson(apart) => apart.seconds(),
                    // As if each took 10 us.
                    _ => 1e-5,
                };
                runtime?.seconds() / apart * job.numjobs as f64
            }
        };
        Some(ios / VIRTUAL_IOS)
    }

    /// Returns why each of `points` is unavailable, or that it is available: tried once for each device, method and
    /// setting, and checked for each point.
    fn reasons(&self, options: &SweepOptions, points: &[Point], stop: &Stop) -> Reasons {
        let short = short(options);
        let mut tried: BTreeMap<Vec<Option<&str>>, Option<String>> = BTreeMap::new();
        let runs: Vec<_> = points.iter().map(planned).collect();
        let mut trier = Trier::new(&short, &runs, stop);
        let mut reasons = Reasons::new();
        for (point, run) in points.iter().zip(&runs) {
            let unfit = trier.fits(run);
            let reason = unfit.or_else(|| {
                let key = DECIDING.map(|factor| factor.text(point)).to_vec();
                tried
                    .entry(key)
                    .or_insert_with(|| trier.attempt(run))
                    .clone()
            });
            reasons.insert(point.clone(), reason);
        }
        reasons
    }

    fn items(&self, reasons: &BTreeMap<&str, Reasons>) -> Vec<PlannedItem> {
        let file = &self.file;
        let tables = file.table.iter().map(|table| {
            let parts = vec![(table.sweep.as_deref(), &table.filter)];
            let needs = match table.kind {
                TableKind::PowerStates => Some("no run: it is of a device's profile"),
                _ => table.needs.as_deref(),
            };
            (&table.id, &table.title, parts, needs)
        });
        let figures = file.figure.iter().map(|figure| {
            let own = (figure.sweep.as_deref(), &figure.filter);
            let layers = figure.layer.iter();
            let layers = layers.map(|one| (one.sweep.as_deref(), &one.filter));
            let parts = [own].into_iter().chain(layers).collect();
            (&figure.id, &figure.title, parts, figure.needs.as_deref())
        });
        let all = tables.chain(figures);
        all.map(|(id, title, parts, needs)| {
            let (mut points, mut available, mut why) = (0, 0, None);
            for (sweep, filter) in parts {
                let Some(name) = sweep else { continue };
                let Some(found) = reasons.get(name) else {
                    let refused = self.refused.iter().find(|(other, _)| other == name);
                    why = why.or_else(|| refused.map(|(_, why)| why.clone()));
                    continue;
                };
                for (_, reason) in found.iter().filter(|(point, _)| is_in(point, filter)) {
                    points += 1;
                    available += usize::from(reason.is_none());
                    why = why.or_else(|| reason.clone());
                }
            }
            PlannedItem {
                id: id.clone(),
                title: title.clone(),
                points,
                available,
                why: why.or_else(|| {
                    let needs = needs.or(self.on.quick.then_some("no point of the short form"));
                    needs.filter(|_| points == 0).map(str::to_owned)
                }),
            }
        })
        .collect()
    }
}

/// Factors that decide whether a run is available at all.
const DECIDING: [Factor; 8] = [
    Factor::Device,
    Factor::Rw,
    Factor::Process,
    Factor::Frequency,
    Factor::MaxCstate,
    Factor::Scheduler,
    Factor::Engine,
    Factor::Completion,
];

/// Seconds of the idle intervals around the repetitions of `runs`; none where no meter can be read.
fn idle_seconds(sweep: &CampaignSweep, runs: &[&PlannedRun]) -> f64 {
    let idle = sweep.layers.idle;
    let repetitions: BTreeSet<u32> = runs.iter().map(|run| run.replicate).collect();
    if idle == Nanos::ZERO || repetitions.is_empty() {
        return 0.0;
    }
    match IdleProbe::new(idle, &sweep.layers.options.base.energy).has_meter() {
        true => idle.seconds() * (repetitions.len() + 1) as f64,
        false => 0.0,
    }
}

/// `options` with runs of one I/O, without a ramp.
fn short(options: &SweepOptions) -> SweepOptions {
    let mut short = options.clone();
    let workload = &mut short.base.workload;
    (workload.number_ios, workload.runtime) = (Some(1), None);
    workload.ramp_time = Some(Nanos::ZERO);
    workload.phases = Vec::new();
    short.base.replicates = 1;
    if short.base.twin.is_none() {
        short.base.energy.meters = vec!["none".into()];
    }
    short
}

fn planned(point: &Point) -> PlannedRun {
    PlannedRun {
        point: point.clone(),
        replicate: 1,
        order: 1,
    }
}

fn is_in(point: &Point, filter: &Where) -> bool {
    filter.iter().all(|(factor, values)| {
        let value = point.get(factor);
        value.is_none_or(|value| is_one_of(factor, value, values))
    })
}

/// Tries runs.
struct Trier<'a> {
    options: &'a SweepOptions,
    real: RealRunner<'a>,
    twin: Option<VirtualRunner<'a>>,
}

impl<'a> Trier<'a> {
    fn new(options: &'a SweepOptions, runs: &'a [PlannedRun], stop: &'a Stop) -> Trier<'a> {
        Trier {
            options,
            real: RealRunner::new(options, runs, stop),
            twin: match options.base.twin {
                Some(_) => VirtualRunner::new(options).ok(),
                None => None,
            },
        }
    }

    /// Why `run` makes no sense; `None`: it does.
    fn fits(&self, run: &PlannedRun) -> Option<String> {
        let experiment = match self.options.experiment(run) {
            Ok(experiment) => experiment,
            Err(why) => return Some(why.to_string()),
        };
        if self.twin.is_none() {
            let external = ExternalRun::of(&experiment)?;
            return external.check().err().map(|why| why.to_string());
        }
        experiment
            .in_virtual_time()
            .err()
            .map(|why| why.to_string())
    }

    /// Tries `run`; returns why it is unavailable, or `None` if it was, or could be, done.
    fn attempt(&mut self, run: &PlannedRun) -> Option<String> {
        let experiment = self.options.experiment(run).ok()?;
        if self.twin.is_none() && ExternalRun::of(&experiment).is_some() {
            // Another program's runs are not tried: it may write.
            return None;
        }
        let tried: Result<RunResult, RunFailure> = match &self.twin {
            Some(twin) => twin.simulate(run).map_err(RunFailure::from),
            None => self.real.run(&read_only(run), &Silent),
        };
        match tried {
            Ok(result) if result.counts.is_none() => result.completion.reason,
            // After one I/O the machine's counters are not judged.
            Ok(_) => None,
            Err(why) => Some(why.to_string()),
        }
    }
}

/// Returns `run` with reads in place of its I/Os; permission to write and trim is checked separately.
fn read_only(run: &PlannedRun) -> PlannedRun {
    let mut run = run.clone();
    if let Some(rw) = run.point.get_mut("rw") {
        let random = rw.starts_with("rand");
        *rw = if random { "randread" } else { "read" }.into();
    }
    // A job for each size is the fewest.
    let sizes = run.point.get("bs").map_or(1, |bs| bs.split(':').count());
    for (factor, fewest) in [("numjobs", sizes), ("iodepth", 1)] {
        if let Some(value) = run.point.get_mut(factor) {
            *value = fewest.to_string();
        }
    }
    run
}

/// Returns points that are unavailable, by reason.
fn unavailable(reasons: &Reasons) -> Vec<UnavailablePoints> {
    let mut by_reason: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for (point, reason) in reasons {
        if let Some(reason) = reason {
            by_reason.entry(reason).or_default().push(point);
        }
    }
    let all = reasons.len();
    let rows = by_reason
        .into_iter()
        .map(|(why, points)| UnavailablePoints {
            what: match points.len() == all {
                true => "all".into(),
                false => common(&points, reasons),
            },
            points: points.len(),
            why: why.into(),
        });
    rows.collect()
}

/// The values that `points` have in common, and others of the sweep have not.
fn common(points: &[&Point], reasons: &Reasons) -> String {
    let Some(first) = points.first() else {
        return String::new();
    };
    let shared = first.iter().filter(|(name, value)| {
        let same = points.iter().all(|point| point.get(*name) == Some(*value));
        let elsewhere = reasons.keys().any(|point| point.get(*name) != Some(*value));
        same && elsewhere
    });
    let words: Vec<_> = shared
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    match words.is_empty() {
        true => "some".into(),
        false => words.join(", "),
    }
}
