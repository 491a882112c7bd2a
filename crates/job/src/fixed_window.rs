//! Fixed work in a fixed window.

use serde::{Deserialize, Serialize};

/// Fixed work in a fixed window: a run that is done early races to idle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FixedWindow {
    /// Seconds of the window that was requested.
    pub requested_seconds: f64,
    /// Seconds of the energy: longer, when the work did not fit; shorter, when it was stopped.
    pub seconds: f64,
    /// Seconds after the work in which the machine was idle.
    pub idle_seconds: f64,
    /// True if the work was done before the end of the window.
    pub fits: bool,
}
