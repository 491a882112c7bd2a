//! Single I/Os of a run, as entries of its log.

use joulio_units::{Nanos, Operation};
use serde::{Deserialize, Serialize};

/// An I/O that succeeded in the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedIo {
    /// Time from the beginning of the measured part to the completion of the I/O.
    pub at: Nanos,
    /// Time from the arrival of the I/O to its completion.
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
