//! Repetitions of runs in a few figures: means with their 95 % intervals, and what ties.

use super::energy_column::EnergyColumn;
use super::run_name::mode_name;
use super::varied::Varied;
use crate::record::{Point, RunRecord};
use crate::statistics::{Correction, SIGNIFICANCE, Summary, TTest};
use joulio_workload::Counts;

/// A figure of runs that has a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeanOf {
    /// I/Os a second.
    Iops,
    /// Mean latency in microseconds.
    Latency,
    /// 99th percentile in microseconds.
    P99,
    /// CPU microseconds an I/O, of the jobs' threads.
    Cpu,
    /// Watts, of the runs' common energy figure.
    Watts,
    /// Microjoules an I/O, of the same.
    MicrojoulesPerIo,
}

/// Repetitions of one point.
#[derive(Clone, Debug)]
pub struct MeanRow<'a> {
    /// Factors of the point.
    pub point: &'a Point,
    /// Name of its runs.
    pub name: String,
    /// Repetitions that count.
    pub runs: Vec<&'a RunRecord>,
    /// Repetitions that are kept apart: spoiled, ended early, or not what they were to be.
    pub apart: usize,
}

impl MeanOf {
    /// Every figure, in the order of a table's columns.
    pub const ALL: [MeanOf; 6] = [
        MeanOf::Iops,
        MeanOf::Latency,
        MeanOf::P99,
        MeanOf::Cpu,
        MeanOf::Watts,
        MeanOf::MicrojoulesPerIo,
    ];

    /// Name of the figure's column.
    pub fn name(self) -> &'static str {
        match self {
            MeanOf::Iops => "IOPS",
            MeanOf::Latency => "mean us",
            MeanOf::P99 => "p99",
            MeanOf::Cpu => "CPU us/IO",
            MeanOf::Watts => "W",
            MeanOf::MicrojoulesPerIo => "uJ/IO",
        }
    }

    /// True for a figure of energy.
    pub fn is_energy(self) -> bool {
        matches!(self, MeanOf::Watts | MeanOf::MicrojoulesPerIo)
    }

    fn value(self, counts: &Counts, column: Option<&EnergyColumn>) -> Option<f64> {
        let energy = || column.and_then(|column| column.figure(counts));
        let cpu = counts.threads.submitter;
        Some(match self {
            MeanOf::Iops => counts.all.iops,
            MeanOf::Latency => counts.all.latency_ns.mean / 1e3,
            MeanOf::P99 => counts.all.latency_ns.p99 as f64 / 1e3,
            MeanOf::Cpu => {
                let seconds = cpu.user_seconds + cpu.system_seconds;
                seconds * 1e6 / counts.all.ios.max(1) as f64
            }
            MeanOf::Watts => energy()?.watts,
            MeanOf::MicrojoulesPerIo => energy()?.joules_per_io? * 1e6,
        })
    }
}

impl<'a> MeanRow<'a> {
    /// Repetitions of each point of `records`, in the order of `points`.
    pub fn of(records: &[&'a RunRecord], points: &'a [Point]) -> Vec<MeanRow<'a>> {
        let rows = points.iter().filter_map(|point| {
            let all: Vec<_> = records.iter().filter(|one| one.point == *point).collect();
            let result = &all.first()?.result;
            let runs = all.iter().filter(|record| record.apart().is_none());
            let runs: Vec<&RunRecord> = runs.map(|record| **record).collect();
            Some(MeanRow {
                point,
                name: mode_name(result, &result.completion.requested),
                apart: all.len() - runs.len(),
                runs,
            })
        });
        rows.collect()
    }

    /// Values of `figure`, one a repetition that has it.
    pub fn values(&self, figure: MeanOf, column: Option<&EnergyColumn>) -> Vec<f64> {
        let counts = self
            .runs
            .iter()
            .filter_map(|run| run.result.counts.as_ref());
        counts
            .filter_map(|counts| figure.value(counts, column))
            .collect()
    }

    /// The mean of `figure` with its 95 % interval; `None` where no repetition has it.
    pub fn summary(&self, figure: MeanOf, column: Option<&EnergyColumn>) -> Option<Summary> {
        Summary::of(&self.values(figure, column))
    }

