//! Metrics: figures of a run by name, with unit and direction, for tables, plots and comparisons.

use crate::{Counts, DirectionResult, JobCounts, RunResult};
use joulio_units::Boundary;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Figure of a [`RunResult`], by its name: `iops`, `read_p99_us`, `ios_per_package_joule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    /// I/Os per second.
    Iops(Side),
    /// Bytes per second.
    BytesPerSecond(Side),
    /// Latency in microseconds.
    Latency(Side, LatencyStatistic),
    /// Percent of a CPU that each job uses, including the kernel's threads that poll for it.
    CpuPercent,
    /// Percent of a CPU that all jobs use together.
    CpuPercentAll,
    /// Percent of a CPU that all jobs use together in the kernel.
    SystemPercentAll,
    /// CPU microseconds per I/O.
    CpuUs,
    /// Voluntary context switches of a job per I/O.
    Switches,
    /// Voluntary context switches of all jobs per second.
    SwitchesPerSecond,
    /// Device interrupts per second.
    Interrupts,
    /// Device interrupts per I/O.
    InterruptsPerIo,
    /// Polls per I/O.
    Polls,
    /// Percent of polls that found a completion.
    UsefulPolls,
    /// Percent of the time of the jobs' CPUs in which the jobs did not wait; only in virtual time.
    UsefulCpu,
    /// Sleeps per I/O.
    Sleeps,
    /// Jain's index of fairness of the jobs' rates.
    Jain,
    /// Lowest rate of the jobs with the shortest I/Os.
    LeastIops,
    /// Highest 99th percentile, in microseconds, of the jobs with the shortest I/Os.
    WorstP99,
    /// Percent of the time of the jobs' CPUs that busy threads of other programs had.
    NeighbourPercent,
    /// Energy figure; without a boundary, the one that best shows the power of the machine, which
    /// [`MetricValue::energy`] names.
    Energy(EnergyMetric, Option<Boundary>),
}

/// Direction of the I/Os that a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Reads and writes together.
    All,
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// A statistic of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LatencyStatistic {
    /// Arithmetic mean.
    Mean,
    /// Standard deviation.
    StandardDeviation,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// 99.99th percentile.
    P9999,
    /// 99.999th percentile.
    P99999,
    /// Longest.
    Max,
}

/// A figure of energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EnergyMetric {
    /// Mean watts.
    Watts,
    /// I/Os per joule: IOPS per watt, as in SNIA Emerald.
    IosPerJoule,
    /// Bytes per joule.
    BytesPerJoule,
    /// Joules per million I/Os.
    JoulesPerMillion,
}

/// Direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// The value of a metric in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// Value in the metric's unit.
    pub value: f64,
    /// True for a model's value, false for a measured one.
    pub modelled: bool,
    /// The value with the model's parameters at the lower and at the upper ends of their bands; `None` for a
    /// measured value, or one that is not an energy.
    pub band: Option<(f64, f64)>,
    /// Boundary and source of an energy figure; `None` for other metrics. Values whose boundaries or sources differ
    /// are never compared.
    pub energy: Option<(Boundary, String)>,
}

/// Error: no metric has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no metric '{0}': there are {known}", known = known())]
pub struct UnknownMetric(pub String);

const SIDES: [(Side, &str); 3] = [
    (Side::All, ""),
    (Side::Read, "read_"),
    (Side::Write, "write_"),
];

const STATISTICS: [(LatencyStatistic, &str); 9] = [
    (LatencyStatistic::Mean, "latency_us"),
    (LatencyStatistic::StandardDeviation, "stddev_us"),
    (LatencyStatistic::P50, "p50_us"),
    (LatencyStatistic::P90, "p90_us"),
    (LatencyStatistic::P99, "p99_us"),
    (LatencyStatistic::P999, "p999_us"),
    (LatencyStatistic::P9999, "p9999_us"),
    (LatencyStatistic::P99999, "p99999_us"),
    (LatencyStatistic::Max, "max_us"),
];

const PLAIN: [(Metric, &str); 16] = [
    (Metric::CpuPercent, "cpu_percent"),
    (Metric::CpuPercentAll, "cpu_percent_all"),
    (Metric::SystemPercentAll, "system_percent_all"),
    (Metric::CpuUs, "cpu_us"),
    (Metric::Switches, "switches"),
    (Metric::SwitchesPerSecond, "switches_per_second"),
    (Metric::Interrupts, "interrupts"),
    (Metric::InterruptsPerIo, "interrupts_per_io"),
    (Metric::Polls, "polls"),
    (Metric::UsefulPolls, "useful_polls_percent"),
    (Metric::UsefulCpu, "useful_cpu_percent"),
    (Metric::Sleeps, "sleeps"),
    (Metric::Jain, "jain_index"),
    (Metric::LeastIops, "least_job_iops"),
    (Metric::WorstP99, "worst_job_p99_us"),
    (Metric::NeighbourPercent, "neighbour_percent"),
];

const ENERGY: [(EnergyMetric, &str, &str); 4] = [
    (EnergyMetric::Watts, "", "watts"),
    (EnergyMetric::IosPerJoule, "ios_per_", "joule"),
    (EnergyMetric::BytesPerJoule, "bytes_per_", "joule"),
    (EnergyMetric::JoulesPerMillion, "", "joules_per_million"),
];

impl Metric {
    /// Returns all metrics with their names; energy figures without a boundary come before those with one.
    pub fn all() -> Vec<(Metric, String)> {
        let mut all = Vec::new();
        for (side, prefix) in SIDES {
            all.push((Metric::Iops(side), format!("{prefix}iops")));
            all.push((
                Metric::BytesPerSecond(side),
                format!("{prefix}bytes_per_second"),
            ));
            let latencies = STATISTICS.iter();
            all.extend(latencies.map(|(statistic, name)| {
                (Metric::Latency(side, *statistic), format!("{prefix}{name}"))
            }));
        }
        all.extend(PLAIN.map(|(metric, name)| (metric, name.to_owned())));
        let boundaries = Boundary::ALL.into_iter().map(Some);
        for boundary in [None].into_iter().chain(boundaries) {
            let at = boundary.map_or_else(String::new, |boundary| format!("{boundary}_"));
            all.extend(ENERGY.map(|(metric, before, after)| {
                let name = format!("{before}{at}{after}");
                (Metric::Energy(metric, boundary), name)
            }));
        }
        all
    }

    /// Returns the unit for an axis; empty for plain counts.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Iops(_) => "IOPS",
            Metric::BytesPerSecond(_) => "B/s",
            Metric::Latency(..) => "us",
            Metric::CpuPercent | Metric::CpuPercentAll | Metric::SystemPercentAll => "% of a CPU",
            Metric::CpuUs => "CPU us/IO",
            Metric::Switches => "cs/IO",
            Metric::SwitchesPerSecond => "cs/s",
            Metric::Interrupts => "intr/s",
            Metric::InterruptsPerIo => "intr/IO",
            Metric::Polls => "polls/IO",
            Metric::UsefulPolls => "% of polls",
            Metric::UsefulCpu => "% of the CPUs",
            Metric::Sleeps => "sleeps/IO",
            Metric::Jain => "",
            Metric::LeastIops => "IOPS",
            Metric::WorstP99 => "us",
            Metric::NeighbourPercent => "% of the CPU",
            Metric::Energy(EnergyMetric::Watts, _) => "W",
            Metric::Energy(EnergyMetric::IosPerJoule, _) => "IO/J",
            Metric::Energy(EnergyMetric::BytesPerJoule, _) => "B/J",
            Metric::Energy(EnergyMetric::JoulesPerMillion, _) => "J/MIO",
        }
    }

    /// Returns the direction in which the metric is better; `None` if neither is better by itself.
    pub fn better(self) -> Option<Better> {
        match self {
            Metric::Iops(_) | Metric::BytesPerSecond(_) => Some(Better::Higher),
            Metric::UsefulPolls | Metric::UsefulCpu => Some(Better::Higher),
            Metric::Jain | Metric::LeastIops | Metric::NeighbourPercent => Some(Better::Higher),
            Metric::Energy(EnergyMetric::IosPerJoule | EnergyMetric::BytesPerJoule, _) => {
                Some(Better::Higher)
            }
            Metric::Interrupts | Metric::Polls | Metric::Sleeps => None,
            _ => Some(Better::Lower),
        }
    }

    /// Returns the value in `run`; `None` if nothing was run, no I/O was done, or the run has no such figure.
    pub fn of(self, run: &RunResult) -> Option<MetricValue> {
        let counts = run.counts.as_ref()?;
        match self {
            Metric::Energy(metric, boundary) => metric.of(counts, boundary),
            Metric::UsefulCpu => Some(MetricValue {
                value: run.useful_cpu_percent?,
                modelled: run.modelled,
                band: None,
                energy: None,
            }),
            // Other programs do not report these counts, and a zero would be wrong.
            waiting if run.is_external() && waiting.is_of_waiting() => None,
            plain => Some(MetricValue {
                value: plain.plain(counts, run.numjobs)?,
                modelled: run.modelled,
                band: None,
                energy: None,
            }),
        }
    }

    /// Returns true for counts of how joulio's own threads wait.
    fn is_of_waiting(self) -> bool {
        matches!(
            self,
            Metric::Switches
                | Metric::SwitchesPerSecond
                | Metric::Interrupts
                | Metric::InterruptsPerIo
                | Metric::Polls
                | Metric::UsefulPolls
                | Metric::Sleeps
        )
    }

    fn plain(self, counts: &Counts, numjobs: usize) -> Option<f64> {
        if counts.all.ios == 0 || counts.seconds <= 0.0 {
            return None;
        }
        let (ios, seconds) = (counts.all.ios as f64, counts.seconds);
        let threads = [counts.threads.submitter, counts.threads.kernel];
        let system: f64 = threads.iter().map(|usage| usage.system_seconds).sum();
        let cpu = system + threads.iter().map(|usage| usage.user_seconds).sum::<f64>();
        let interrupts = || counts.interrupts().map(|count| count as f64);
        let wait = &counts.wait;
        Some(match self {
            Metric::Iops(side) => side.of(counts)?.iops,
            Metric::BytesPerSecond(side) => side.of(counts)?.bandwidth_bytes_per_second,
            Metric::Latency(side, statistic) => statistic.nanoseconds(side.of(counts)?)? / 1e3,
            Metric::CpuPercent => cpu / seconds / numjobs.max(1) as f64 * 100.0,
            Metric::CpuPercentAll => cpu / seconds * 100.0,
            Metric::SystemPercentAll => system / seconds * 100.0,
            Metric::CpuUs => cpu * 1e6 / ios,
            Metric::Switches => counts.threads.submitter.voluntary_switches as f64 / ios,
            Metric::SwitchesPerSecond => {
                counts.threads.submitter.voluntary_switches as f64 / seconds
            }
            Metric::Interrupts => interrupts()? / seconds,
            Metric::InterruptsPerIo => interrupts()? / ios,
            Metric::Polls => wait.polls as f64 / ios,
            Metric::UsefulPolls if wait.polls > 0 => {
                let useful = wait.polls.saturating_sub(wait.empty_polls);
                useful as f64 / wait.polls as f64 * 100.0
            }
            Metric::Sleeps => wait.sleeps as f64 / ios,
            Metric::Jain => JobCounts::jain(&counts.per_job)?,
            Metric::LeastIops => {
                let iops = JobCounts::lightest(&counts.per_job).map(|job| job.iops);
                iops.min_by(f64::total_cmp)?
            }
            Metric::WorstP99 => {
                let p99 = JobCounts::lightest(&counts.per_job).map(|job| job.p99_ns);
                p99.max()? as f64 / 1e3
            }
            Metric::NeighbourPercent => counts.neighbour_percent?,
            Metric::UsefulPolls | Metric::UsefulCpu | Metric::Energy(..) => return None,
        })
    }
}

impl Side {
    /// Returns the I/Os of this side; `None` if there were none.
    pub fn of(self, counts: &Counts) -> Option<&DirectionResult> {
        let side = match self {
            Side::All => &counts.all,
            Side::Read => &counts.read,
            Side::Write => &counts.write,
        };
        (side.ios > 0).then_some(side)
    }
}

impl LatencyStatistic {
    /// Returns the statistic of `side` in nanoseconds; `None` if it was not kept.
    fn nanoseconds(self, side: &DirectionResult) -> Option<f64> {
        let latency = &side.latency_ns;
        Some(match self {
            LatencyStatistic::Mean => latency.mean,
            LatencyStatistic::StandardDeviation => latency.stddev?,
            LatencyStatistic::P50 => latency.p50 as f64,
            LatencyStatistic::P90 => latency.p90 as f64,
            LatencyStatistic::P99 => latency.p99 as f64,
            LatencyStatistic::P999 => latency.p999 as f64,
            LatencyStatistic::P9999 => latency.p9999? as f64,
            LatencyStatistic::P99999 => latency.p99999? as f64,
            LatencyStatistic::Max => latency.max as f64,
        })
    }
}

impl EnergyMetric {
    fn of(self, counts: &Counts, boundary: Option<Boundary>) -> Option<MetricValue> {
        let figure = counts.energy_at(boundary)?;
        let value = match self {
            EnergyMetric::Watts => figure.watts,
            EnergyMetric::IosPerJoule => figure.ios_per_joule?,
            EnergyMetric::BytesPerJoule => figure.bytes_per_joule?,
            EnergyMetric::JoulesPerMillion => figure.joules_per_io? * 1e6,
        };
        let per_joule = matches!(
            self,
            EnergyMetric::IosPerJoule | EnergyMetric::BytesPerJoule
        );
        let band = figure.band_joules.filter(|_| figure.joules > 0.0);
        let band = band.map(|(low, high)| match per_joule {
            true => (value * figure.joules / high, value * figure.joules / low),
            false => (value * low / figure.joules, value * high / figure.joules),
        });
        Some(MetricValue {
            value,
            modelled: figure.modelled,
            band,
            energy: Some((figure.boundary, figure.source.clone())),
        })
    }
}

/// Returns the names of all metrics for an error message; of names with a side or a boundary, one example each.
fn known() -> String {
    let plain = Metric::all().into_iter().filter_map(|(metric, name)| {
        let common = match metric {
            Metric::Iops(side) | Metric::BytesPerSecond(side) | Metric::Latency(side, _) => {
                side == Side::All
            }
            Metric::Energy(_, boundary) => boundary.is_none(),
            _ => true,
        };
        common.then_some(name)
    });
    let plain: Vec<_> = plain.collect();
    plain.join(", ")
        + ", and these of one direction (read_iops) or at one boundary (package_watts, ios_per_wall_joule)"
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Metric::all();
        let name = all.iter().find(|(metric, _)| metric == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Metric, UnknownMetric> {
        let mut all = Metric::all().into_iter();
        let found = all.find(|(_, name)| name == text);
        let found = found.map(|(metric, _)| metric);
        found.ok_or_else(|| UnknownMetric(text.to_owned()))
    }
}

impl TryFrom<String> for Metric {
    type Error = UnknownMetric;

    fn try_from(text: String) -> Result<Metric, UnknownMetric> {
        text.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CompletionMode, CompletionResult, EnergyResult, EngineName, Job, LatencySummary, Method,
        ThreadUsage,
    };
    use std::collections::BTreeSet;

    fn wall() -> EnergyResult {
        EnergyResult {
            boundary: Boundary::Wall,
            zone: "wall".into(),
            source: "model of a box".into(),
            modelled: true,
            idle_subtracted: false,
            joules: 20.0,
            error_joules: None,
            band_joules: Some((10.0, 40.0)),
            window_seconds: 2.0,
            watts: 10.0,
            joules_per_io: Some(0.02),
            ios_per_joule: Some(50.0),
            bytes_per_joule: Some(50.0 * 4096.0),
            note: None,
        }
    }

    fn run() -> RunResult {
        let side = DirectionResult {
            ios: 1_000,
            errors: 0,
            iops: 500.0,
            bandwidth_bytes_per_second: 500.0 * 4096.0,
            latency_ns: LatencySummary {
                mean: 8_125.0,
                p50: 8_000,
                ..LatencySummary::default()
            },
        };
        let mut counts = Counts {
            seconds: 2.0,
            read: side.clone(),
            all: side,
            energy: vec![wall()],
            ..Counts::default()
        };
        counts.threads.submitter = ThreadUsage {
            threads: 2,
            user_seconds: 1.0,
            system_seconds: 2.0,
            voluntary_switches: 500,
            involuntary_switches: 0,
        };
        (counts.wait.polls, counts.wait.empty_polls) = (4_000, 3_000);
        counts.wait.interrupts = 100;
        let method = Method {
            engine: EngineName::Nvme,
            mode: CompletionMode::Poll,
        };
        let completion = CompletionResult {
            requested: "poll".into(),
            effective: Some("poll".into()),
            reason: None,
        };
        let job = Job {
            numjobs: 2,
            ..Job::random_reads(500)
        };
        RunResult {
            useful_cpu_percent: Some(12.5),
            ..RunResult::new(&job, method, Vec::new(), completion, Some(counts))
        }
    }

    fn value(name: &str) -> Option<f64> {
        let metric: Metric = name.parse().expect(name);
        metric.of(&run()).map(|value| value.value)
    }

    #[test]
    fn every_metric_has_one_name_and_reads_back() {
        let all = Metric::all();
        let names: BTreeSet<_> = all.iter().map(|(_, name)| name).collect();
        assert_eq!(names.len(), all.len());
        for (metric, name) in &all {
            assert_eq!(name.parse(), Ok(*metric));
            assert_eq!(metric.to_string(), *name);
            let json = serde_json::to_string(metric).unwrap();
            assert_eq!(json, format!("{name:?}"));
            assert_eq!(serde_json::from_str::<Metric>(&json).unwrap(), *metric);
        }
        let wrong = "iopz".parse::<Metric>().unwrap_err().to_string();
        assert!(
            wrong.starts_with("no metric 'iopz': there are iops, "),
            "{wrong}"
        );
        assert!(wrong.contains("package_watts"), "{wrong}");
    }

    #[test]
    fn metrics_are_arithmetic_on_the_result() {
        let cases = [
            ("iops", 500.0),
            ("read_iops", 500.0),
            ("bytes_per_second", 2_048_000.0),
            ("latency_us", 8.125),
            ("read_p50_us", 8.0),
            ("cpu_percent", 75.0),
            ("cpu_percent_all", 150.0),
            ("system_percent_all", 100.0),
            ("cpu_us", 3_000.0),
            ("switches", 0.5),
            ("interrupts", 50.0),
            ("interrupts_per_io", 0.1),
            ("polls", 4.0),
            ("useful_polls_percent", 25.0),
            ("useful_cpu_percent", 12.5),
            ("sleeps", 0.0),
            ("watts", 10.0),
            ("wall_watts", 10.0),
            ("ios_per_joule", 50.0),
            ("bytes_per_wall_joule", 204_800.0),
            ("joules_per_million", 20_000.0),
        ];
        for (name, expected) in cases {
            let value = value(name).expect(name);
            assert!(
                (value - expected).abs() <= 1e-9 * expected,
                "{name}: {value}"
            );
        }
        for absent in ["write_iops", "package_watts", "p99999_us"] {
            assert_eq!(value(absent), None, "{absent}");
        }
    }

    #[test]
    fn a_modelled_energy_has_its_band_the_lower_end_first() {
        let of = |name: &str| name.parse::<Metric>().unwrap().of(&run()).unwrap();
        let watts = of("watts");
        assert_eq!(watts.band, Some((5.0, 20.0)));
        assert_eq!(of("ios_per_joule").band, Some((25.0, 100.0)));
        let source = (Boundary::Wall, "model of a box".to_owned());
        assert_eq!((watts.modelled, watts.energy), (true, Some(source)));
        assert_eq!((of("iops").modelled, of("iops").energy), (false, None));
    }

    #[test]
    fn a_run_that_was_not_done_has_no_figure() {
        let none = RunResult {
            counts: None,
            ..run()
        };
        for (metric, name) in Metric::all() {
            assert_eq!(metric.of(&none), None, "{name}");
        }
    }
}
