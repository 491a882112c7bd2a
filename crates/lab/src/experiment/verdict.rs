//! Check of results for wrong data and failed I/Os.

use joulio_workload::{RunResult, Stop};

/// Reason why results cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadResults {
    /// Verification found blocks whose data is not what was written.
    #[error("verification found {blocks} wrong block(s); the first: {first}")]
    WrongData {
        /// Number of wrong blocks.
        blocks: u64,
        /// Description of the first wrong block.
        first: String,
    },
    /// I/Os failed.
    #[error("{ios} I/O(s) failed; the first: {first}")]
    Failed {
        /// Number of failed I/Os.
        ios: u64,
        /// Description of the first failed I/O.
        first: String,
    },
    /// All requested completion modes are unavailable: nothing was run.
    #[error("no completion mode that was requested is available")]
    Unavailable,
}

/// Returns an error if runs read wrong data, I/Os failed, or no completion mode was available.
///
/// # Errors
/// The first of these problems.
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
