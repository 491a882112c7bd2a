//! Description of a target that the run's process sends to a job's process.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Description with which a job's process opens a target, while the run's process has it open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessTarget {
    pub(super) path: PathBuf,
    pub(super) may_write: bool,
}
