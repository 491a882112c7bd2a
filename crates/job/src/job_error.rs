//! Why a job cannot be run.

/// A job that makes no sense, or that does not fit its device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag}: {problem}")]
pub struct JobError {
    /// The flag to change.
    pub flag: &'static str,
    /// Description of the problem, and of a value that would be right.
    pub problem: String,
}
