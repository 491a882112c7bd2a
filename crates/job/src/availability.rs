//! Availability of a completion mode: effective, or unavailable for a reason.

use serde::{Deserialize, Serialize};

/// Effective completion mode of a job, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Availability {
    /// The effective completion mode.
    Effective(String),
    /// The requested mode is unavailable, for this reason.
    Unavailable(String),
}
