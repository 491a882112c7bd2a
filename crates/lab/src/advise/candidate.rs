//! Candidates, and what their runs were like.

use super::yardstick::Yardstick;
use crate::statistics::Interval;
use joulio_units::{Nanos, Percentile};
use joulio_workload::{Counts, EngineName, LatencySummary, RunResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// Candidate of an advice: an engine with a completion mode, under settings, at a depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Engine, which does the I/O.
    pub engine: EngineName,
    /// Completion mode, as `--completion` takes it.
    pub completion: String,
    /// Settings of the machine and the device by name; none is as they are.
    pub settings: BTreeMap<String, String>,
    /// I/Os in flight, each job.
    pub iodepth: usize,
}

impl Candidate {
    /// Returns the candidate that `run` belongs to; `run` has no sections.
    pub fn of(run: &RunResult) -> Candidate {
        Candidate {
            engine: run.engine.expect("a run of one workload"),
            completion: run.completion.requested.clone(),
            settings: run.settings.clone(),
            iodepth: run.iodepth.expect("a run of one workload"),
        }
    }

    /// Returns true for the same engine and completion mode, whatever the settings.
    pub fn is_same_method(&self, other: &Candidate) -> bool {
        self.engine == other.engine && self.completion == other.completion
    }
}

/// Figures of a candidate: means over its repetitions, with the 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// I/Os per second.
    pub iops: Interval,
    /// Nanoseconds, mean of all I/Os.
    pub mean_ns: Interval,
    /// Nanoseconds of the median, the 90th, 99th and 99.9th percentile, in the median of the repetitions.
    pub percentiles_ns: BTreeMap<String, u64>,
    /// Watts within the boundary.
    pub watts: Interval,
    /// Joules of an I/O within the boundary.
    pub joules_per_io: Interval,
    /// Joules an I/O with all of the model's figures at the low ends of their bands, and at the
    /// high ends; `None`: they are measured.
    pub joules_per_io_band: Option<(f64, f64)>,
    /// Microseconds of CPU time of an I/O.
    pub cpu_us_per_io: f64,
}

/// Assessment of a candidate by its runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Assessment {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// Completion mode that it had, where another was effective.
    pub effective: Option<String>,
    /// Figures; `None`: it is unavailable.
    pub figures: Option<Figures>,
    /// Reason for which it is unavailable, or another mode was effective.
    pub reason: Option<String>,
    /// Reasons why its figures are not its own, if all of its repetitions have one.
    pub spoiled: Option<String>,
    /// True if I/Os arrive faster than it does them.
    pub falls_behind: bool,
    /// True if the promise is kept, and the devices do not fall behind the arrivals.
    pub keeps: bool,
    /// Repetitions, of which those that the machine spoiled count only where it spoiled all.
    #[serde(skip)]
    pub(super) ran: usize,
    /// Numbers of those that count, in the order of the runs.
    #[serde(skip)]
    pub(super) counted: Vec<usize>,
    /// Joules of an I/O by repetition that counts.
    #[serde(skip)]
    pub(super) joules: Vec<f64>,
    /// I/Os per second by repetition, and nanoseconds of the mean latency.
    #[serde(skip)]
    pub(super) iops: Vec<f64>,
    #[serde(skip)]
    pub(super) means: Vec<f64>,
    /// Joules an I/O of each run, within each boundary that has a figure.
    #[serde(skip)]
    pub(super) boundaries: Vec<(Yardstick, Vec<f64>)>,
}

impl Assessment {
    /// Returns an assessment of each candidate in `runs`, in the order of their first runs, with the energy by
    /// `yardstick` and by each of `others`.
    pub(super) fn all(
        runs: &[RunResult],
        yardstick: &Yardstick,
        others: &[Yardstick],
    ) -> Vec<Assessment> {
        let mut candidates: Vec<(Candidate, Vec<&RunResult>)> = Vec::new();
        for run in runs {
            let candidate = Candidate::of(run);
            match candidates.iter_mut().find(|(one, _)| *one == candidate) {
                Some((_, runs)) => runs.push(run),
                None => candidates.push((candidate, vec![run])),
            }
        }
        let candidates = candidates.into_iter();
        candidates
            .map(|(candidate, runs)| Assessment::of(candidate, &runs, yardstick, others))
            .collect()
    }

