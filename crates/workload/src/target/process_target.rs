//! A target as the run's process describes it to a job's process.

use joulio_kernel_io::RingOptions;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Description by which a job's process opens a target, while the run's process has it open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessTarget {
    pub(super) path: PathBuf,
    pub(super) may_write: bool,
    #[serde(with = "RingOptionsForm")]
    pub(super) ring: RingOptions,
}

/// Options of io_uring.
#[derive(Serialize, Deserialize)]
#[serde(remote = "joulio_kernel_io::RingOptions")]
struct RingOptionsForm {
    poller_idle_ms: u32,
    poller_cpu: Option<u32>,
    fixed_buffers: bool,
    registered_file: bool,
}
