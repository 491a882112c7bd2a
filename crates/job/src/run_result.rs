//! The result of a run: the shape of `--output json`.

use crate::{
    BlockSizes, CompletionResult, Counts, EngineName, Job, JobKind, Method, ReadWrite, Spoiled,
};
use joulio_units::PastTdp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One workload in one completion mode. Figures are there if the mode, or another, was effective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// The devices, as they were named.
    pub devices: Vec<String>,
    /// Engine, which did the I/O.
    pub engine: EngineName,
    /// Requested and effective completion mode.
    pub completion: CompletionResult,
    /// Settings of the machine that were made for the run, by name. Filled in by who made them.
    pub settings: BTreeMap<String, String>,
    /// Pattern and direction.
    pub rw: ReadWrite,
    /// Bytes of an I/O; a list: jobs take them in turn.
    pub bs: BlockSizes,
    /// I/Os in flight, each job on each of its devices.
    pub iodepth: usize,
    /// Jobs.
    pub numjobs: usize,
    /// Threads or processes.
    pub job_kind: JobKind,
    /// Seconds before the measured part.
    pub ramp_seconds: f64,
    /// `closed`, `open`, or `closed and open` in phases.
    #[serde(rename = "loop")]
    pub loop_: String,
    /// Description of what ended the run without a result; `null`: it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// True if the run was ended early.
    pub interrupted: bool,
    /// True for a run in virtual time: every figure is a model's, none was measured.
    pub modelled: bool,
    /// Reasons why the figures are not those of the completion mode; empty: they are.
    pub spoiled: Vec<Spoiled>,
    /// In virtual time alone: the power of a package that draws more than it is sold to draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_tdp: Option<PastTdp>,
    /// In virtual time alone: percent of the jobs' CPUs in which these did not wait, be it by polls that
    /// found nothing, paused or idle.
    #[serde(default)]
    pub useful_cpu_percent: Option<f64>,
    /// The figures.
    #[serde(flatten)]
    pub counts: Option<Counts>,
}

impl RunResult {
    /// Result of `job` by `method` on `devices`: `counts` in the effective completion mode,
    /// or none. Neither ended early nor spoiled, and measured, as far as this knows.
    pub fn new(
        job: &Job,
        method: Method,
        devices: Vec<String>,
        completion: CompletionResult,
        counts: Option<Counts>,
    ) -> RunResult {
        RunResult {
            devices,
            engine: method.engine,
            completion,
            settings: BTreeMap::new(),
            rw: job.rw,
            bs: job.bs.clone(),
            iodepth: job.iodepth,
            numjobs: job.numjobs,
            job_kind: job.kind,
            ramp_seconds: job.ramp_time.seconds(),
            loop_: job.loop_name().into(),
            failure: None,
            interrupted: false,
            modelled: false,
            spoiled: Vec::new(),
            past_tdp: None,
            useful_cpu_percent: None,
            counts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompletionMode, DeviceCounts, LatencySummary};

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
            let job = Job::random_reads(1);
            let result = RunResult::new(&job, method, devices, completion.clone(), counts);
            let text = serde_json::to_string(&result).expect("a result");
            let read: RunResult = serde_json::from_str(&text).expect("a result");
            assert_eq!(read, result);
        }
    }
}
