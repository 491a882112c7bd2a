//! Figures: conversion of records to marks and labels.

mod scatter;
mod stacked;
mod tiles;
mod xy;

use super::answers::Answers;
use super::data::{Cell, Estimate, ReportData, no_data};
use super::spec::{DrawingKind, FigureSpec};
use crate::statistics::Quadratic;
use joulio_units::Boundary;
use joulio_workload::Metric;
use serde::Serialize;

pub use tiles::{Entry, Tie, Tile, Tiles};

/// A figure with its data.
#[derive(Clone, Debug, Serialize)]
pub struct ReportFigure {
    /// Name in the source.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Drawings side by side; empty: there is nothing to draw.
    pub panels: Vec<Panel>,
    /// True if one of its values is modelled.
    pub modelled: bool,
    /// Boundaries and sources of its energy figures.
    pub energy: Vec<(Boundary, String)>,
    /// Note below the figure.
    pub note: Option<String>,
    /// Reason why there is nothing to draw.
    pub problem: Option<String>,
}

/// Panel: a single drawing of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Panel {
    /// Values of the panel's factors, and its metric if the figure has several.
    pub title: String,
    /// Data of the drawing.
    pub drawing: Drawing,
}

/// Data of a drawing.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawing {
    /// Values along an axis.
    Xy(Xy),
    /// Tiles in rows and columns.
    Tiles(Tiles),
}

/// Values along an axis.
#[derive(Clone, Debug, Serialize)]
pub struct Xy {
    /// Style of the values along the axis.
    pub style: Style,
    /// The x axis.
    pub x: Axis,
    /// Label of the y axis.
    pub y: String,
    /// Lines, or bars of one colour.
    pub series: Vec<Series>,
    /// Horizontal line, with its label and value.
    pub limit: Option<(String, f64)>,
}

/// Style in which values along an axis are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Marks joined by lines.
    Lines,
    /// Bars side by side.
    Bars,
    /// Bars stacked on each other.
    Stacked,
    /// Marks without lines.
    Scatter,
    /// Stairs from 0 to 100 percent, with marks where they are labelled.
    Curve,
}

/// An x axis.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    /// Label of the axis.
    pub label: String,
    /// Values to label along the axis, in order, each at its place of [`Mark::x`]; empty for a scatter or a curve.
    pub values: Vec<(String, f64)>,
    /// True if the axis is logarithmic.
    pub logarithmic: bool,
}

/// A line, or the bars of one colour.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Marks of the series, along x.
    pub marks: Vec<Mark>,
    /// Parabola through the marks.
    pub fit: Option<Quadratic>,
}

/// A value in a drawing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Place along the x axis.
    pub x: f64,
    /// Value of x as text, or the label of a scatter's point.
    pub at: String,
    /// The value: mean of the repetitions.
    pub y: f64,
    /// Ends of the mean's 95 % interval; `None`: one repetition.
    pub interval: Option<(f64, f64)>,
    /// Value with the model's parameters at the ends of their bands.
    pub band: Option<(f64, f64)>,
    /// Number of repetitions.
    pub n: usize,
    /// True for a modelled value.
    pub modelled: bool,
    /// True if a package would draw more than its TDP, in virtual time.
    pub past_tdp: bool,
    /// Published value, or the ends of its range.
    pub published: Option<(f64, Option<f64>)>,
}

/// Data from which a figure is made.
pub(super) struct Maker<'a> {
    pub spec: &'a FigureSpec,
    pub data: &'a ReportData,
    pub answers: &'a Answers,
    /// TDP of the machine's package in watts.
    pub tdp_watts: Option<f64>,
}

