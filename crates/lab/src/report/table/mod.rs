//! Tables of metrics by the values of factors, with the published numbers of the source.

mod counts;
mod jobs;
mod metrics;
mod power_states;

use super::answers::Answers;
use super::data::{Cell, ReportData, no_data};
use super::spec::{TableKind, TableSpec};
use joulio_units::Boundary;
use serde::Serialize;

/// A table with its data.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Name in the source.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Names of the factors whose values are rows.
    pub row_heads: Vec<String>,
    /// Labels of the columns.
    pub columns: Vec<String>,
    /// Rows; empty: there is nothing to show.
    pub rows: Vec<Row>,
    /// True if one of its values is modelled.
    pub modelled: bool,
    /// Boundaries and sources of its energy figures.
    pub energy: Vec<(Boundary, String)>,
    /// Note below the table.
    pub note: Option<String>,
    /// Reason why there is nothing to show.
    pub problem: Option<String>,
}

/// Row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Values of the factors.
    pub heads: Vec<String>,
    /// Values, one a column.
    pub cells: Vec<Value>,
}

/// Value of a cell.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// The cell has no runs.
    None,
    /// Text, or a number without repetitions.
    Text(String),
    /// A metric.
    Mean(Mean),
    /// A change in percent.
    Change(Change),
}

/// A metric of a point.
#[derive(Clone, Debug, Serialize)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Ends of its 95 % interval; `None`: one repetition.
    pub interval: Option<(f64, f64)>,
    /// Value with the model's parameters at the ends of their bands.
    pub band: Option<(f64, f64)>,
    /// Number of repetitions.
    pub n: usize,
    /// True for a modelled value.
    pub modelled: bool,
    /// Published value, or the ends of its range.
    pub published: Option<(f64, Option<f64>)>,
    /// Percent by which the mean differs from the published value, with the ends of the interval.
    pub off: Option<(f64, Option<(f64, f64)>)>,
}

/// Percent by which a row exceeds the row that it is compared with.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Percent.
    pub percent: f64,
    /// Ends of the test's interval at 95 %, corrected as `p` is; the upper end is `null` if no ratio can be excluded as
    /// too large. `None`: not known.
    pub interval: Option<(f64, f64)>,
    /// Repetitions of both, from which the interval is computed.
    #[serde(skip)]
    samples: [Vec<f64>; 2],
    /// Probability that chance alone makes a difference as large, corrected; `None`: not known.
    pub p: Option<f64>,
    /// True if the difference is not significant.
    pub tie: bool,
    /// True if one of the values is modelled.
    pub modelled: bool,
    /// Difference of the published values in percent; `None`: not published.
    pub published: Option<f64>,
}

pub(super) struct TableMaker<'a> {
    pub spec: &'a TableSpec,
    pub data: &'a ReportData,
    pub answers: &'a Answers,
}

/// Names of the rows' factors, labels of the columns, and rows.
type Parts = (Vec<String>, Vec<String>, Vec<Row>);

impl TableMaker<'_> {
    /// Makes the table.
    pub fn make(&self) -> Table {
        let made = match self.spec.kind {
            TableKind::Metrics => self.metrics(),
            TableKind::Counts => self.counts(),
            TableKind::Jobs => self.jobs(),
            TableKind::PowerStates => self.power_states(),
        };
        let mut table = Table {
            id: self.spec.id.clone(),
            title: self.spec.title.clone(),
            row_heads: Vec::new(),
            columns: Vec::new(),
            rows: Vec::new(),
            modelled: false,
            energy: Vec::new(),
            note: self.spec.note.clone(),
            problem: None,
        };
        match made {
            Ok((heads, columns, rows)) => {
                table.row_heads = heads;
                table.columns = columns;
                table.rows = rows;
            }
            Err(problem) => table.problem = Some(problem),
        }
        if table.rows.is_empty() && table.problem.is_none() {
            let (metrics, needs) = (&self.spec.metrics, self.spec.needs.as_deref());
            table.problem = Some(no_data(self.cells(), metrics, needs));
        }
        let cells = table.rows.iter().flat_map(|row| &row.cells);
        table.modelled = cells
            .into_iter()
            .any(|cell| matches!(cell, Value::Mean(m) if m.modelled));
        table.energy = self.energy();
        table
    }

    fn cells(&self) -> Vec<&Cell> {
        let sweep = self.spec.sweep.as_deref().unwrap_or("");
        self.data.select(sweep, &self.spec.filter)
    }

    fn energy(&self) -> Vec<(Boundary, String)> {
        let mut found = Vec::new();
        for cell in self.cells() {
            let metrics = self.spec.metrics.iter();
            for energy in metrics.filter_map(|metric| cell.estimate(*metric)?.energy) {
                if !found.contains(&energy) {
                    found.push(energy);
                }
            }
        }
        found
    }
}
