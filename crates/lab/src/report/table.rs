//! Tables: metrics by the values of factors, with what the source printed beside them.

use super::answers::Answers;
use super::data::{Cell, Data, Estimate};
use super::figure::{name, names, only};
use super::spec::{TableKind, TableSpec};
use super::words;
use crate::statistics::{Interval, SIGNIFICANCE, ratio};
use joulio_model::DeviceProfile;
use joulio_units::Boundary;
use joulio_workload::Metric;
use serde::Serialize;

/// A table with its data.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Name in the source.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Words of the factors that the rows are of.
    pub row_heads: Vec<String>,
    /// Words of the columns.
    pub columns: Vec<String>,
    /// The rows; none: there is nothing to show.
    pub rows: Vec<Row>,
    /// True if a value in it is a model's.
    pub modelled: bool,
    /// Boundaries and sources of its energy figures.
    pub energy: Vec<(Boundary, String)>,
    /// What stands below it.
    pub note: Option<String>,
    /// Why there is nothing to show.
    pub problem: Option<String>,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Values of the factors.
    pub heads: Vec<String>,
    /// Values, one a column.
    pub cells: Vec<Value>,
}

/// What stands in a row under a column.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// Nothing was run.
    None,
    /// Words or a number without repetitions.
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
    /// The value with the model's parameters at the ends of their bands.
    pub band: Option<(f64, f64)>,
    /// Number of repetitions.
    pub n: usize,
    /// True for a model's value.
    pub modelled: bool,
    /// What the source printed: a value, or the ends of a range.
    pub published: Option<(f64, Option<f64>)>,
    /// Percent by which the mean differs from the printed value, with the ends of its interval.
    pub off: Option<(f64, Option<(f64, f64)>)>,
}

/// Percent by which a row exceeds the row that it is compared with.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Percent.
    pub percent: f64,
    /// Ends of its 95 % interval; `None`: not known.
    pub interval: Option<(f64, f64)>,
    /// Probability of a difference as large by chance, corrected; `None`: not known.
    pub p: Option<f64>,
    /// True if the difference is no larger than chance makes it.
    pub tie: bool,
    /// The same of what the source printed.
    pub published: Option<f64>,
}

/// A column: the values of `columns`, and a metric.
struct Column {
    name: String,
    metric: Metric,
}

pub(super) struct TableMaker<'a> {
    pub spec: &'a TableSpec,
    pub data: &'a Data,
    pub answers: &'a Answers,
}

