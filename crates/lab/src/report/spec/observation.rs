//! Observations in an experiment's file: a sentence from a source, and the comparisons of records that decide whether
//! it holds.

use super::{SpecError, Where};
use joulio_workload::Metric;
use serde::Deserialize;

/// An `[[observation]]`. It holds if everything listed under it holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservationSpec {
    /// Name in the source, such as `O1`; unique in the file.
    pub id: String,
    /// The observation in a sentence of our own words.
    pub text: String,
    /// Ids of the tables and figures that show it.
    #[serde(default)]
    pub shown: Vec<String>,
    /// Claims from the source's file of published numbers that it makes, by their `what`; `*` stands for any text.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Numbers from that file that it states, by their `what`.
    #[serde(default)]
    pub numbers: Vec<String>,
    /// Published numbers that are inputs of profiles, by their `what` in that file.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Metrics that rise along the values of a factor.
    #[serde(default)]
    pub rising: Vec<Rising>,
    /// Metrics that lie in a range.
    #[serde(default)]
    pub within: Vec<Within>,
    /// Rank among the sentences at the top of the report; `None`: it is not one of them.
    pub headline: Option<u8>,
    /// Reason why it is known not to hold in virtual time.
    pub twin_differs: Option<String>,
    /// Hardware or run that it needs, shown if there are no records.
    pub needs: Option<String>,
}

/// A metric that rises along the values of a factor while all else is equal.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rising {
    /// Sweep of the records.
    pub sweep: String,
    /// Values of factors that select the records.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// The metric.
    pub metric: Option<Metric>,
    /// Named count in the records, instead of a metric.
    pub count: Option<String>,
    /// The factor.
    pub along: String,
    /// Values of the factor in the order in which the metric should rise; values without runs are skipped.
    pub order: Vec<String>,
    /// Smallest rise in percent; a negative number is the largest fall allowed.
    #[serde(default)]
    pub min_percent: f64,
    /// Combinations of the other factors in which the metric has to rise.
    #[serde(default)]
    pub cells: Cells,
}

/// Combinations of factors for which a condition has to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// All combinations.
    #[default]
    All,
    /// More than half of the combinations.
    Most,
    /// One combination or more.
    Any,
}

/// A metric that lies in a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// Sweep of the records.
    pub sweep: String,
    /// Values of factors that select the records.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// The metric.
    pub metric: Metric,
    /// Smallest value.
    pub from: f64,
    /// Largest value.
    pub to: f64,
    /// Combinations of the factors in which the metric has to lie in the range.
    #[serde(default)]
    pub cells: Cells,
}

impl ObservationSpec {
    /// Checks the observation without records.
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
