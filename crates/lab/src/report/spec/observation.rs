//! An observation of a source in an experiment's file: its sentence, and the comparisons of records that decide
//! whether it holds.

use super::{SpecError, Where};
use joulio_workload::Metric;
use serde::Deserialize;

/// An `[[observation]]`. It holds if everything that is named under it holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservationSpec {
    /// Name in the source, `O1`; unique in its file.
    pub id: String,
    /// The observation in a sentence of our own.
    pub text: String,
    /// Ids of the tables and figures that show it.
    #[serde(default)]
    pub shown: Vec<String>,
    /// Claims of the source's file of published numbers that it makes, by their `what`; `*` stands
    /// for any text.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Numbers of that file that it names, likewise.
    #[serde(default)]
    pub numbers: Vec<String>,
    /// Numbers that profiles hold as they were printed, by their `what` in that file.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Values of a factor along which a metric rises.
    #[serde(default)]
    pub rising: Vec<Rising>,
    /// Ranges that a metric lies in.
    #[serde(default)]
    pub within: Vec<Within>,
    /// Rank among the sentences of the first screen; none: it is not there.
    pub headline: Option<u8>,
    /// Reason why it is known to differ in virtual time.
    pub twin_differs: Option<String>,
    /// Hardware or run that it needs, where there are no records.
    pub needs: Option<String>,
}

/// A metric rises along values of a factor, all else equal.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rising {
    /// Sweep of the records.
    pub sweep: String,
    /// Values of factors to take.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// The metric.
    pub metric: Option<Metric>,
    /// Named count of the records, in place of a metric.
    pub count: Option<String>,
    /// The factor.
    pub along: String,
    /// Values of the factor in the order in which the metric rises; those that were not run are left
    /// out.
    pub order: Vec<String>,
    /// Smallest rise in percent; below zero, the largest fall.
    #[serde(default)]
    pub min_percent: f64,
    /// Combinations of the other factors in which it has to rise.
    #[serde(default)]
    pub cells: Cells,
}

/// Combinations of factors in which something has to be so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// All of them.
    #[default]
    All,
    /// More than half of them.
    Most,
    /// Any of them, at least one.
    Any,
}

/// A metric lies in a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// Sweep of the records.
    pub sweep: String,
    /// Values of factors to take.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// The metric.
    pub metric: Metric,
    /// Smallest value.
    pub from: f64,
    /// Largest value.
    pub to: f64,
    /// Combinations of the factors in which it has to lie there.
    #[serde(default)]
    pub cells: Cells,
}

impl ObservationSpec {
    /// Checks the observation by itself.
    ///
    /// # Errors
    /// [`SpecError`], if it has no comparison that decides whether it holds, or an invalid one.
    pub fn check(&self) -> Result<(), SpecError> {
        self.parts().map_err(|problem| SpecError {
            kind: "observation",
            id: self.id.clone(),
            problem,
        })
    }

    fn parts(&self) -> Result<(), String> {
        let said = self.claims.len() + self.numbers.len() + self.inputs.len();
        let said = said + self.rising.len() + self.within.len();
        if said == 0 && self.needs.is_none() {
            return Err(
                "nothing says whether it holds: name claims, numbers, rising or within, or what it \
                 needs"
                    .into(),
            );
        }
        if self.rising.iter().any(|rising| rising.order.len() < 2) {
            return Err("'rising' needs two values or more in its 'order'".into());
        }
        let either = |rising: &Rising| rising.metric.is_some() != rising.count.is_some();
        if !self.rising.iter().all(either) {
            return Err("'rising' needs either 'metric' or 'count'".into());
        }
        let turned = |within: &Within| within.from.is_nan() || within.from > within.to;
        match self.within.iter().any(turned) {
            true => Err("'within' has its 'from' above its 'to'".into()),
            false => Ok(()),
        }
    }
}