impl Maker<'_> {
    /// Makes the figure.
    pub fn make(&self) -> ReportFigure {
        let made = match self.spec.kind {
            DrawingKind::Lines | DrawingKind::Bars => self.xy(),
            DrawingKind::Scatter => self.scatter(),
            DrawingKind::Stacked => self.stacked(),
            DrawingKind::BestTiles | DrawingKind::DifferenceTiles => self.tiles(),
        };
        let (panels, problem) = match made {
            Ok(panels) if panels.is_empty() => (panels, Some(self.nothing())),
            Ok(panels) => (panels, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        ReportFigure {
            id: self.spec.id.clone(),
            title: self.spec.title.clone(),
            modelled: panels.iter().any(Panel::is_modelled),
            energy: self.energy(),
            panels,
            note: self.note(),
            problem,
        }
    }

    /// Returns the note below the figure: its own, and which devices are stand-ins.
    fn note(&self) -> Option<String> {
        let layers = self.spec.layer.iter();
        let cells = layers.flat_map(|layer| {
            let sweep = layer.sweep.as_deref().unwrap_or("");
            self.data.select(sweep, &layer.filter)
        });
        let mut devices = cells.filter_map(|cell| cell.stand_in(self.data.platform));
        let stand_in = devices.next().map(|device| {
            format!(
                "The emulated {device} is another device than that of the others: the difference is of both, the device \
                 and the way to it."
            )
        });
        let parts: Vec<String> = self.spec.note.clone().into_iter().chain(stand_in).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    /// Returns the metrics of the axes, layers and parts.
    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.spec.y_metrics();
        metrics.extend(self.spec.x.iter().filter_map(|x| x.parse::<Metric>().ok()));
        metrics.extend(self.spec.layer.iter().filter_map(|layer| layer.metric));
        metrics.extend(self.spec.part.iter().filter_map(|part| part.metric));
        metrics
    }

    /// Returns the boundaries and sources of the figure's energy.
    fn energy(&self) -> Vec<(Boundary, String)> {
        let mut found = Vec::new();
        let metrics = self.metrics();
        let sweeps = self.spec.layer.iter().filter_map(|l| l.sweep.as_deref());
        for sweep in self.spec.sweep.as_deref().into_iter().chain(sweeps) {
            for cell in self.data.select(sweep, &self.spec.filter) {
                let all = metrics
                    .iter()
                    .filter_map(|metric| cell.estimate(*metric)?.energy);
                for energy in all {
                    if !found.contains(&energy) {
                        found.push(energy);
                    }
                }
            }
        }
        found
    }

    /// Returns the reason why there is nothing to draw.
    fn nothing(&self) -> String {
        let sweeps = self.spec.layer.iter().filter_map(|l| l.sweep.as_deref());
        let sweeps = self.spec.sweep.as_deref().into_iter().chain(sweeps);
        let cells = sweeps.flat_map(|sweep| self.data.select(sweep, &self.spec.filter));
        no_data(cells, &self.metrics(), self.spec.needs.as_deref())
    }

    /// Returns the mark of `cell` at `x`; `None` if it has no estimate of `metric`.
    fn mark(&self, cell: &Cell, metric: Metric, at: &str, x: f64) -> Option<Mark> {
        let estimate = cell.estimate(metric)?;
        let past = cell.runs.iter().any(|run| run.result.past_tdp.is_some());
        Some(Mark {
            past_tdp: past,
            published: self.answers.printed(&cell.sweep, &cell.point, metric),
            ..Mark::of(&estimate, at, x)
        })
    }
}

impl Mark {
    /// Returns the interval as it is drawn: cut off at zero, unless the value itself is negative.
    pub fn drawn_interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.interval?;
        let low = if self.y < 0.0 { low } else { low.max(0.0) };
        Some((low, high))
    }

    fn of(estimate: &Estimate, at: &str, x: f64) -> Mark {
        let mean = estimate.mean;
        Mark {
            x,
            at: at.to_owned(),
            y: mean.value,
            interval: mean.half().is_finite().then_some((mean.low, mean.high)),
            band: estimate.band,
            n: estimate.values.len(),
            modelled: estimate.modelled,
            past_tdp: false,
            published: None,
        }
    }
}

impl Panel {
    fn is_modelled(&self) -> bool {
        match &self.drawing {
            Drawing::Xy(xy) => xy.series.iter().flat_map(|s| &s.marks).any(|m| m.modelled),
            Drawing::Tiles(tiles) => tiles.tiles().any(|tile| tile.modelled),
        }
    }
}

/// Returns the name of `cell` among others, from its values of `factors`: `poll`, `4k, 8`.
pub(super) fn name(cell: &Cell, factors: &[String]) -> Option<String> {
    let values = factors.iter().map(|factor| cell.factor(factor));
    Some(values.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Returns the names of `cells` from their values of `factors`, in the order of these values.
pub(super) fn names(cells: &[&Cell], factors: &[String]) -> Vec<String> {
    let mut names = vec![String::new()];
    for factor in factors {
        let values = ReportData::values(cells, factor);
        let longer = names.iter().flat_map(|name| {
            values.iter().map(move |value| match name.is_empty() {
                true => value.clone(),
                false => format!("{name}, {value}"),
            })
        });
        names = longer.collect();
    }
    names.retain(|one| {
        cells
            .iter()
            .any(|cell| name(cell, factors).as_ref() == Some(one))
    });
    names
}

/// Returns the only one of `cells` that has `metric`, or with `largest` the one where it is largest; `None` if there is
/// none.
///
/// # Errors
/// Several cells have it; the text names a factor in which they differ.
pub(super) fn only<'a>(
    cells: &[&'a Cell],
    metric: Metric,
    largest: bool,
) -> Result<Option<&'a Cell>, String> {
    let having = cells.iter().filter(|cell| cell.estimate(metric).is_some());
    let having: Vec<&Cell> = having.copied().collect();
    let value = |cell: &Cell| cell.estimate(metric).map_or(f64::MIN, |e| e.mean.value);
    match having.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        [one, other, ..] if !largest => {
            let mut factors = one.point.keys();
            let differs = factors.find(|factor| one.point.get(*factor) != other.point.get(*factor));
            let differs = differs.map_or("", String::as_str);
            Err(format!(
                "several points fall on one mark: they differ in {differs}, which the figure does \
                 not name"
            ))
        }
        all => Ok(all
            .iter()
            .copied()
            .max_by(|a, b| value(a).total_cmp(&value(b)))),
    }
}
