//! The result of a run, in the form of `--output json`.

use crate::{
    BlockSizes, CompletionMode, CompletionResult, Counts, EngineName, Job, JobKind, Method,
    ReadWrite, Spoiled,
};
use joulio_units::{PastTdp, Slo};
use joulio_wait::Promised;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of a workload in one completion mode. Figures are present if that mode, or another, was effective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// The devices, as they were named.
    pub devices: Vec<String>,
    /// Engine, which did the I/O; `None`: sections differ in it.
    pub engine: Option<EngineName>,
    /// Requested and effective completion mode.
    pub completion: CompletionResult,
    /// Settings of the machine that were made for the run, by name. Filled in by the caller that made them.
    pub settings: BTreeMap<String, String>,
    /// Pattern and direction; `None`: sections differ in it.
    pub rw: Option<ReadWrite>,
    /// Bytes of an I/O; a list: jobs take them in turn; `None`: sections differ in it.
    pub bs: Option<BlockSizes>,
    /// I/Os in flight, each job on each of its devices; `None`: sections differ in it.
    pub iodepth: Option<usize>,
    /// Jobs, of all sections together.
    pub numjobs: usize,
    /// Threads or processes; `None`: sections differ in it.
    pub job_kind: Option<JobKind>,
    /// Seconds before the measured part, of sections the shortest.
    pub ramp_seconds: f64,
    /// `closed`, `open`, or `closed and open` in phases and sections.
    #[serde(rename = "loop")]
    pub loop_: String,
    /// Description of the failure that ended the run without a result; `null`: it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// True if the run was ended early.
    pub interrupted: bool,
    /// True for a run in virtual time: every figure is a model's, none was measured.
    pub modelled: bool,
    /// Reasons why the figures are not those of the completion mode; empty: they are.
    pub spoiled: Vec<Spoiled>,
    /// Power of a package that draws more than its TDP; in virtual time alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_tdp: Option<PastTdp>,
    /// Percent of the jobs' CPUs in which these did not wait; in virtual time alone. Polls that find nothing, pauses
    /// and idle time are waits.
    #[serde(default)]
    pub useful_cpu_percent: Option<f64>,
    /// Nanoseconds that `adaptive` promised, by percentile; `None`: none were given, or another mode waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<BTreeMap<String, u64>>"))]
    pub slo: Option<Slo>,
    /// Machine whose costs `adaptive` planned by; `None`: the simulated one, or another mode waited. Filled in by the
    /// caller that chose the costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_by: Option<String>,
    /// Sections of a job file that ran beside each other, each by itself; empty: the run is of one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionResult>,
    /// Reporting groups of the sections, where there are several and one of them has several sections; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reporting_groups: Vec<SectionResult>,
    /// The figures, of all sections together.
    #[serde(flatten)]
    pub counts: Option<Counts>,
}

/// A section of a run of several, or the sections of a reporting group together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionResult {
    /// Name of the section, or of those of the group: `a+b`.
    pub section: String,
    /// Factors of the section, or those that all of the group have in common. Filled in by the caller that knows
    /// them.
    #[serde(default)]
    pub point: BTreeMap<String, String>,
    /// Result of the section. Energy, and what the machine and the devices counted, are of all sections
    /// together, and not in it.
    #[serde(flatten)]
    pub result: RunResult,
}

impl RunResult {
    /// Returns the result of `job` with `method` on `devices`; `counts` are its figures in the effective completion
    /// mode, if there is one. By default the run was measured, and neither ended early nor spoiled.
    pub fn new(
        job: &Job,
        method: Method,
        devices: Vec<String>,
        completion: CompletionResult,
        counts: Option<Counts>,
    ) -> RunResult {
        RunResult {
            devices,
            engine: Some(method.engine),
            completion,
            settings: BTreeMap::new(),
            rw: Some(job.rw),
            bs: Some(job.bs.clone()),
            iodepth: Some(job.iodepth),
            numjobs: job.numjobs,
            job_kind: Some(job.kind),
            ramp_seconds: (job.start_delay + job.ramp_time).seconds(),
            loop_: job.loop_name().into(),
            failure: None,
            interrupted: false,
            modelled: false,
            spoiled: Vec::new(),
            past_tdp: None,
            useful_cpu_percent: None,
            slo: match (method.mode, job.goal.promised) {
                (CompletionMode::Adaptive, Promised::Slo(slo)) => Some(slo),
                _ => None,
            },
            planned_by: None,
            sections: Vec::new(),
            reporting_groups: Vec::new(),
            counts,
        }
    }

    /// Returns true if another program did the I/O.
    pub fn is_external(&self) -> bool {
        self.engine.is_some_and(EngineName::is_external)
    }