    fn of(
        candidate: Candidate,
        runs: &[&RunResult],
        yardstick: &Yardstick,
        others: &[Yardstick],
    ) -> Assessment {
        let spoiled = runs.iter().all(|run| !run.spoiled.is_empty());
        let counting = runs.iter().enumerate();
        let counting = counting.filter(|(_, run)| spoiled || run.spoiled.is_empty());
        let falls_behind = |(_, run): (_, &&RunResult)| {
            let counts = run.counts.as_ref();
            counts.is_some_and(|counts| counts.falls_behind)
        };
        let falls_behind = counting.clone().any(falls_behind);
        let (counted, whole): (Vec<usize>, Vec<&Counts>) = counting
            .filter_map(|(at, run)| Some((at, run.counts.as_ref()?)))
            .filter(|(_, counts)| counts.all.ios > 0)
            .unzip();
        let spoiled = runs.first().filter(|_| spoiled).and_then(|run| {
            let first = run.spoiled.first();
            first.map(|spoiled| spoiled.why.clone())
        });
        let completion = runs.first().map(|run| &run.completion);
        let effective = completion.and_then(|completion| completion.effective.clone());
        Assessment {
            effective: effective.filter(|mode| *mode != candidate.completion),
            reason: completion.and_then(|completion| completion.reason.clone()),
            joules: yardstick.joules(&whole).unwrap_or_default(),
            iops: whole.iter().map(|counts| counts.all.iops).collect(),
            means: whole
                .iter()
                .map(|counts| counts.all.latency_ns.mean)
                .collect(),
            boundaries: others
                .iter()
                .filter_map(|other| Some((other.clone(), other.joules(&whole)?)))
                .collect(),
            figures: Figures::of(&whole, yardstick),
            ran: runs.len(),
            counted,
            spoiled,
            falls_behind,
            keeps: false,
            candidate,
        }
    }
}

impl Figures {
    fn of(runs: &[&Counts], yardstick: &Yardstick) -> Option<Figures> {
        let joules = yardstick.joules(runs)?;
        let each = |value: fn(&Counts) -> f64| -> Vec<f64> {
            runs.iter().map(|counts| value(counts)).collect()
        };
        let mean = |value: fn(&Counts) -> f64| Interval::of(&each(value), 0.0);
        let watts = runs.iter().filter_map(|counts| yardstick.figure(counts));
        let watts: Vec<_> = watts.map(|figure| figure.watts).collect();
        let percentiles = LatencySummary::PERCENTILES.map(|percentile| {
            let latencies = runs.iter().map(|counts| &counts.all.latency_ns);
            let all = latencies.filter_map(|latency| latency.percentile(percentile));
            let mut all: Vec<_> = all.collect();
            all.sort_unstable();
            let (below, above) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
            (percentile.to_string(), below.midpoint(above))
        });
        let cpu = each(|counts| {
            let threads = [counts.threads.submitter, counts.threads.kernel];
            let seconds = threads.map(|usage| usage.user_seconds + usage.system_seconds);
            seconds.iter().sum::<f64>() * 1e6 / counts.all.ios.max(1) as f64
        });
        Some(Figures {
            iops: mean(|counts| counts.all.iops),
            mean_ns: mean(|counts| counts.all.latency_ns.mean),
            percentiles_ns: percentiles.into(),
            watts: Interval::of(&watts, 0.0),
            joules_per_io: Interval::of(&joules, yardstick.error(runs)),
            joules_per_io_band: yardstick.band(runs),
            cpu_us_per_io: cpu.iter().sum::<f64>() / cpu.len() as f64,
        })
    }

    /// Returns the latency at `percentile`; `None` if results do not have this percentile.
    pub fn percentile(&self, percentile: Percentile) -> Option<Nanos> {
        let name = percentile.to_string();
        self.percentiles_ns.get(&name).map(|&ns| Nanos(ns))
    }
}
