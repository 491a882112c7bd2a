//! fio's vocabulary turned into requests.
//!
//! A [`Job`] says what to do, a [`Target`] is where, an [`Engine`] how. [`run`] does it
//! with one thread a job and returns a [`RunResult`], which is also what `--output json` prints.
#![forbid(unsafe_code)]

pub mod engine;

mod area;
mod conductor;
mod control;
mod cpu;
mod energy;
mod job;
mod looped;
mod machine;
mod method;
mod pattern;
mod place;
mod process;
mod quantity;
mod report;
mod result;
mod run;
mod sizes;
pub mod spoiled;
mod stats;
mod stopped;
mod surroundings;
mod sweep;
mod target;
mod verify;

pub use area::Area;
pub use control::Stop;
pub use energy::{Done, EnergyResult, Unmetered};
pub use job::{Arrivals, Job, JobError, ReadWrite, Verify};
pub use joulio_engine::Engine;
pub use joulio_kernel_io::{CpuUse, RingOptions};
pub use machine::{Counting as ThreadCounting, ThreadCounters};
pub use machine::{DiskCounters, Dispatch, IdleCounters, MachineCounters};
pub use method::{EngineName, Method, Obtained, Way};
pub use process::{COMMAND, NoJob, ProcessError, Tenants, tenant};
pub use quantity::{parse_count, parse_size, parse_time};
pub use result::{
    Completion, Counts, FaultCounts, FixedWindow, LatencySummary, RunResult, Side, ThreadUsage,
    Threads, VerifyResult, WaitCounters,
};
pub use run::{RunError, Setup, check, run};
pub use sizes::BlockSizes;
pub use spoiled::{Spoiled, SpoiledBy};
pub use surroundings::{Happened, Surroundings};
pub use target::{Activity, Elsewhere, Inside, KernelTarget, NvmeTarget, Target, Verdict};
