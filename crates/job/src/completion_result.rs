//! Requested and effective completion mode.

use serde::{Deserialize, Serialize};

/// The completion mode that was requested, and the effective one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionResult {
    /// Requested completion mode, as `--completion` named it.
    pub requested: String,
    /// Effective completion mode; `None`: the requested one is unavailable, and nothing was run.
    pub effective: Option<String>,
    /// Reason why the effective mode is not the requested one.
    pub reason: Option<String>,
}
