//! Plan of a campaign: its runs, their duration, and what is unavailable here and why.

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

/// Approximate number of virtual I/Os that one CPU simulates in a second.
const VIRTUAL_IOS: f64 = 400_000.0;

/// Plan of a campaign: its runs, their duration, and what is unavailable.
#[derive(Clone, Debug)]
pub struct CampaignPlan {
    /// Sweeps, in the file's order.
    pub sweeps: Vec<PlannedSweep>,
    /// Tables and figures, in the file's order, tables first.
    pub items: Vec<PlannedItem>,
    /// Seconds that all runs of known length take.
    pub seconds: f64,
    /// True if some runs have a number of I/Os, so that their length is not known.
    pub at_least: bool,
}

/// A sweep in the plan.
#[derive(Clone, Debug)]
pub struct PlannedSweep {
    /// Name of the sweep.
    pub name: String,
    /// Number of points.
    pub points: usize,
    /// Number of the shard's runs: points x repetitions.
    pub runs: usize,
    /// Seconds that the runs of known length take.
    pub seconds: f64,
    /// Points that are unavailable, and why.
    pub unavailable: Vec<UnavailablePoints>,
    /// Device that is used in place of those on the command line, which the sweep's engine does not support.
    pub stand_in: Option<String>,
}

/// Points that are unavailable, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailablePoints {
    /// Description of the points: `psync poll`, `all`.
    pub what: String,
    /// Number of points.
    pub points: usize,
    /// Reason why they are unavailable.
    pub why: String,
}

/// A table or figure in the plan.
#[derive(Clone, Debug)]
pub struct PlannedItem {
    /// Identifier of the experiment.
    pub id: String,
    /// Title of the experiment.
    pub title: String,
    /// Number of points that it shows.
    pub points: usize,
    /// Number of these points that are available.
    pub available: usize,
    /// First reason why others are unavailable.
    pub why: Option<String>,
}

/// Points of a sweep, each with the reason why it is unavailable, or `None`.
pub(super) type Reasons = BTreeMap<Point, Option<String>>;

impl Campaign {
    /// Plans `shard`. One read with each method, setting and device shows which of them are available; nothing is
    /// written, and settings are restored.
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

    /// Estimates the seconds that a run takes; `None` if they depend on the speed of the device.
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
                    // Assumes 10 us for each I/O.
                    _ => 1e-5,
                };
                runtime?.seconds() / apart * job.numjobs as f64
            }
        };
        Some(ios / VIRTUAL_IOS)
    }

    /// Returns the reason why each of `points` is unavailable, or `None`. Each combination of device, method and
    /// settings is tried once; each point is checked.
    pub(super) fn reasons(&self, options: &SweepOptions, points: &[Point], stop: &Stop) -> Reasons {
        let short = short(options);
        let mut tried: BTreeMap<Vec<Option<&str>>, Option<String>> = BTreeMap::new();
        let runs: Vec<_> = points.iter().map(planned).collect();
        let mut trier = Trier::new(&short, &runs, stop);
        let mut reasons = Reasons::new();
        for (point, run) in points.iter().zip(&runs) {
            let unfit = trier.fits(run).or_else(|| trier.refuses(run));
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

/// Factors that decide whether a run is available.
const DECIDING: [Factor; 9] = [
    Factor::Device,
    Factor::Rw,
    Factor::Process,
    Factor::Frequency,
    Factor::MaxCstate,
    Factor::Scheduler,
    Factor::Coalescing,
    Factor::Engine,
    Factor::Completion,
];

/// Returns the seconds of the idle intervals around the repetitions of `runs`; zero if no meter can be read.
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

/// Returns `options` with runs of one I/O and without a ramp.
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

/// Runner for trying points.
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
                Some(_) => VirtualRunner::new(options, stop).ok(),
                None => None,
            },
        }
    }

    /// Returns the reason why `run` is not valid; `None` if it is.
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

    /// Returns the reason why the check of `run` on its devices refuses it, as for lack of the permission to write;
    /// `None` if it does not, or is not made here.
    fn refuses(&mut self, run: &PlannedRun) -> Option<String> {
        let experiment = self.options.experiment(run).ok()?;
        let virtual_time = self.options.base.twin.is_some();
        if virtual_time || ExternalRun::of(&experiment).is_some() {
            return None;
        }
        self.real.refuses(run)
    }

    /// Tries `run`; returns the reason why it is unavailable, or `None` if it succeeded or was not tried.
    fn attempt(&mut self, run: &PlannedRun) -> Option<String> {
        let experiment = self.options.experiment(run).ok()?;
        if self.twin.is_none() && ExternalRun::of(&experiment).is_some() {
            // Runs of other programs are not tried: they may write.
            return None;
        }
        let tried: Result<RunResult, RunFailure> = match &self.twin {
            Some(twin) => twin.simulate(run).map_err(RunFailure::from),
            None => self.real.run(&read_only(run), &Silent),
        };
        match tried {
            Ok(result) if result.counts.is_none() => result.completion.reason,
            // A run of one I/O is too short to judge by the machine's counters.
            Ok(_) => None,
            Err(why) => Some(why.to_string()),
        }
    }
}

/// Returns `run` with reads in place of its I/Os; the permission to write and trim is checked by [`Trier::refuses`].
fn read_only(run: &PlannedRun) -> PlannedRun {
    let mut run = run.clone();
    if let Some(rw) = run.point.get_mut("rw") {
        let random = rw.starts_with("rand");
        *rw = if random { "randread" } else { "read" }.into();
    }
    // With several block sizes there has to be a job for each.
    let sizes = run.point.get("bs").map_or(1, |bs| bs.split(':').count());
    for (factor, fewest) in [("numjobs", sizes), ("iodepth", 1)] {
        if let Some(value) = run.point.get_mut(factor) {
            *value = fewest.to_string();
        }
    }
    run
}

/// Groups the unavailable points by reason.
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

/// Describes `points` by the values that they have in common and that not all points of the sweep have.
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
