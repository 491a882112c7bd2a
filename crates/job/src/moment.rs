//! A moment by two clocks.

use serde::{Deserialize, Serialize};

/// Moment by the wall clock, which loggers share, and by the monotonic clock, which is never set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moment {
    /// Seconds since 1970.
    pub unix_seconds: f64,
    /// Seconds of `CLOCK_MONOTONIC`.
    pub monotonic_seconds: f64,
}
