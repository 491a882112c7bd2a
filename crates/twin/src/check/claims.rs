//! Claims of a source that have no number.

use super::judge::{self, JudgedValue, Verdict};
use crate::published::{Basis, Paper, PublishedClaim, SimulationError, Simulator};
use joulio_job::Metric;
use serde::Serialize;

/// A claim, and whether it holds in the twin.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedClaim {
    /// The source's short name.
    pub paper: String,
    /// Text of the claim.
    pub what: String,
    /// Metric of the runs.
    pub metric: Metric,
    /// Reason for which agreement is expected.
    pub basis: Basis,
    /// True if the claim holds.
    pub holds: bool,
    /// Reason why the claim is known not to reproduce.
    pub known: Option<String>,
    /// Smallest relative change between neighbouring runs of a chain, if the claim does not hold.
    pub miss: Option<f64>,
    /// The runs and their figures, chain by chain.
    pub chains: Vec<Vec<(String, f64)>>,
}

impl CheckedClaim {
    /// Returns true if the claim does not reproduce, and no reason is declared.
    pub fn broken(&self) -> bool {
        !self.holds && self.known.is_none()
    }
}

/// Checks the claims of `paper`.
pub(super) fn observations(
    paper: &Paper,
    simulator: &mut Simulator,
) -> Result<Vec<CheckedClaim>, SimulationError> {
    let observe = |claim: &PublishedClaim| observe(paper, claim, simulator);
    paper.claim.iter().map(observe).collect()
}

fn observe(
    paper: &Paper,
    claim: &PublishedClaim,
    simulator: &mut Simulator,
) -> Result<CheckedClaim, SimulationError> {
    let judged = judge::claim(claim, simulator)?;
    let holds = judged.verdict == Verdict::Holds;
    let values = |chain: Vec<(String, JudgedValue)>| {
        let values = chain.into_iter();
        values.map(|(run, is)| (run, is.value)).collect()
    };
    Ok(CheckedClaim {
        paper: paper.name.clone(),
        what: claim.what.clone(),
        metric: claim.metric,
        basis: paper.claim_basis(&claim.what),
        holds,
        known: claim.known.clone().filter(|_| !holds),
        miss: judged.miss,
        chains: judged.chains.into_iter().map(values).collect(),
    })
}
