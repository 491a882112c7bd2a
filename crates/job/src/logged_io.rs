//! Single I/Os of a run, as its log has them.

use joulio_units::{Nanos, Operation};
use serde::{Deserialize, Serialize};

/// An I/O that succeeded in the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedIo {
    /// Time from the beginning of the measured part to its completion.
    pub at: Nanos,
    /// Time from its arrival to its completion.
    pub latency: Nanos,
    /// Read, write or trim.
    pub operation: Operation,
    /// Length in bytes.
    pub len: u32,
    /// Bytes from the start of the device.
    pub offset: u64,
}

/// I/Os of one job, in the order of their completions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobLog {
    /// Number of the job, from 0.
    pub job: usize,
    /// I/Os that succeeded.
    pub ios: Vec<LoggedIo>,
}
