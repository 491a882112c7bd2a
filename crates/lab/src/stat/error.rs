//! Errors of the counters of block devices and meters.

use joulio_kernel_io::StatsError;
use std::io;

/// Reason why an interval failed.
#[derive(Debug, thiserror::Error)]
pub enum StatError {
    /// The counters of the block devices cannot be read.
    #[error(transparent)]
    Counters(#[from] StatsError),
    /// The system cannot start a thread to read the meters.
    #[error(transparent)]
    Meters(#[from] io::Error),
}
