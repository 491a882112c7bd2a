//! Metrics by the values of factors.

use super::{Change, Mean, Parts, Row, TableMaker, Value};
use crate::report::data::Cell;
use crate::report::figure::{name, names, only};
use crate::report::value::{number, percent, short};
use crate::report::words;
use crate::statistics::{Interval, SIGNIFICANCE};
use joulio_workload::Metric;

/// A column: values of the factors `columns`, and a metric.
struct Column {
    name: String,
    /// Name with the factor, if the value is a number: `jobs 8`.
    words: String,
    metric: Metric,
}

impl TableMaker<'_> {
    pub(super) fn metrics(&self) -> Result<Parts, String> {
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
                    Some(mean) => Value::Text(short(mean.value / times.of)),
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
                false => format!("{}: {words}", column.words),
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
            let factor = spec.columns.values().first().map_or("", String::as_str);
            let is_number = factor != "completion" && number(factor, &name).is_some();
            let words = match is_number {
                true => format!("{} {name}", words::factor(factor)),
                false => name.clone(),
            };
            columns.extend(spec.metrics.iter().map(|metric| Column {
                words: words.clone(),
                name: name.clone(),
                metric: *metric,
            }));
        }
        columns
    }

    /// Returns the point of a row under `column`.
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
                let percent = |value: f64| percent(value / printed);
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

    /// Returns the change in percent of `cell` relative to the point that differs from it only in the factors of
    /// `over`.
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
        if !here.is_of_boundary(&there) {
            return Err("its energy figures are of unlike boundaries".into());
        }
        let compared = spec.test.compare(&here.values, &there.values);
        let printed = |cell: &Cell| self.answers.printed(&cell.sweep, &cell.point, metric);
        let published = printed(cell).zip(printed(base));
        Ok(Value::Change(Change {
            percent: percent(here.mean.value / there.mean.value),
            interval: None,
            p: compared.map(|compared| compared.p),
            tie: false,
            modelled: here.modelled || there.modelled,
            published: published.map(|(one, other)| percent(one.0 / other.0)),
            samples: [here.values, there.values],
        }))
    }

    fn correct(&self, rows: &mut [Row]) {
        let changes = rows.iter_mut().flat_map(|row| &mut row.cells);
        let changes = changes.filter_map(|value| match value {
            Value::Change(change) => Some(change),
            _ => None,
        });
        let changes: Vec<&mut Change> = changes.collect();
        let known: Vec<f64> = changes.iter().filter_map(|change| change.p).collect();
        let corrected = self.spec.correction.apply(&known).into_iter();
        let levels = self.spec.correction.levels(&known);
        let changes = changes.into_iter().filter(|change| change.p.is_some());
        for (change, (p, level)) in changes.zip(corrected.zip(levels)) {
            change.p = Some(p);
            change.tie = p > SIGNIFICANCE;
            let [here, there] = &change.samples;
            let ratio = self.spec.test.ratio(here, there, level);
            change.interval = ratio.map(|ratio| (percent(ratio.low), percent(ratio.high)));
        }
    }
}
