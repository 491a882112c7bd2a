//! Verdict on a run: whether its completion mode was the requested one.

/// Verdict on the completion mode of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeVerdict {
    /// The requested mode was effective.
    AsRequested,
    /// The effective mode was another than the requested one.
    Other {
        /// Effective completion mode.
        effective: String,
        /// Reason why the requested one was not.
        reason: String,
    },
}
