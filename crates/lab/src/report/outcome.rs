//! Outcome of an observation.

use joulio_twin::check::judge::Verdict;
use serde::Serialize;

/// Outcome of an observation; if it has several parts, the lowest outcome decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservationOutcome {
    /// The observation does not hold here.
    Differs,
    /// The runs' noise is too large for an answer.
    Undecided,
    /// The observation holds here.
    Holds,
    /// The runs that would decide were not made.
    NoData,
}

impl From<Verdict> for ObservationOutcome {
    fn from(verdict: Verdict) -> ObservationOutcome {
        match verdict {
            Verdict::Holds => ObservationOutcome::Holds,
            Verdict::Fails => ObservationOutcome::Differs,
            Verdict::Undecided => ObservationOutcome::Undecided,
        }
    }
}
