//! A table in an experiment's file.

use super::{OneOrMore, SpecError, Where, needed, unused};
use crate::statistics::{Correction, TTest};
use joulio_workload::Metric;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A `[[table]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Name in the source, `T1`; unique in its file.
    pub id: String,
    /// Name in the source of this table, or of the one that it is a part of; `id` by default; `-`: the source has
    /// none.
    pub in_source: Option<String>,
    /// Title in a few words.
    pub title: String,
    /// Kind of table.
    #[serde(default)]
    pub kind: TableKind,
    /// Sweep whose records it shows.
    pub sweep: Option<String>,
    /// Values of factors to take.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Factors whose values are rows.
    #[serde(default)]
    pub rows: OneOrMore,
    /// Factors whose values are columns.
    #[serde(default)]
    pub columns: OneOrMore,
    /// Metrics, a column each under each value of `columns`.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// Value of a row's factor that the others are compared with, in percent.
    #[serde(default)]
    pub over: BTreeMap<String, String>,
    /// A constant that the first metric is a multiple of.
    pub times: Option<Times>,
    /// Named counts of the records, a row each: of kind `counts`.
    #[serde(default)]
    pub counts: Vec<String>,
    /// Profile of the device whose power states it shows: of kind `power-states`.
    pub device: Option<String>,
    /// Test by which rows are compared.
    #[serde(default)]
    pub test: TTest,
    /// Correction for the number of comparisons.
    #[serde(default)]
    pub correction: Correction,
    /// Note below the table.
    pub note: Option<String>,
    /// Hardware or run that it needs, where there are no records.
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
    /// IOPS and p99 latency of each job, a row each.
    Jobs,
    /// The power states of a device.
    PowerStates,
}

/// A constant that a metric is a multiple of.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The constant, in the metric's unit.
    pub of: f64,
    /// Name of the constant.
    pub what: String,
}

impl TableSpec {
    /// Judges the table by itself.
    ///
    /// # Errors
    /// [`SpecError`], saying what is missing or of no use.
    pub fn check(&self) -> Result<(), SpecError> {
        self.keys().map_err(|problem| SpecError {
            kind: "table",
            id: self.id.clone(),
            problem,
        })
    }

    /// Names of factors whose values are its rows and columns.
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
