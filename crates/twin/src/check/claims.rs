//! Claims that a source makes in words.

use super::metrics;
use crate::published::{Paper, PublishedClaim, SimulationError, Simulator};
use joulio_job::Metric;
use serde::Serialize;

/// A claim, and whether it comes out.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    /// The source's short name.
    pub paper: String,
    /// Text of the claim.
    pub what: String,
    /// Metric of the runs.
    pub metric: Metric,
    /// True if the claim comes out.
    pub holds: bool,
    /// Reason why the claim is known not to come out.
    pub known: Option<String>,
    /// Fraction by which the metric changes where it should rise and does not; the worst of all.
    pub miss: Option<f64>,
    /// The runs and their figures, chain by chain.
    pub chains: Vec<Vec<(String, f64)>>,
}

impl Observation {
    /// True if the claim does not come out, and no reason is declared.
    pub fn broken(&self) -> bool {
        !self.holds && self.known.is_none()
    }
}

/// The claims of `paper`.
pub(super) fn observations(
    paper: &Paper,
    simulator: &mut Simulator,
) -> Result<Vec<Observation>, SimulationError> {
    let observe = |claim: &PublishedClaim| observe(paper, claim, simulator);
    paper.claim.iter().map(observe).collect()
}

fn observe(
    paper: &Paper,
    claim: &PublishedClaim,
    simulator: &mut Simulator,
) -> Result<Observation, SimulationError> {
    let mut chains = Vec::new();
    for chain in &claim.rising {
        let values = metrics(simulator, chain, claim.metric)?;
        chains.push(chain.iter().cloned().zip(values).collect::<Vec<_>>());
    }
    let step = 1.0 + claim.min_percent / 100.0;
    let rises = |chain: &Vec<(String, f64)>| {
        let pairs = chain.windows(2);
        pairs.into_iter().all(|pair| pair[1].1 > pair[0].1 * step)
    };
    let changes = |chain: &Vec<(String, f64)>| {
        let pairs = chain.windows(2);
        let changes = pairs.map(|pair| pair[1].1 / pair[0].1 - 1.0);
        changes.min_by(f64::total_cmp)
    };
    let least = chains.iter().filter_map(changes);
    let least = least.min_by(f64::total_cmp);
    let holds = if claim.any {
        chains.iter().any(rises)
    } else {
        chains.iter().all(rises)
    };
    Ok(Observation {
        paper: paper.name.clone(),
        what: claim.what.clone(),
        metric: claim.metric,
        holds,
        known: claim.known.clone().filter(|_| !holds),
        miss: least.filter(|_| !holds),
        chains,
    })
}
