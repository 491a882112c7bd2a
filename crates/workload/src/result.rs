//! What a run is: the shape of `--output json`.

use crate::energy::{EnergyResult, Unmetered};
use crate::machine::MachineCounters;
use crate::sizes::BlockSizes;
use crate::spoiled::Spoiled;
use crate::stats::Tally;
use hdrhistogram::Histogram;
use joulio_nvme::Faults;
use joulio_nvme::wait::Counters;
use joulio_trace::Thread;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The way of waiting that was asked for, and the one obtained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Completion {
    /// As `--completion` named it.
    pub asked: String,
    /// What really waited; `None` when it could not be had.
    pub obtained: Option<String>,
    /// Why it could not.
    pub reason: Option<String>,
}

/// Latency in nanoseconds, from arrival to completion; all zero when there was no I/O.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

/// Counts and rates of one direction, or of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// I/Os that succeeded.
    pub ios: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second.
    pub bandwidth_bytes_per_second: f64,
    /// Latency.
    pub latency_ns: LatencySummary,
}

impl LatencySummary {
    /// Of the latencies in `h`, in nanoseconds.
    pub fn new(h: &Histogram<u64>) -> LatencySummary {
        let quantile = |q| {
            if h.is_empty() {
                0
            } else {
                h.value_at_quantile(q)
            }
        };
        LatencySummary {
            mean: if h.is_empty() { 0.0 } else { h.mean() },
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: if h.is_empty() { 0 } else { h.max() },
        }
    }
}

impl Side {
    /// `ios` of `bytes` together in `window`; none failed.
    pub fn new(ios: u64, bytes: u64, latency_ns: LatencySummary, window: Nanos) -> Side {
        let per_second = |n: u64| {
            if window == Nanos::ZERO {
                0.0
            } else {
                n as f64 / window.seconds()
            }
        };
        Side {
            ios,
            errors: 0,
            iops: per_second(ios),
            bandwidth_bytes_per_second: per_second(bytes),
            latency_ns,
        }
    }

    pub(crate) fn of(tally: &Tally, window: Nanos) -> Side {
        let latency_ns = LatencySummary::new(&tally.latency);
        Side {
            errors: tally.errors,
            ..Side::new(tally.ios, tally.bytes, latency_ns, window)
        }
    }
}

/// CPU time and context switches of threads in one role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUsage {
    /// How many threads; zero where the role does not exist.
    pub threads: usize,
    /// CPU seconds in user mode.
    pub user_seconds: f64,
    /// CPU seconds in the kernel.
    pub system_seconds: f64,
    /// Switches because the thread waited.
    pub voluntary_switches: u64,
    /// Switches because another was due.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    pub(crate) fn since(self, earlier: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            threads: self.threads,
            user_seconds: (self.user_seconds - earlier.user_seconds).max(0.0),
            system_seconds: (self.system_seconds - earlier.system_seconds).max(0.0),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }

    pub(crate) fn add(&mut self, other: ThreadUsage) {
        self.threads += other.threads;
        self.user_seconds += other.user_seconds;
        self.system_seconds += other.system_seconds;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }
}

/// CPU time by role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Threads {
    /// The jobs.
    pub submitter: ThreadUsage,
    /// The emulated devices: work that a real device would do itself.
    pub device: ThreadUsage,
    /// The kernel's pollers.
    pub kernel: ThreadUsage,
}

/// What waiting did, all jobs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WaitCounters {
    /// Looks at completion queues.
    pub polls: u64,
    /// Looks in vain.
    pub empty_polls: u64,
    /// Sleeps by a kernel timer.
    pub sleeps: u64,
    /// Sleeps that ended after the completion.
    pub oversleeps: u64,
    /// Pauses in a user-level power state.
    pub pauses: u64,
    /// Waits in one for a write to a line.
    pub monitors: u64,
    /// Pauses and waits that the system's limit cut short.
    pub limited: u64,
    /// Interrupts that came straight to the job's thread.
    pub user_interrupts: u64,
    /// Times that these were taken away from the thread, and the kernel took the interrupts.
    pub lost_bindings: u64,
    /// Times that they were bound again.
    pub rebindings: u64,
    /// Blocks for an interrupt.
    pub blocks: u64,
    /// Interrupts received.
    pub interrupts: u64,
    /// Blocks that an interrupt ended.
    pub wakes: u64,
    /// Completions whose interrupt did not come.
    pub lost_interrupts: u64,
    /// Wakes that found no completion.
    pub vain_wakes: u64,
    /// Seconds blocked.
    pub blocked_seconds: f64,
    /// Seconds in sleeps.
    pub slept_seconds: f64,
    /// Nanoseconds by which a sleep ended later than it was to, on average.
    pub mean_oversleep_ns: f64,
}

