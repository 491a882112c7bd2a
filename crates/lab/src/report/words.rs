//! Names of factors, metrics and platforms for readers.

use super::outcome::ObservationOutcome;
use super::verdict::{FittedParts, Part};
use crate::record::Platform;
use joulio_workload::{EnergyMetric, Metric};

/// Returns the name of a factor.
pub fn factor(name: &str) -> &str {
    match name {
        "bs" => "request size",
        "iodepth" => "I/O depth",
        "numjobs" => "jobs",
        "rw" => "pattern",
        "completion" => "completion mode",
        "rate_iops" => "arrivals per second and job",
        "rwmixread" => "reads, %",
        "max-cstate" => "deepest idle state",
        "neighbours" => "busy neighbours",
        "queue_priority" => "priority of queues",
        other => other,
    }
}

/// Returns the name of a metric with its unit.
pub fn metric(metric: Metric) -> String {
    let name = metric.to_string();
    let (side, rest) = match name.split_once('_') {
        Some((side @ ("read" | "write"), rest)) => (format!("{side} "), rest),
        _ => (String::new(), name.as_str()),
    };
    let boundary = match metric {
        Metric::Energy(_, Some(boundary)) => format!(" ({boundary})"),
        _ => String::new(),
    };
    let plain = match metric {
        Metric::Energy(EnergyMetric::Watts, _) => "power, W",
        Metric::Energy(EnergyMetric::IosPerJoule, _) => "I/Os per joule",
        Metric::Energy(EnergyMetric::BytesPerJoule, _) => "bytes per joule",
        Metric::Energy(EnergyMetric::JoulesPerMillion, _) => "joules per million I/Os",
        _ => match rest {
            "iops" => "IOPS",
            "bytes_per_second" => "bytes per second",
            "latency_us" => "mean latency, µs",
            "p50_us" => "median latency, µs",
            "p90_us" => "p90 latency, µs",
            "p99_us" => "p99 latency, µs",
            "p999_us" => "p99.9 latency, µs",
            "p9999_us" => "p99.99 latency, µs",
            "stddev_us" => "standard deviation of latency, µs",
            "p99999_us" => "p99.999 latency, µs",
            "max_us" => "longest latency, µs",
            "cpu_percent" => "CPU of each job, %",
            "cpu_percent_all" => "CPU of all jobs, %",
            "system_percent_all" => "system CPU of all jobs, %",
            "cpu_us" => "CPU µs per I/O",
            "switches" => "context switches per I/O",
            "switches_per_second" => "context switches per second",
            "interrupts" => "interrupts per second",
            "interrupts_per_io" => "interrupts per I/O",
            "polls" => "polls per I/O",
            "useful_polls_percent" => "polls that found something, %",
            "useful_cpu_percent" => "CPU time without waits, %",
            "sleeps" => "sleeps per I/O",
            "jain_index" => "Jain's index of fairness",
            "least_job_iops" => "IOPS of the slowest job",
            "worst_job_p99_us" => "p99 latency of the worst job, µs",
            "neighbour_percent" => "CPU that the neighbour has, %",
            _ => return format!("{name}, {}", metric.unit()),
        },
    };
    format!("{side}{plain}{boundary}")
}

/// Describes what the runs were done on.
pub fn platform(platform: Platform) -> &'static str {
    match platform {
        Platform::Real => "measured on a real device",
        Platform::Emulated => "measured; the device is emulated",
        Platform::Guest => "counted in a guest whose CPU is emulated",
        Platform::Twin => "modelled in virtual time",
    }
}

/// Returns the status of a table or figure in words, with `data` or without.
pub fn status(data: bool, outcome: ObservationOutcome, fitted: FittedParts) -> String {
    match (data, outcome) {
        (true, ObservationOutcome::NoData) => "data, no verdict".to_owned(),
        (true, outcome) => verdict(outcome, fitted),
        (false, _) => self::outcome(ObservationOutcome::NoData).to_owned(),
    }
}

/// Returns the outcome of an observation in words, and whether a profile was fitted to what holds.
pub fn verdict(outcome: ObservationOutcome, fitted: FittedParts) -> String {
    let mark = match outcome {
        ObservationOutcome::Holds => fitted.mark(),
        _ => String::new(),
    };
    format!("{}{mark}", self::outcome(outcome))
}

/// Returns the outcome of a comparison in words, and whether a profile was fitted to what holds.
pub fn comparison(part: &Part) -> String {
    let mark = match (part.outcome, part.basis) {
        (ObservationOutcome::Holds, Some(basis)) => basis.mark(),
        _ => "",
    };
    format!("{}{mark}", outcome(part.outcome))
}

/// Returns the outcome of an observation in words.
pub fn outcome(outcome: ObservationOutcome) -> &'static str {
    match outcome {
        ObservationOutcome::Holds => "✓ holds here",
        ObservationOutcome::Differs => "✗ does not hold",
        ObservationOutcome::Undecided => "? undecided",
        ObservationOutcome::NoData => "– no data",
    }
}
