//! Scatter drawings of one metric over another.

use super::{Axis, Drawing, Maker, Mark, Panel, Series, Style, Xy, name, names};
use crate::report::data::{Cell, ReportData};
use crate::report::spec::Peak;
use crate::report::words;
use crate::statistics::Quadratic;
use joulio_workload::Metric;

impl Maker<'_> {
    pub(super) fn scatter(&self) -> Result<Vec<Panel>, String> {
        let spec = self.spec;
        let x: Metric = match spec.x.as_deref().map(str::parse) {
            Some(Ok(metric)) => metric,
            _ => return Err("its x is no metric".into()),
        };
        let all = self
            .data
            .select(spec.sweep.as_deref().unwrap_or(""), &spec.filter);
        let mut panels = Vec::new();
        for panel in names(&all, spec.panel.values()) {
            for y in spec.y_metrics() {
                let here = all.iter().copied();
                let here = here.filter(|c| name(c, spec.panel.values()).as_ref() == Some(&panel));
                let mut series = self.points(&here.collect::<Vec<_>>(), x, y);
                let (mut x_words, mut y_words) = (words::metric(x), words::metric(y));
                if spec.peak == Some(Peak::XOfSeriesYOfFigure) {
                    of_peak(&mut series);
                    x_words += ", share of the series' peak";
                    y_words += ", share of the figure's peak";
                }
                if spec.quadratic {
                    for one in &mut series {
                        let points: Vec<_> = one.marks.iter().map(|m| (m.x, m.y)).collect();
                        one.fit = Quadratic::fit(&points);
                    }
                }
                if series.is_empty() {
                    continue;
                }
                panels.push(Panel {
                    title: panel.clone(),
                    drawing: Drawing::Xy(Xy {
                        style: Style::Scatter,
                        x: Axis {
                            label: x_words,
                            values: Vec::new(),
                            logarithmic: false,
                        },
                        y: y_words,
                        series,
                        limit: None,
                    }),
                });
            }
        }
        Ok(panels)
    }

    fn points(&self, cells: &[&Cell], x: Metric, y: Metric) -> Vec<Series> {
        let spec = self.spec;
        let by = spec.series.values();
        let along = spec.along.as_deref();
        let order = along
            .map(|along| ReportData::values(cells, along))
            .unwrap_or_default();
        let mut series = Vec::new();
        for one in names(cells, by) {
            let of_series = cells
                .iter()
                .filter(|cell| name(cell, by).as_ref() == Some(&one));
            let mut marks: Vec<(usize, Mark)> = Vec::new();
            for cell in of_series {
                let Some(at) = cell.estimate(x) else { continue };
                let label = along
                    .and_then(|along| cell.factor(along))
                    .unwrap_or_default();
                let place = order.iter().position(|value| *value == label).unwrap_or(0);
                let mark = self.mark(cell, y, &label, at.mean.value);
                marks.extend(mark.map(|mark| (place, mark)));
            }
            marks.sort_by_key(|(place, _)| *place);
            if !marks.is_empty() {
                series.push(Series {
                    name: one,
                    marks: marks.into_iter().map(|(_, mark)| mark).collect(),
                    fit: None,
                });
            }
        }
        series
    }
}

/// Converts x to a fraction of the largest value of its series, and y to a fraction of the largest of all series.
fn of_peak(series: &mut [Series]) {
    let largest = |marks: &mut dyn Iterator<Item = f64>| marks.fold(f64::MIN_POSITIVE, f64::max);
    let top = largest(&mut series.iter().flat_map(|s| &s.marks).map(|mark| mark.y));
    for one in series {
        let wide = largest(&mut one.marks.iter().map(|mark| mark.x));
        for mark in &mut one.marks {
            let of_top = |(low, high)| (low / top, high / top);
            mark.x /= wide;
            mark.y /= top;
            mark.interval = mark.interval.map(of_top);
            mark.band = mark.band.map(of_top);
            mark.published = None;
        }
    }
}
