//! Whether a completion mode can be had.

use serde::{Deserialize, Serialize};

/// What a job has in place of the completion mode that was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Availability {
    /// The effective completion mode.
    Effective(String),
    /// No completion mode, for this reason.
    Unavailable(String),
}
