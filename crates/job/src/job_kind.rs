//! Threads or processes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Kind of a workload's jobs, in fio's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// Threads of one process.
    #[default]
    Thread,
    /// A process each. For the kernel's engines: queues of the user-space driver belong to one
    /// process.
    Process,
}

impl fmt::Display for JobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JobKind::Thread => "thread",
            JobKind::Process => "process",
        })
    }
}
