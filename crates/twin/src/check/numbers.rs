//! Published numbers, one by one, against the twin's.

use super::judge;
use crate::published::{Basis, Paper, ProfileField, PublishedNumber, SimulationError, Simulator};
use joulio_job::Metric;
use joulio_units::PastTdp;
use serde::Serialize;

/// A published number and the twin's.
#[derive(Clone, Debug, Serialize)]
pub struct NumberCheck {
    /// The source's short name.
    pub paper: String,
    /// Description of the number.
    pub what: String,
    /// Metric of the runs.
    pub metric: Metric,
    /// True if the number is the difference of two runs.
    pub increment: bool,
    /// True if the number is a percentage by which runs exceed others.
    pub percent: bool,
    /// Reason for which agreement is expected.
    pub basis: Basis,
    /// Printed number, or lower end of the printed range.
    pub published: f64,
    /// Upper end of the printed range.
    pub published_to: Option<f64>,
    /// The twin's number.
    pub modelled: f64,
    /// Error as a fraction of the printed number; for a gain, a fraction of the gain.
    pub error: f64,
    /// Largest allowed error; `None`: the number has none.
    pub allowed: Option<f64>,
    /// The twin's number with one figure at the lower and at the upper end of its band.
    pub band: Option<[f64; 2]>,
    /// Reason why the error is larger than allowed.
    pub known: Option<String>,
    /// Run whose package would draw more than its thermal design power.
    pub past_tdp: Option<PastTdp>,
    /// Name of the group of numbers whose order is compared.
    #[serde(skip)]
    pub order: Option<String>,
}

impl NumberCheck {
    /// True if the error is larger than allowed, and no reason is declared.
    pub fn broken(&self) -> bool {
        self.missed() && self.known.is_none()
    }

    /// True if the error is larger than allowed.
    pub fn missed(&self) -> bool {
        self.allowed.is_some_and(|max| self.error.abs() > max)
    }
}

/// Compares each number of `paper`.
pub(crate) fn rows(
    paper: &Paper,
    simulator: &mut Simulator,
) -> Result<Vec<NumberCheck>, SimulationError> {
    let row = |number: &PublishedNumber| row(paper, number, simulator);
    paper.number.iter().map(row).collect()
}

fn row(
    paper: &Paper,
    number: &PublishedNumber,
    simulator: &mut Simulator,
) -> Result<NumberCheck, SimulationError> {
    let judged = judge::number(number, simulator)?;
    let mut row = NumberCheck {
        paper: paper.name.clone(),
        what: number.what.clone(),
        metric: number.metric,
        increment: !number.minus.is_empty(),
        percent: !number.over.is_empty(),
        basis: number.basis(),
        published: number.value,
        published_to: number.to,
        modelled: judged.estimate.value,
        error: judged.error,
        allowed: judged.allowed,
        band: band(number, simulator)?,
        known: None,
        past_tdp: past_tdp(number, simulator)?,
        order: number.order.clone(),
    };
    row.known = number.known.clone().filter(|_| row.missed());
    Ok(row)
}

/// Finds, among the runs of `number`, the one whose package exceeds its TDP the most.
fn past_tdp(
    number: &PublishedNumber,
    simulator: &mut Simulator,
) -> Result<Option<PastTdp>, SimulationError> {
    let mut worst: Option<PastTdp> = None;
    for name in number.run.iter().chain(&number.over).chain(&number.minus) {
        let past = simulator.run(name)?.result.past_tdp;
        let less = |one: &PastTdp| past.is_some_and(|p| p.package_watts > one.package_watts);
        if worst.is_none_or(|one| less(&one)) {
            worst = past.or(worst);
        }
    }
    Ok(worst)
}

/// Returns the twin's number with one figure at the lower and at the upper end of its band.
fn band(
    number: &PublishedNumber,
    simulator: &mut Simulator,
) -> Result<Option<[f64; 2]>, SimulationError> {
    let Some(name) = &number.band else {
        return Ok(None);
    };
    let field: ProfileField = name.parse()?;
    let figure = simulator.profiles().figure(&field)?;
    let [low, high] = figure.band.unwrap_or([figure.value; 2]);
    let mut ends = [0.0; 2];
    for (end, to) in ends.iter_mut().zip([low, high]) {
        simulator.set(&field, to)?;
        *end = judge::estimate(number, simulator)?.value;
    }
    simulator.set(&field, figure.value)?;
    Ok(Some(ends))
}
