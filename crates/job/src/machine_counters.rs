//! Counters of the machine.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reasons for counters that are `null`, by their names.
pub type MissingCounters = BTreeMap<String, String>;

/// Counters of the machine, from the first job's beginning to the last one's end. A counter that the machine lacks is
/// `null`, and `missing` gives the reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineCounters {
    /// Interrupts of the devices' I/O queues, by the kernel's count.
    pub device_interrupts: Option<u64>,
    /// Interrupts of the CPUs' timers, of all CPUs.
    pub timer_interrupts: Option<u64>,
    /// I/Os of the disks, of all programs together, by /proc/diskstats.
    pub disks: Option<DiskCounters>,
    /// Idle states of all CPUs, by name; in virtual time those that the jobs' CPUs entered.
    pub cpuidle: Option<BTreeMap<String, IdleCounters>>,
    /// Unhalted cycles of the jobs' threads.
    pub cycles: Option<u64>,
    /// Cycles in TPAUSE or UMWAIT, in C0.1.
    pub c01_cycles: Option<u64>,
    /// Cycles in TPAUSE or UMWAIT, in C0.2.
    pub c02_cycles: Option<u64>,
    /// Instructions of the jobs' threads.
    pub instructions: Option<u64>,
    /// Requests by the threads that gave them to the device.
    pub dispatch: Option<Dispatch>,
    /// Reasons for the counters that are `null`.
    pub missing: MissingCounters,
}

/// I/Os of the disks that a run was on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskCounters {
    /// Reads and writes completed.
    pub ios: u64,
    /// Reads and writes merged with others before.
    pub merges: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

/// Use of an idle state, on all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleCounters {
    /// Entries into the state.
    pub entries: u64,
    /// Seconds in the state, summed over CPUs.
    pub seconds: f64,
}

/// Requests by the thread that dispatched them: with a scheduler this may be a worker of the kernel's, which costs up
/// to half of the throughput, whatever the scheduler's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dispatch {
    /// The jobs' own threads (block:block_rq_issue).
    pub by_jobs: u64,
    /// The disks' I/Os that others dispatched: workers of the kernel, its thread of sqpoll, other
    /// programs.
    pub by_others: u64,
}