    /// Returns the result of `sections`, at least one, on `devices`; `counts` are the figures of all together.
    /// Fields in which the sections differ are `None`.
    pub fn of_sections(
        sections: Vec<SectionResult>,
        devices: Vec<String>,
        counts: Option<Counts>,
    ) -> RunResult {
        let runs = || sections.iter().map(|section| &section.result);
        let loops: Vec<_> = runs().map(|run| run.loop_.as_str()).collect();
        RunResult {
            devices,
            engine: common(runs().map(|run| run.engine)),
            completion: completion(&sections),
            settings: BTreeMap::new(),
            rw: common(runs().map(|run| run.rw)),
            bs: common(runs().map(|run| run.bs.clone())),
            iodepth: common(runs().map(|run| run.iodepth)),
            numjobs: runs().map(|run| run.numjobs).sum(),
            job_kind: common(runs().map(|run| run.job_kind)),
            ramp_seconds: runs()
                .map(|run| run.ramp_seconds)
                .fold(f64::INFINITY, f64::min),
            loop_: match loops.iter().all(|one| *one == loops[0]) {
                true => loops[0].to_owned(),
                false => "closed and open".into(),
            },
            failure: None,
            interrupted: runs().any(|run| run.interrupted),
            modelled: runs().any(|run| run.modelled),
            spoiled: Vec::new(),
            past_tdp: None,
            useful_cpu_percent: None,
            slo: common(runs().map(|run| run.slo)),
            planned_by: None,
            counts,
            sections,
            reporting_groups: Vec::new(),
        }
    }
}

/// Largest number of sections whose names are all listed.
const FEW: usize = 4;

/// Returns the name of `sections` together: `a+b`, or the first name and the number of the others.
pub fn section_name(sections: &[String]) -> String {
    match sections {
        [first, rest @ ..] if rest.len() >= FEW => format!("{first} and {} more", rest.len()),
        sections => sections.join("+"),
    }
}

/// Returns the value that all `values` have in common, if there is one.
fn common<T: PartialEq>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let all: Option<Vec<T>> = values.collect();
    let mut all = all?.into_iter();
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Returns the completion modes of `sections`, each once; with the engines if these differ.
fn completion(sections: &[SectionResult]) -> CompletionResult {
    let runs = || sections.iter().map(|section| &section.result);
    let alike = common(runs().map(|run| run.engine)).is_some();
    let named = |run: &RunResult, mode: &str| match run.engine {
        Some(engine) if !alike => format!("{engine} {mode}"),
        _ => mode.to_owned(),
    };
    let once = |modes: Vec<String>| {
        let mut once: Vec<String> = Vec::new();
        for mode in modes {
            if !once.contains(&mode) {
                once.push(mode);
            }
        }
        once.join(", ")
    };
    let effective = runs().map(|run| Some(named(run, run.completion.effective.as_deref()?)));
    let effective: Option<Vec<_>> = effective.collect();
    CompletionResult {
        requested: once(
            runs()
                .map(|run| named(run, &run.completion.requested))
                .collect(),
        ),
        effective: effective.map(once),
        reason: runs().find_map(|run| run.completion.reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceCounts, LatencySummary};
    use joulio_units::{Nanos, Percentile};

    #[test]
    fn a_result_is_the_same_after_json() {
        let method = Method {
            engine: EngineName::Nvme,
            mode: CompletionMode::Poll,
        };
        let completion = CompletionResult {
            requested: "poll".into(),
            effective: Some("poll".into()),
            reason: None,
        };
        let mut counts = Counts::default();
        counts.read.latency_ns = LatencySummary {
            mean: 8125.25,
            p50: 8000,
            ..LatencySummary::default()
        };
        counts
            .machine
            .missing
            .insert("cycles".into(), "not counted here".into());
        counts.per_device = vec![DeviceCounts::default()];
        for counts in [Some(counts), None] {
            let devices = vec!["optane-900p".to_owned()];
            let mut job = Job::random_reads(1);
            job.goal.promised = Promised::Slo(Slo::of(Percentile::P99, Nanos(15_000)));
            let result = RunResult::new(&job, method, devices, completion.clone(), counts);
            let text = serde_json::to_string(&result).expect("a result");
            let read: RunResult = serde_json::from_str(&text).expect("a result");
            assert_eq!(read, result);
            assert_eq!(result.slo, None, "polling promises nothing");
            let mode = CompletionMode::Adaptive;
            let method = Method { mode, ..method };
            let result = RunResult::new(&job, method, Vec::new(), completion.clone(), None);
            let text = serde_json::to_string(&result).expect("a result");
            assert!(text.contains(r#""slo":{"p99":15000}"#), "{text}");
            let read: RunResult = serde_json::from_str(&text).expect("a result");
            assert_eq!(read, result);
        }
    }

    #[test]
    fn many_names_are_the_first_and_a_number() {
        let names: Vec<String> = (1..=32).map(|n| format!("file{n}")).collect();
        assert_eq!(section_name(&names), "file1 and 31 more");
        assert_eq!(section_name(&names[..3]), "file1+file2+file3");
    }
}
