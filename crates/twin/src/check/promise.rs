//! Largest allowed errors of published numbers.

use joulio_job::{EnergyMetric, LatencyStatistic, Metric};
use joulio_units::Boundary;

/// I/Os per joule of the package, the metric in which gains are published.
const PACKAGE_EFFICIENCY: Metric =
    Metric::Energy(EnergyMetric::IosPerJoule, Some(Boundary::Package));
const PACKAGE_WATTS: Metric = Metric::Energy(EnergyMetric::Watts, Some(Boundary::Package));

/// Returns the largest allowed error of a number of `metric`, as a fraction; `None`: it has none.
pub(super) fn promise(metric: Metric, fitted: bool) -> Option<f64> {
    let (near, far) = match metric {
        Metric::Iops(_)
        | Metric::Latency(_, LatencyStatistic::Mean)
        | Metric::Latency(_, LatencyStatistic::P50) => (0.03, 0.10),
        Metric::CpuPercent | Metric::CpuUs | Metric::UsefulCpu => (0.08, 0.15),
        Metric::Switches => (0.01, 0.01),
        PACKAGE_WATTS if fitted => (0.03, 0.03),
        _ => return None,
    };
    Some(if fitted { near } else { far })
}

/// Returns the largest allowed error of a gain, the percentage by which runs exceed others, as a fraction of the
/// gain; `None`: it has none.
pub(super) fn promise_of_gain(metric: Metric, fitted: bool) -> Option<f64> {
    match metric {
        PACKAGE_EFFICIENCY => Some(if fitted { 0.10 } else { 0.25 }),
        _ => promise(metric, fitted),
    }
}