impl From<Counters> for WaitCounters {
    fn from(c: Counters) -> WaitCounters {
        WaitCounters {
            polls: c.polls,
            empty_polls: c.empty_polls,
            sleeps: c.sleeps,
            oversleeps: c.oversleeps,
            pauses: c.pauses,
            monitors: c.monitors,
            limited: c.limited,
            user_interrupts: c.user_interrupts,
            lost_bindings: c.lost_bindings,
            rebindings: c.rebindings,
            blocks: c.blocks,
            interrupts: c.interrupts,
            wakes: c.wakes,
            lost_interrupts: c.lost_interrupts,
            vain_wakes: c.vain_wakes,
            blocked_seconds: c.blocked.seconds(),
            slept_seconds: c.slept.seconds(),
            mean_oversleep_ns: c.overslept.0 as f64 / c.sleeps.max(1) as f64,
        }
    }
}

/// What devices did wrong, and what was done about it, all jobs together, ramp included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FaultCounts {
    /// Completions of an earlier command of their slot, not delivered.
    pub stale_completions: u64,
    /// Completions of a command completed before, not delivered.
    pub doubled_completions: u64,
    /// Completions of no command, not delivered.
    pub unknown_completions: u64,
    /// Commands that did not complete in time, and were aborted.
    pub timeouts: u64,
    /// Resets of a controller, counted by each queue that went through one.
    pub resets: u64,
    /// Commands that a reset ended.
    pub ended_by_reset: u64,
    /// Commands sent again.
    pub retries: u64,
    /// Times that somebody else had written an interrupt vector's table entry, and it was set again.
    pub vectors_rewritten: u64,
}

impl From<Faults> for FaultCounts {
    fn from(f: Faults) -> FaultCounts {
        FaultCounts {
            stale_completions: f.stale,
            doubled_completions: f.doubled,
            unknown_completions: f.unknown,
            timeouts: f.timeouts,
            resets: f.resets,
            ended_by_reset: f.ended_by_reset,
            retries: f.retries,
            vectors_rewritten: f.vectors_rewritten,
        }
    }
}

/// What verification found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// Blocks whose content was checked, during the run and after it.
    pub blocks: u64,
    /// Blocks that were wrong.
    pub errors: u64,
    /// The first that was.
    pub first_error: Option<String>,
}

/// Fixed work in a fixed window: who is done early races to idle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FixedWindow {
    /// As it was asked for.
    pub asked_seconds: f64,
    /// Seconds of the energy: longer, when the work did not fit; shorter, when it was stopped.
    pub seconds: f64,
    /// Seconds after the work in which the machine was idle.
    pub idle_seconds: f64,
    /// The work was done before its end.
    pub fits: bool,
}

/// One workload under one way of waiting. Figures are there when it was obtained.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The devices, as they were named.
    pub devices: Vec<String>,
    /// Who did the I/O.
    pub engine: &'static str,
    /// Asked and obtained.
    pub completion: Completion,
    /// What was set for it, by name: the scheduler, say. Filled in by who set it.
    pub settings: BTreeMap<String, String>,
    /// `--rw`.
    pub rw: String,
    /// Bytes of an I/O; a list: jobs take them in turn.
    pub bs: BlockSizes,
    /// I/Os in flight, each job.
    pub iodepth: usize,
    /// Threads or processes.
    pub numjobs: usize,
    /// Which of them: `threads` or `processes`.
    pub tenants: &'static str,
    /// Seconds that it ran before it was measured.
    pub ramp_seconds: f64,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub loop_: &'static str,
    /// It was ended early.
    pub interrupted: bool,
    /// It was played in virtual time: every figure is a model's, none was measured.
    pub modelled: bool,
    /// Why the figures are not the way of waiting's, if they are not.
    pub spoiled: Vec<Spoiled>,
    /// Virtual time alone: the modelled package draws more than it is sold to draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_tdp: Option<joulio_model::PastTdp>,
    /// What was traced: a thread a job.
    #[serde(skip)]
    pub traced: Vec<Thread>,
    /// The figures.
    #[serde(flatten)]
    pub counts: Option<Counts>,
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// The measured window, ramp not included.
    pub seconds: f64,
    /// Reads.
    pub read: Side,
    /// Writes.
    pub write: Side,
    /// Both.
    pub all: Side,
    /// CPU time.
    pub threads: Threads,
    /// Waiting.
    pub wait: WaitCounters,
    /// What the devices did wrong.
    pub faults: FaultCounts,
    /// System calls of the jobs' engines; `null`: not counted.
    pub system_calls: Option<u64>,
    /// What the machine counted.
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
    /// Verification, if asked for.
    pub verify: Option<VerifyResult>,
    /// The first I/O that failed.
    pub first_error: Option<String>,
}
