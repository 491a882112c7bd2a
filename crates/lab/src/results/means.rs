//! Means of repeated runs with their 95 % intervals.

use super::energy_column::EnergyColumn;
use super::run_name::mode_name;
use crate::record::{Point, RunRecord};
use crate::statistics::Summary;
use joulio_workload::Counts;

/// A figure of runs of which a mean is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeanOf {
    /// I/Os a second.
    Iops,
    /// Mean latency in microseconds.
    Latency,
    /// 99th percentile in microseconds.
    P99,
    /// CPU time per I/O in microseconds, of the jobs' threads.
    Cpu,
    /// Watts, from the runs' common energy figure.
    Watts,
    /// Microjoules per I/O, from the runs' common energy figure.
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
    /// Number of repetitions that are kept apart: spoiled, ended early, or not as requested.
    pub apart: usize,
}

impl MeanOf {
    /// All figures, in the order of the table's columns.
    pub const ALL: [MeanOf; 6] = [
        MeanOf::Iops,
        MeanOf::Latency,
        MeanOf::P99,
        MeanOf::Cpu,
        MeanOf::Watts,
        MeanOf::MicrojoulesPerIo,
    ];

    /// Returns the name of the figure's column.
    pub fn name(self) -> &'static str {
        match self {
            MeanOf::Iops => "IOPS",
            MeanOf::Latency => "mean us",
            MeanOf::P99 => "p99 us",
            MeanOf::Cpu => "CPU us/IO",
            MeanOf::Watts => "W",
            MeanOf::MicrojoulesPerIo => "uJ/IO",
        }
    }

    /// Returns true for figures of energy.
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
    /// Returns the repetitions of each point of `records`, in the order of `points`.
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

    /// Returns the values of `figure`, one for each repetition that has it.
    pub fn values(&self, figure: MeanOf, column: Option<&EnergyColumn>) -> Vec<f64> {
        let counts = self
            .runs
            .iter()
            .filter_map(|run| run.result.counts.as_ref());
        counts
            .filter_map(|counts| figure.value(counts, column))
            .collect()
    }

    /// Returns the mean of `figure` with its 95 % interval; `None` if no repetition has it.
    pub fn summary(&self, figure: MeanOf, column: Option<&EnergyColumn>) -> Option<Summary> {
        Summary::of(&self.values(figure, column))
    }

    /// Returns the means of microjoules per I/O with the model's parameters at the lower and at the upper ends of their
    /// bands; `None` for a measured figure.
    pub(super) fn band(&self, column: &EnergyColumn) -> Option<(f64, f64)> {
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
