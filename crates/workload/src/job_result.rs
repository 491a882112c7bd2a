//! Result of one job.

use crate::io_totals::IoTotals;
use crate::machine::ThreadCounters;
use crate::spoiled::{Learning, Scheduled};
use joulio_job::{LoggedIo, Placement, ThreadUsage};
use joulio_nvme::wait::WaitCounters;
use joulio_trace::Recorded;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// I/Os of a job on one of its devices.
#[derive(Serialize, Deserialize)]
pub(crate) struct ShareResult {
    /// Number of the device, from 0.
    pub(crate) device: usize,
    /// I/Os by operation.
    pub(crate) totals: IoTotals,
}

/// Figures of one job's measured part. The figures of a process lack those that only the user-space driver has.
#[derive(Serialize, Deserialize)]
pub(crate) struct JobResult {
    /// Number of the job, from 0.
    pub(crate) index: usize,
    /// Start of the measured part.
    pub(crate) started: Nanos,
    /// Start of the time over which I/Os are counted: in an open loop the start of the arrivals, which is before
    /// `started` if the job's thread begins late.
    pub(crate) counted_from: Nanos,
    /// End of the measured part.
    pub(crate) ended: Nanos,
    /// I/Os, by the job's devices.
    pub(crate) shares: Vec<ShareResult>,
    /// Counters of waiting.
    pub(crate) counters: WaitCounters,
    /// True if the counters include the time blocked and asleep.
    pub(crate) counts_waiting: bool,
    /// Trace of each queue.
    #[serde(skip)]
    pub(crate) recorded: Vec<Recorded>,
    /// CPU and memory placement of the job and its buffers.
    pub(crate) placement: Placement,
    /// CPU time of the job's thread.
    pub(crate) usage: ThreadUsage,
    /// CPU time of the kernel's thread that worked for the job.
    pub(crate) kernel_usage: ThreadUsage,
    /// Share of its CPU that the job's thread had.
    pub(crate) scheduled: Scheduled,
    /// Share of its CPU that the kernel's thread had, if one worked for the job.
    pub(crate) kernel_scheduled: Option<Scheduled>,
    /// How far the policy had learnt in the measured part.
    pub(crate) learning: Learning,
    /// True if the job's process was stopped and continued.
    pub(crate) stopped: bool,
    /// System calls of the engine, if they are counted.
    pub(crate) system_calls: Option<u64>,
    /// Counters of the job's thread from perf events.
    pub(crate) counted: ThreadCounters,
    /// Arrivals of an open loop that found no free slot before the end, and were never issued.
    pub(crate) unissued: u64,
    /// Number of unissued arrivals, and of arrivals that were due when the last of a limited number of I/Os was
    /// issued.
    pub(crate) behind: u64,
    /// Description of the first I/O that failed.
    pub(crate) first_error: Option<String>,
    /// Log of the I/Os, if one was requested.
    pub(crate) log: Vec<LoggedIo>,
}

impl JobResult {
    /// Returns the result of job `index` before its first I/O, which is due at `start`.
    pub(crate) fn new(index: usize, start: Nanos) -> JobResult {
        JobResult {
            index,
            started: start,
            counted_from: start,
            ended: start,
            shares: Vec::new(),
            counters: WaitCounters::default(),
            counts_waiting: true,
            recorded: Vec::new(),
            placement: Placement::default(),
            usage: ThreadUsage::default(),
            kernel_usage: ThreadUsage::default(),
            scheduled: Scheduled::default(),
            kernel_scheduled: None,
            learning: Learning::default(),
            stopped: false,
            system_calls: None,
            counted: ThreadCounters::none(),
            unissued: 0,
            behind: 0,
            first_error: None,
            log: Vec::new(),
        }
    }
}
