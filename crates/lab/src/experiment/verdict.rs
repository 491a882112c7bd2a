//! Judgement of results: success or the first failure.

use joulio_workload::{RunResult, Stop};

/// Why results are no success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadResults {
    /// Blocks had not the data that was written.
    #[error("verification found {blocks} wrong block(s); the first: {first}")]
    WrongData {
        /// Number of wrong blocks.
        blocks: u64,
        /// Description of the first.
        first: String,
    },
    /// I/Os failed.
    #[error("{ios} I/O(s) failed; the first: {first}")]
    Failed {
        /// Number of failed I/Os.
        ios: u64,
        /// Description of the first.
        first: String,
    },
    /// The requested completion modes are all unavailable: nothing was run.
    #[error("no completion mode that was requested is available")]
    Unavailable,
}

/// Refuses runs with wrong data, with failed I/Os, or without any completion mode.
///
/// # Errors
/// The first of these.
pub fn judge(runs: &[RunResult], stop: &Stop) -> Result<(), BadResults> {
    let counts = || runs.iter().filter_map(|run| run.counts.as_ref());
    let verified = || counts().filter_map(|counts| counts.verify.as_ref());
    let blocks: u64 = verified().map(|verify| verify.errors).sum();
    if blocks > 0 {
        let first = verified().find_map(|verify| verify.first_error.clone());
        let first = first.unwrap_or_default();
        return Err(BadResults::WrongData { blocks, first });
    }
    let ios: u64 = counts().map(|counts| counts.errors()).sum();
    if ios > 0 {
        let first = counts().find_map(|counts| counts.first_error.clone());
        let first = first.unwrap_or_default();
        return Err(BadResults::Failed { ios, first });
    }
    match counts().next().is_none() && !stop.stopped() {
        true => Err(BadResults::Unavailable),
        false => Ok(()),
    }
}
