//! Availability of a completion mode: effective, or unavailable and why.

use serde::{Deserialize, Serialize};

/// Effective completion mode of a job, or why it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Availability {
    /// The effective completion mode.
    Effective(String),
    /// The job has no completion mode, for this reason.
    Unavailable(String),
}