    /// Microjoules an I/O with the model's parameters at the ends of their bands: the means of both;
    /// `None` of a measured figure.
    fn band(&self, column: &EnergyColumn) -> Option<(f64, f64)> {
        let counts = self
            .runs
            .iter()
            .filter_map(|run| run.result.counts.as_ref());
        let ends = counts.filter_map(|counts| {
            let figure = column.figure(counts)?;
            let (low, high) = figure.band_joules?;
            let one = figure.joules_per_io? / figure.joules * 1e6;
            Some((low * one, high * one))
        });
        let ends: Vec<_> = ends.collect();
        let mean =
            |of: fn(&(f64, f64)) -> f64| ends.iter().map(of).sum::<f64>() / ends.len() as f64;
        (!ends.is_empty()).then(|| (mean(|end| end.0), mean(|end| end.1)))
    }
}

/// Sentences on the differences of a workload's methods: the best of each, and what cannot be told
/// from it. Probabilities are corrected for all comparisons of the table by Holm's rule.
pub fn ties(varied: &Varied, rows: &[MeanRow<'_>], column: Option<&EnergyColumn>) -> Vec<String> {
    let mut lines = Vec::new();
    for figure in [MeanOf::Iops, MeanOf::MicrojoulesPerIo] {
        lines.extend(ties_of(figure, varied, rows, column));
    }
    lines
}

/// The best row of a workload, and the others of it.
struct Contest<'r, 'a> {
    place: Option<String>,
    best: &'r MeanRow<'a>,
    others: Vec<&'r MeanRow<'a>>,
}

fn ties_of(
    figure: MeanOf,
    varied: &Varied,
    rows: &[MeanRow<'_>],
    column: Option<&EnergyColumn>,
) -> Vec<String> {
    let contests = contests(figure, varied, rows, column);
    let values = |row: &MeanRow<'_>| row.values(figure, column);
    let pairs = contests
        .iter()
        .flat_map(|contest| contest.others.iter().map(|other| (contest.best, *other)));
    let p = pairs.map(|(best, other)| {
        let compared = TTest::Welch.compare(&values(best), &values(other));
        compared.map_or(1.0, |comparison| comparison.p)
    });
    let corrected = Correction::Holm.apply(&p.collect::<Vec<_>>());
    let mut corrected = corrected.into_iter();
    let lines = contests.iter().map(|contest| {
        let p: Vec<_> = corrected.by_ref().take(contest.others.len()).collect();
        contest.line(figure, &p, column)
    });
    lines.collect()
}

fn contests<'r, 'a>(
    figure: MeanOf,
    varied: &Varied,
    rows: &'r [MeanRow<'a>],
    column: Option<&EnergyColumn>,
) -> Vec<Contest<'r, 'a>> {
    let mut places: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let place = varied.values(row.point);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mean = |row: &MeanRow<'_>| row.summary(figure, column).map(|one| one.mean.value);
    let contests = places.into_iter().filter_map(|place| {
        let here = rows.iter().filter(|row| varied.values(row.point) == place);
        let mut here: Vec<_> = here.filter_map(|row| Some((mean(row)?, row))).collect();
        here.sort_by(|a, b| match figure {
            MeanOf::Iops => b.0.total_cmp(&a.0),
            _ => a.0.total_cmp(&b.0),
        });
        let mut rows = here.into_iter().map(|(_, row)| row);
        let best = rows.next()?;
        let others: Vec<_> = rows.collect();
        (!others.is_empty()).then(|| Contest {
            place: varied.place(best.point),
            best,
            others,
        })
    });
    contests.collect()
}

impl Contest<'_, '_> {
    fn line(&self, figure: MeanOf, p: &[f64], column: Option<&EnergyColumn>) -> String {
        let place = self
            .place
            .as_ref()
            .map_or_else(String::new, |place| format!("{place}: "));
        let word = match figure {
            MeanOf::Iops => "most",
            _ => "least",
        };
        let mut line = format!("{place}{word} {}: {}", figure.name(), self.best.name);
        let equal = self
            .others
            .iter()
            .zip(p)
            .filter(|(_, p)| **p > SIGNIFICANCE);
        let equal: Vec<_> = equal.map(|(row, _)| row.name.as_str()).collect();
        if !equal.is_empty() {
            line += &format!("; not significantly different: {}", equal.join(", "));
        }
        let band = |row: &MeanRow<'_>| row.band(column?);
        let overlaps = |row: &MeanRow<'_>| match (band(self.best), band(row)) {
            (Some((_, high)), Some((low, _))) => low <= high,
            _ => false,
        };
        if figure.is_energy() {
            let within = self.others.iter().filter(|row| overlaps(row));
            let within: Vec<_> = within.map(|row| row.name.as_str()).collect();
            if !within.is_empty() {
                line += &format!("; within the model's bands: {}", within.join(", "));
            }
        }
        line
    }
}
