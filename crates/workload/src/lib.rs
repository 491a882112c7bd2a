//! Runs jobs described with fio's options.
//!
//! A [`Job`] describes the I/O, a [`Target`] is the device or file that it runs on, and an [`Engine`] executes it.
//! [`run`] runs several jobs at the same time, the [`Member`]s of a run, each in a thread of its own. It returns a
//! [`RunResult`], which `--output json` prints as it is.
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

pub mod engine;

mod check;
mod conductor;
mod control;
mod cpu;
mod energy;
mod external;
mod io_totals;
mod job_result;
mod machine;
mod member;
mod pass;
mod pattern;
mod place;
mod process;
mod progress;
mod protocol;
mod recorded_ios;
mod report;
mod run;
mod run_error;
mod setup;
mod share;
pub mod spoiled;
mod stopped;
mod surroundings;
mod target;
mod verify;
mod worker;
mod worker_error;

pub use check::check;
pub use control::Stop;
pub use cpu::thread_usage;
pub use external::{ExternalMeasured, ExternalWindow};
pub use joulio_engine::Engine;
pub use joulio_job::{
    Area, Arrivals, Availability, Batches, Better, BlockSizeSplit, BlockSizes, CompletionMode,
    CompletionResult, Counts, DeviceCounts, DirectionResult, DiskCounters, Dispatch, EnergyMetric,
    EnergyResult, EngineName, FaultCounts, FixedWindow, Flushes, IdleCounters, IoStatistics, Job,
    JobCounts, JobError, JobKind, JobLog, LatencyDetail, LatencySummary, Load, LoggedIo,
    MachineCounters, Method, Metric, MetricValue, ParseError, Phase, Placement, QueuePriorities,
    RandomDistribution, ReadWrite, RunResult, SectionResult, Spoiled, SpoiledBy, Steadiness,
    SteadyCriterion, SteadyRate, SteadyState, SteadyStateResult, ThreadUsage, Threads, Unmetered,
    Verify, VerifyResult, WaitCounters, WorkDone, parse_count, parse_percentiles, parse_size,
    parse_slo, parse_time, section_name,
};
pub use joulio_kernel_io::{CpuUse, RingOptions};
pub use machine::{Counting as ThreadCounting, ThreadCounters};
pub use member::Member;
pub use process::{COMMAND, NoJob, ProcessError, tenant};
pub use progress::RunProgress;
pub use recorded_ios::RecordedIos;
pub use run::{run, run_recorded};
pub use run_error::RunError;
pub use setup::Setup;
pub use surroundings::{Happened, Surroundings};
pub use target::{
    EmulatedInfo, KernelTarget, ModeVerdict, NvmeTarget, ObservedTarget, OperationError,
    PowerHandle, ProcessTarget, Target, TargetActivity, TargetInfo,
};
