//! Verdict on the completion mode of a run: whether it was the requested one.

/// Verdict on the completion mode of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeVerdict {
    /// The requested mode was effective.
    AsRequested,
    /// The effective mode differed from the requested one.
    Other {
        /// Effective completion mode.
        effective: String,
        /// Reason why the requested mode was not effective.
        reason: String,
    },
}
