//! Whether a completion mode can be had.

use serde::{Deserialize, Serialize};

/// Effective completion mode of a job, or why it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Availability {
    /// The effective completion mode.
    Effective(String),
    /// No completion mode, for this reason.
    Unavailable(String),
}
