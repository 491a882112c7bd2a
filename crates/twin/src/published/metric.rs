//! Metric of a run that a number is about.

use crate::TwinRun;
use serde::{Deserialize, Serialize};

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// I/Os a second.
    Iops,
    /// The mean latency in microseconds.
    LatencyUs,
    /// The median.
    P50Us,
    /// The 99th percentile.
    P99Us,
    /// The 99.999th percentile.
    P99999Us,
    /// Percent of a CPU that each job takes, as the system's accounts have it.
    CpuPercent,
    /// Percent of a CPU that all jobs together take, as the system's accounts have it.
    CpuPercentAll,
    /// CPU microseconds of an I/O, by the same accounts.
    CpuUs,
    /// Times that a job gives its CPU away, per I/O.
    Switches,
    /// Device interrupts a second.
    Interrupts,
    /// The whole machine's watts.
    Watts,
    /// Without the devices: what a package meter sees, where the profile's base is the package.
    PackageWatts,
    /// The devices'.
    DeviceWatts,
    /// I/Os for a joule of the whole machine.
    IosPerJoule,
    /// Bytes for it.
    BytesPerJoule,
    /// Joules of the whole machine for a million I/Os.
    JoulesPerMillion,
    /// I/Os for a joule of the package.
    IosPerPackageJoule,
}

impl Metric {
    /// Value of the metric in `run`; `None` where there was no I/O.
    pub fn of(self, run: &TwinRun) -> Option<f64> {
        let all = run.all();
        let ios = run.ios() as f64;
        if ios == 0.0 {
            return None;
        }
        let seconds = run.window.seconds();
        let us = |quantile: f64| all.latency.value_at_quantile(quantile) as f64 / 1e3;
        let total = run.parts.total();
        let package = run.parts.without_devices();
        let charged = run.charged_per_io()? * ios / run.window.0 as f64;
        Some(match self {
            Metric::Iops => run.iops(),
            Metric::LatencyUs => all.mean()? / 1e3,
            Metric::P50Us => us(0.5),
            Metric::P99Us => us(0.99),
            Metric::P99999Us => us(0.99999),
            Metric::CpuPercent => charged / run.result.numjobs as f64 * 100.0,
            Metric::CpuPercentAll => charged * 100.0,
            Metric::CpuUs => run.charged_per_io()? / 1e3,
            Metric::Switches => (run.counters.sleeps + run.counters.blocks) as f64 / ios,
            Metric::Interrupts => run.counters.interrupts as f64 / seconds,
            Metric::Watts => total.0 / seconds,
            Metric::PackageWatts => package.0 / seconds,
            Metric::DeviceWatts => run.parts.device.0 / seconds,
            Metric::IosPerJoule => ios / total.0,
            Metric::BytesPerJoule => (all.bytes as f64) / total.0,
            Metric::JoulesPerMillion => total.0 / ios * 1e6,
            Metric::IosPerPackageJoule => ios / package.0,
        })
    }

    /// Returns the largest promised error of a number of this metric, as a fraction: what was
    /// promised of fitted ones and of others.
    pub(crate) fn promise(self, fitted: bool) -> Option<f64> {
        let (near, far) = match self {
            Metric::Iops | Metric::LatencyUs | Metric::P50Us => (0.03, 0.10),
            Metric::CpuPercent | Metric::CpuUs => (0.08, 0.15),
            Metric::Switches => (0.01, 0.01),
            Metric::PackageWatts if fitted => (0.03, 0.03),
            _ => return None,
        };
        Some(if fitted { near } else { far })
    }

    /// Returns the largest promised error of a gain, the percentage by which runs exceed others: as
    /// a fraction of the gain.
    pub(crate) fn promise_of_gain(self, fitted: bool) -> Option<f64> {
        match self {
            Metric::IosPerPackageJoule => Some(if fitted { 0.10 } else { 0.25 }),
            _ => self.promise(fitted),
        }
    }
}