impl TableMaker<'_> {
    /// The table.
    pub fn make(&self) -> Table {
        let made = match self.spec.kind {
            TableKind::Metrics => self.metrics(),
            TableKind::Counts => self.counts(),
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
            let because = match &self.spec.needs {
                Some(needs) => format!("it needs {needs}"),
                None => "no run of it was done".into(),
            };
            table.problem = Some(format!("No data here: {because}."));
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

    fn metrics(&self) -> Result<Parts, String> {
        let spec = self.spec;
        let cells = self.cells();
        let columns = self.columns(&cells);
        let row_names = names(&cells, spec.rows.values());
        let mut rows = Vec::new();
        for row in &row_names {
            let of_row = cells.iter().copied();
            let of_row = of_row.filter(|cell| name(cell, spec.rows.values()).as_ref() == Some(row));
            let of_row: Vec<&Cell> = of_row.collect();
            let first = of_row.first().ok_or("a row without a point")?;
            let heads = spec
                .rows
                .values()
                .iter()
                .filter_map(|f| first.factor(f))
                .collect();
            let mut values = Vec::new();
            for column in &columns {
                let cell = self.at(&of_row, column)?;
                let mean = cell.and_then(|cell| self.mean(cell, column.metric));
                let times = spec
                    .times
                    .as_ref()
                    .filter(|_| column.metric == spec.metrics[0]);
                let multiple = times.map(|times| match &mean {
                    Some(mean) => Value::Text(super::value::short(mean.value / times.of)),
                    None => Value::None,
                });
                values.push(mean.map_or(Value::None, Value::Mean));
                values.extend(multiple);
                if !spec.over.is_empty() {
                    values.push(self.change(&cells, cell, column)?);
                }
            }
            rows.push(Row {
                heads,
                cells: values,
            });
        }
        self.correct(&mut rows);
        let mut titles = Vec::new();
        for column in &columns {
            let words = words::metric(column.metric);
            titles.push(match column.name.is_empty() {
                true => words,
                false => format!("{}: {words}", column.name),
            });
            if let Some(times) = spec
                .times
                .as_ref()
                .filter(|_| column.metric == spec.metrics[0])
            {
                titles.push(format!("times {}", times.what));
            }
            if !spec.over.is_empty() {
                let over: Vec<_> = spec.over.values().cloned().collect();
                titles.push(format!("% over {}", over.join(", ")));
            }
        }
        let heads = spec
            .rows
            .values()
            .iter()
            .map(|f| words::factor(f).to_owned());
        Ok((heads.collect(), titles, rows))
    }

    fn columns(&self, cells: &[&Cell]) -> Vec<Column> {
        let spec = self.spec;
        let mut columns = Vec::new();
        for name in names(cells, spec.columns.values()) {
            columns.extend(spec.metrics.iter().map(|metric| Column {
                name: name.clone(),
                metric: *metric,
            }));
        }
        columns
    }

    /// The point of a row under `column`.
    fn at<'c>(&self, row: &[&'c Cell], column: &Column) -> Result<Option<&'c Cell>, String> {
        let here = row.iter().copied();
        let by = self.spec.columns.values();
        let here = here.filter(|cell| name(cell, by).as_ref() == Some(&column.name));
        only(&here.collect::<Vec<_>>(), column.metric, false)
    }

    fn mean(&self, cell: &Cell, metric: Metric) -> Option<Mean> {
        let estimate = cell.estimate(metric)?;
        let published = self.answers.printed(&cell.sweep, &cell.point, metric);
        let Interval { value, low, high } = estimate.mean;
        let interval = (high - low).is_finite().then_some((low, high));
        let off = published
            .filter(|(printed, _)| *printed != 0.0)
            .map(|(from, to)| {
                let printed = value.clamp(from, to.unwrap_or(from));
                let percent = |value: f64| (value / printed - 1.0) * 100.0;
                (
                    percent(value),
                    interval.map(|(low, high)| (percent(low), percent(high))),
                )
            });
        Some(Mean {
            value,
            interval,
            band: estimate.band,
            n: estimate.values.len(),
            modelled: estimate.modelled,
            published,
            off,
        })
    }

    /// Percent of `cell` over the point that differs from it in the factors of `over` alone.
    fn change(&self, all: &[&Cell], cell: Option<&Cell>, column: &Column) -> Result<Value, String> {
        let spec = self.spec;
        let Some(cell) = cell else {
            return Ok(Value::None);
        };
        let is_base = spec
            .over
            .iter()
            .all(|(f, value)| cell.factor(f).as_ref() == Some(value));
        if is_base {
            return Ok(Value::Text("–".into()));
        }
        let mut point = cell.point.clone();
        point.extend(spec.over.clone());
        let Some(base) = all.iter().find(|other| other.point == point) else {
            return Ok(Value::None);
        };
        let metric = column.metric;
        let (Some(here), Some(there)) = (cell.estimate(metric), base.estimate(metric)) else {
            return Ok(Value::None);
        };
        if here.energy != there.energy {
            return Err("its energy figures are of unlike boundaries".into());
        }
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let compared = spec.test.compare(&here.values, &there.values);
        let printed = |cell: &Cell| self.answers.printed(&cell.sweep, &cell.point, metric);
        let published = printed(cell).zip(printed(base));
        Ok(Value::Change(Change {
            percent: percent(here.mean.value / there.mean.value),
            interval: ratio(&here.values, &there.values).map(|r| (percent(r.low), percent(r.high))),
            p: compared.map(|compared| compared.p),
            tie: false,
            published: published.map(|(one, other)| percent(one.0 / other.0)),
        }))
    }

    fn correct(&self, rows: &mut [Row]) {
        let changes = rows.iter_mut().flat_map(|row| &mut row.cells);
        let changes = changes.filter_map(|value| match value {
            Value::Change(change) => Some(change),
            _ => None,
        });
        let mut changes: Vec<&mut Change> = changes.collect();
        let known: Vec<f64> = changes.iter().filter_map(|change| change.p).collect();
        let mut corrected = self.spec.correction.apply(&known).into_iter();
        for change in changes.iter_mut().filter(|change| change.p.is_some()) {
            change.p = corrected.next();
            change.tie = change.p.is_some_and(|p| p > SIGNIFICANCE);
        }
    }

    fn counts(&self) -> Result<Parts, String> {
        let spec = self.spec;
        let cells = self.cells();
        let columns = names(&cells, spec.columns.values());
        let mut rows = Vec::new();
        for count in &spec.counts {
            let mut values = Vec::new();
            for column in &columns {
                let of = cells.iter().copied();
                let of = of.filter(|c| name(c, spec.columns.values()).as_ref() == Some(column));
                let found: Vec<Estimate> = of.filter_map(|cell| cell.count(count)).collect();
                values.push(match found.as_slice() {
                    [] => Value::None,
                    [one] => Value::Mean(plain(one)),
                    _ => return Err("several points fall into one column".into()),
                });
            }
            if values.iter().any(|value| !matches!(value, Value::None)) {
                rows.push(Row {
                    heads: vec![count.clone()],
                    cells: values,
                });
            }
        }
        Ok((vec!["source".into()], columns, rows))
    }

    fn power_states(&self) -> Result<Parts, String> {
        let device = self.spec.device.as_deref().unwrap_or("");
        let profile = DeviceProfile::builtin(device).map_err(|error| error.to_string())?;
        let short = super::value::short;
        let rows = profile
            .power
            .states
            .iter()
            .enumerate()
            .map(|(index, state)| Row {
                heads: vec![index.to_string()],
                cells: vec![
                    Value::Text(if state.operational { "yes" } else { "no" }.into()),
                    Value::Text(short(state.max_power_watts.value)),
                    Value::Text(short(state.entry_latency_us.value)),
                    Value::Text(short(state.exit_latency_us.value)),
                ],
            });
        let rows: Vec<_> = rows.collect();
        let columns = [
            "operational",
            "most power, W",
            "entry latency, µs",
            "exit latency, µs",
        ];
        Ok((
            vec!["state".into()],
            columns.map(str::to_owned).into(),
            rows,
        ))
    }
}

/// Heads of the rows, words of the columns, rows.
type Parts = (Vec<String>, Vec<String>, Vec<Row>);

fn plain(estimate: &Estimate) -> Mean {
    let Interval { value, low, high } = estimate.mean;
    Mean {
        value,
        interval: (high - low).is_finite().then_some((low, high)),
        band: estimate.band,
        n: estimate.values.len(),
        modelled: estimate.modelled,
        published: None,
        off: None,
    }
}
