//! Errors of a job that cannot be run.

/// Error of a job that is invalid, or that does not fit its device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag}: {problem}")]
pub struct JobError {
    /// The flag to change.
    pub flag: &'static str,
    /// Description of the problem, and of a valid value.
    pub problem: String,
}
