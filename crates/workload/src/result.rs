//! What a run is: the shape of `--output json`.

use crate::energy::{EnergyResult, Unmetered};
use joulio_job::{
    BlockSizes, CompletionResult, DirectionResult, EngineName, FaultCounts, JobKind,
    MachineCounters, ReadWrite, Spoiled, Threads, VerifyResult, WaitCounters,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Fixed work in a fixed window: who is done early races to idle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FixedWindow {
    /// Seconds of the window that was requested.
    pub requested_seconds: f64,
    /// Seconds of the energy: longer, when the work did not fit; shorter, when it was stopped.
    pub seconds: f64,
    /// Seconds after the work in which the machine was idle.
    pub idle_seconds: f64,
    /// True if the work was done before the end of the window.
    pub fits: bool,
}

/// One workload in one completion mode. Figures are there if the mode, or another, was effective.
#[derive(Clone, Debug, Serialize)]
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
    /// I/Os in flight, each job.
    pub iodepth: usize,
    /// Jobs.
    pub numjobs: usize,
    /// Threads or processes.
    pub job_kind: JobKind,
    /// Seconds before the measured part.
    pub ramp_seconds: f64,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub loop_: &'static str,
    /// True if the run was ended early.
    pub interrupted: bool,
    /// True for a run in virtual time: every figure is a model's, none was measured.
    pub modelled: bool,
    /// Reasons why the figures are not those of the completion mode; empty: they are.
    pub spoiled: Vec<Spoiled>,
    /// In virtual time alone: the power of a package that draws more than it is sold to draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_tdp: Option<joulio_model::PastTdp>,
    /// The figures.
    #[serde(flatten)]
    pub counts: Option<Counts>,
}

/// Figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Seconds of the measured part, ramp not included.
    pub seconds: f64,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Reads and writes together.
    pub all: DirectionResult,
    /// CPU time of the threads, by role.
    pub threads: Threads,
    /// Counters of waiting.
    pub wait: WaitCounters,
    /// Faults of the devices.
    pub faults: FaultCounts,
    /// System calls of the jobs' engines; `null`: not counted.
    pub system_calls: Option<u64>,
    /// Counters of the machine.
    pub machine: MachineCounters,
    /// Energy, a figure each: the meters' and the model's.
    pub energy: Vec<EnergyResult>,
    /// Meters that were read and have no figure.
    pub unmetered: Vec<Unmetered>,
    /// The fixed window that energy was counted in, and whether the work fitted into it.
    pub window: Option<FixedWindow>,
    /// Arrivals of an open loop that found no free slot before the end and were never issued: the
    /// device cannot keep up, and the latencies do not show them.
    pub arrivals_not_issued: u64,
    /// Result of verification, if it was requested.
    pub verify: Option<VerifyResult>,
    /// Description of the first I/O that failed.
    pub first_error: Option<String>,
}
