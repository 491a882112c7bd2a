//! Tables in an experiment's file.

use super::{OneOrMore, SpecError, Where, needed, unused};
use crate::statistics::{Correction, TTest};
use joulio_workload::Metric;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A `[[table]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Name in the source, such as `T1`; unique in the file.
    pub id: String,
    /// Name in the source of this table, or of the table that it is part of; `None`: `id`; `-`: the source has none.
    pub in_source: Option<String>,
    /// Title in a few words.
    pub title: String,
    /// Kind of table.
    #[serde(default)]
    pub kind: TableKind,
    /// Sweep whose records are shown.
    pub sweep: Option<String>,
    /// Values of factors that select the records.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Factors whose values are rows.
    #[serde(default)]
    pub rows: OneOrMore,
    /// Factors whose values are columns.
    #[serde(default)]
    pub columns: OneOrMore,
    /// Metrics, with a column for each under each value of `columns`.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// Row that other rows are compared with in percent, given as a factor and its value.
    #[serde(default)]
    pub over: BTreeMap<String, String>,
    /// Constant of which the first metric is shown as a multiple.
    pub times: Option<Times>,
    /// Named counts of the records, a row each; only in the kind `counts`.
    #[serde(default)]
    pub counts: Vec<String>,
    /// Profile of the device whose power states are shown; only in the kind `power-states`.
    pub device: Option<String>,
    /// Test by which rows are compared.
    #[serde(default)]
    pub test: TTest,
    /// Correction for the number of comparisons.
    #[serde(default)]
    pub correction: Correction,
    /// Note below the table.
    pub note: Option<String>,
    /// Hardware or run that the table needs, shown if there are no records.
    pub needs: Option<String>,
}

/// Kind of table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    /// Metrics by the values of factors.
    #[default]
    Metrics,
    /// Named counts of the records by the values of factors.
    Counts,
    /// IOPS and p99 latency of each job, one job a row.
    Jobs,
    /// Power states of a device.
    PowerStates,
}

/// Constant of which a metric is shown as a multiple.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Value of the constant, in the metric's unit.
    pub of: f64,
    /// Name of the constant.
    pub what: String,
}

impl TableSpec {
    /// Checks that the table has the keys that its kind needs, and no others.
    ///
    /// # Errors
    /// [`SpecError`], naming the key.
    pub fn check(&self) -> Result<(), SpecError> {
        self.keys().map_err(|problem| SpecError {
            kind: "table",
            id: self.id.clone(),
            problem,
        })
    }

    /// Returns the names of the factors whose values are rows and columns.
    pub fn factors(&self) -> impl Iterator<Item = &String> {
        self.rows.values().iter().chain(self.columns.values())
    }

    fn keys(&self) -> Result<(), String> {
        let what = match self.kind {
            TableKind::Metrics => "a table of metrics",
            TableKind::Counts => "kind 'counts'",
            TableKind::Jobs => "kind 'jobs'",
            TableKind::PowerStates => "kind 'power-states'",
        };
        if self.kind == TableKind::PowerStates {
            unused(what, "rows", !self.rows.is_empty())?;
            return needed(what, "device", self.device.is_some());
        }
        unused(what, "device", self.device.is_some())?;
        needed(what, "sweep", self.sweep.is_some())?;
        if self.kind == TableKind::Counts {
            unused(what, "metrics", !self.metrics.is_empty())?;
            needed(what, "columns", !self.columns.is_empty())?;
            return needed(what, "counts", !self.counts.is_empty());
        }
        unused(what, "counts", !self.counts.is_empty())?;
        needed(what, "rows", !self.rows.is_empty())?;
        if self.kind == TableKind::Jobs {
            unused(what, "metrics", !self.metrics.is_empty())?;
            return unused(what, "over", !self.over.is_empty());
        }
        needed(what, "metrics", !self.metrics.is_empty())?;
        let stray = self.over.keys().find(|factor| !self.rows.has(factor));
        match stray {
            Some(factor) => Err(format!("'over' has '{factor}', which is not among 'rows'")),
            None => Ok(()),
        }
    }
}
