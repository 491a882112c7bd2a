//! Stacked bars.

use super::xy::axis;
use super::{Drawing, Maker, Mark, Panel, Series, Style, Xy, name, names, only};
use crate::report::data::{Cell, Estimate, ReportData};
use crate::report::spec::{Part, Where};
use crate::report::words;
use crate::statistics::Interval;

/// One part of all bars, with the panel and mark of each.
struct OfPart {
    label: String,
    marks: Vec<(String, Mark)>,
}

impl Maker<'_> {
    pub(super) fn stacked(&self) -> Result<Vec<Panel>, String> {
        let spec = self.spec;
        let factor = spec.x.as_deref().unwrap_or("");
        let mut of_parts: Vec<OfPart> = Vec::new();
        let all = self.cells(&Where::new());
        for part in &spec.part {
            let mut marks = Vec::new();
            for panel in names(&all, spec.panel.values()) {
                for at in ReportData::values(&all, factor) {
                    if let Some(mark) = self.part(part, &panel, &at)? {
                        marks.push((panel.clone(), mark));
                    }
                }
            }
            of_parts.push(OfPart {
                label: part.label.clone(),
                marks,
            });
        }
        let mut panels = Vec::new();
        for panel in names(&all, spec.panel.values()) {
            let mut parts: Vec<Series> = Vec::new();
            for part in &of_parts {
                let marks = part.marks.iter().filter(|(of, _)| *of == panel);
                parts.push(Series {
                    name: part.label.clone(),
                    marks: marks.map(|(_, mark)| mark.clone()).collect(),
                    fit: None,
                });
            }
            let there = |at: &String| parts.iter().any(|p| p.marks.iter().any(|m| m.at == *at));
            let mut values = ReportData::values(&all, factor);
            values.retain(there);
            if values.is_empty() {
                continue;
            }
            let axis = axis(factor, &values, spec.kind);
            for mark in parts.iter_mut().flat_map(|part| &mut part.marks) {
                let place = axis.values.iter().find(|(at, _)| *at == mark.at);
                mark.x = place.map_or(0.0, |(_, x)| *x);
            }
            let unit = spec.part.iter().find_map(|part| part.metric);
            panels.push(Panel {
                title: panel.clone(),
                drawing: Drawing::Xy(Xy {
                    style: Style::Stacked,
                    x: axis,
                    y: unit.map_or_else(|| "counts of an I/O".to_owned(), words::metric),
                    series: parts,
                    limit: None,
                }),
            });
        }
        Ok(panels)
    }

    /// Returns the figure's cells, with the factors of `in_place` replacing its own.
    fn cells(&self, in_place: &Where) -> Vec<&Cell> {
        let spec = self.spec;
        let sweep = spec.sweep.as_deref().unwrap_or("");
        let cells = self.data.cells().filter(|cell| cell.sweep == sweep);
        let mut filter = spec.filter.clone();
        filter.extend(in_place.clone());
        cells.filter(|cell| cell.is_in(&filter)).collect()
    }

    fn part(&self, part: &Part, panel: &str, at: &str) -> Result<Option<Mark>, String> {
        let Some(mut estimate) = self.of_part(part, &part.filter, panel, at)? else {
            return Ok(None);
        };
        if !part.less.is_empty() {
            let Some(less) = self.of_part(part, &part.less, panel, at)? else {
                return Ok(None);
            };
            let half = estimate.mean.half().hypot(less.mean.half());
            estimate.mean = Interval::around(estimate.mean.value - less.mean.value, half);
            estimate.band = None;
            estimate.modelled |= less.modelled;
            estimate.simulated &= less.simulated;
        }
        Ok(Some(Mark::of(&estimate, at, 0.0)))
    }

    fn of_part(
        &self,
        part: &Part,
        in_place: &Where,
        panel: &str,
        at: &str,
    ) -> Result<Option<Estimate>, String> {
        let spec = self.spec;
        let factor = spec.x.as_deref().unwrap_or("");
        let cells = self.cells(in_place).into_iter().filter(|cell| {
            let of_panel = name(cell, spec.panel.values()).as_deref() == Some(panel);
            of_panel && cell.factor(factor).as_deref() == Some(at)
        });
        let cells: Vec<&Cell> = cells.collect();
        match (part.metric, &part.count) {
            (Some(metric), _) => {
                let cell = only(&cells, metric, spec.largest)?;
                Ok(cell.and_then(|cell| cell.estimate(metric)))
            }
            (None, Some(count)) => match cells.as_slice() {
                [] => Ok(None),
                [one] => Ok(one.count(count)),
                _ => Err("several points fall on one bar".into()),
            },
            (None, None) => Ok(None),
        }
    }
}
