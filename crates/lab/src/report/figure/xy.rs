//! Lines and bars: metrics as functions of a factor.

use super::{Axis, Drawing, Maker, Panel, Series, Style, Xy, name, names, only};
use crate::report::data::{Cell, ReportData};
use crate::report::spec::{DrawingKind, Layer};
use crate::report::{value, words};
use joulio_workload::Metric;

/// Smallest ratio of the largest to the smallest value for a logarithmic axis.
const WIDE: f64 = 8.0;

/// Cells of one name, which become lines or the bars of a colour.
struct Source<'a> {
    name: Option<&'a str>,
    cells: Vec<&'a Cell>,
    metric: Option<Metric>,
    largest: bool,
}

impl Maker<'_> {
    pub(super) fn xy(&self) -> Result<Vec<Panel>, String> {
        let spec = self.spec;
        let mut metrics = spec.y_metrics();
        if metrics.is_empty() {
            metrics.extend(spec.layer.iter().find_map(|layer| layer.metric));
        }
        let factor = spec.x.as_deref().unwrap_or("");
        let base = |layer: Option<&Layer>| {
            let mut filter = spec.filter.clone();
            if let Some(layer) = layer {
                filter.extend(layer.filter.clone());
            }
            filter
        };
        let filters: Vec<_> = spec.layer.iter().map(|layer| base(Some(layer))).collect();
        let own = base(None);
        let mut sources = Vec::new();
        if let Some(sweep) = spec.sweep.as_deref().filter(|_| !spec.y.is_empty()) {
            sources.push(Source {
                name: None,
                cells: self.data.select(sweep, &own),
                metric: None,
                largest: spec.largest,
            });
        }
        for (layer, filter) in spec.layer.iter().zip(&filters) {
            let sweep = layer.sweep.as_deref().or(spec.sweep.as_deref());
            sources.push(Source {
                name: Some(&layer.label),
                cells: self.data.select(sweep.unwrap_or(""), filter),
                metric: layer.metric,
                largest: layer.largest,
            });
        }
        let all: Vec<&Cell> = sources.iter().flat_map(|s| s.cells.clone()).collect();
        let axis = axis(factor, &ReportData::values(&all, factor), spec.kind);
        let mut panels = Vec::new();
        for panel in names(&all, spec.panel.values()) {
            for metric in &metrics {
                let series = self.series(&sources, &panel, *metric, &axis)?;
                if series.is_empty() {
                    continue;
                }
                let words = words::metric(*metric);
                let watts = metric.to_string().ends_with("watts");
                let limit = self.tdp_watts.filter(|_| spec.tdp && watts);
                panels.push(Panel {
                    title: panel.clone(),
                    drawing: Drawing::Xy(Xy {
                        style: match spec.kind {
                            DrawingKind::Bars => Style::Bars,
                            _ => Style::Lines,
                        },
                        x: axis.clone(),
                        y: words,
                        series,
                        limit: limit.map(|watts| ("TDP of the package".to_owned(), watts)),
                    }),
                });
            }
        }
        Ok(panels)
    }

    fn series(
        &self,
        sources: &[Source<'_>],
        panel: &str,
        metric: Metric,
        axis: &Axis,
    ) -> Result<Vec<Series>, String> {
        let spec = self.spec;
        let factor = spec.x.as_deref().unwrap_or("");
        let mut series = Vec::new();
        for source in sources {
            let metric = source.metric.unwrap_or(metric);
            let here = source.cells.iter().copied();
            let here =
                here.filter(|cell| name(cell, spec.panel.values()).as_deref() == Some(panel));
            let here: Vec<&Cell> = here.collect();
            let by: &[String] = match source.name {
                Some(_) => &[],
                None => spec.series.values(),
            };
            for one in names(&here, by) {
                let mut marks = Vec::new();
                for (at, x) in &axis.values {
                    let cells = here.iter().copied().filter(|cell| {
                        cell.factor(factor).as_ref() == Some(at)
                            && name(cell, by).as_ref() == Some(&one)
                    });
                    let cells: Vec<&Cell> = cells.collect();
                    let cell = only(&cells, metric, source.largest)?;
                    marks.extend(cell.and_then(|cell| self.mark(cell, metric, at, *x)));
                }
                if !marks.is_empty() {
                    let stand_in = here.iter().find_map(|one| one.stand_in(self.data.platform));
                    let name = source.name.map_or(one, str::to_owned);
                    series.push(Series {
                        name: match stand_in {
                            Some(device) => format!("{name} (emulated {device})"),
                            None => name,
                        },
                        marks,
                        fit: None,
                    });
                }
            }
        }
        Ok(series)
    }
}

/// Returns the axis of `factor` with `values`: at numeric places if the values are numbers and joined by lines.
pub(super) fn axis(factor: &str, values: &[String], kind: DrawingKind) -> Axis {
    let numbers = values.iter().map(|text| value::number(factor, text));
    let numbers: Option<Vec<f64>> = numbers.collect();
    let numbers = numbers.filter(|_| kind == DrawingKind::Lines && values.len() > 1);
    let least = numbers.iter().flatten().copied().fold(f64::MAX, f64::min);
    let most = numbers.iter().flatten().copied().fold(f64::MIN, f64::max);
    let places = match &numbers {
        Some(numbers) => numbers.clone(),
        None => (0..values.len()).map(|index| index as f64).collect(),
    };
    Axis {
        label: words::factor(factor).to_owned(),
        values: values.iter().cloned().zip(places).collect(),
        logarithmic: numbers.is_some() && least > 0.0 && most >= WIDE * least,
    }
}
