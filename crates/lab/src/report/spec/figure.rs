//! Figures in an experiment's file.

use super::{OneOrMore, SpecError, Where, needed, unused};
use crate::statistics::{Correction, TTest};
use joulio_workload::Metric;
use serde::Deserialize;

/// A `[[figure]]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Name in the source, such as `F1a`; unique in the file.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Name in the source of the figure that this one is a part of, if it differs from `id`; `-`: the source has none.
    pub in_source: Option<String>,
    /// Kind of drawing.
    pub kind: DrawingKind,
    /// Sweep whose records are shown.
    pub sweep: Option<String>,
    /// Values of factors that select the records.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Factor on the x axis; for a scatter, a metric.
    pub x: Option<String>,
    /// Metrics on the y axis, with a panel for each; for tiles, one factor.
    #[serde(default)]
    pub y: OneOrMore,
    /// Factors whose values are lines, or bars side by side.
    #[serde(default)]
    pub series: OneOrMore,
    /// Factors whose values are panels side by side.
    #[serde(default)]
    pub panel: OneOrMore,
    /// Factors whose values are compared, for tiles of the best.
    #[serde(default)]
    pub best: OneOrMore,
    /// Values that are subtracted, for tiles of a difference.
    pub less: Option<Less>,
    /// Metric of the tiles.
    pub metric: Option<Metric>,
    /// Test that compares the best of a tile with the next best.
    #[serde(default)]
    pub test: TTest,
    /// Correction for the number of tiles.
    #[serde(default)]
    pub correction: Correction,
    /// Factor that labels and joins a scatter's points.
    pub along: Option<String>,
    /// True to fit a parabola to each series of a scatter and show R².
    #[serde(default)]
    pub quadratic: bool,
    /// Peaks of which a scatter's x and y are fractions.
    pub peak: Option<Peak>,
    /// True to show the largest of several points that fall on one mark; otherwise several points are an error.
    #[serde(default)]
    pub largest: bool,
    /// Bars or lines from other sweeps in the same figure.
    #[serde(default)]
    pub layer: Vec<Layer>,
    /// Parts of stacked bars, from the bottom up.
    #[serde(default)]
    pub part: Vec<Part>,
    /// True for a line at the package's TDP.
    #[serde(default)]
    pub tdp: bool,
    /// Note below the figure.
    pub note: Option<String>,
    /// Hardware or run that the figure needs, shown if there are no records.
    pub needs: Option<String>,
}

/// Kind of drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawingKind {
    /// Lines of metrics over a factor.
    #[default]
    Lines,
    /// Bars of metrics by the values of a factor.
    Bars,
    /// Bars of several parts stacked on each other.
    Stacked,
    /// One metric over another.
    Scatter,
    /// The best of several in each combination of two factors.
    BestTiles,
    /// A difference in each combination of two factors.
    DifferenceTiles,
}

/// A difference: the value where `factor` is `of`, minus the value where it is `less`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Less {
    /// The factor.
    pub factor: String,
    /// Factor's value for the minuend.
    pub of: String,
    /// Factor's value for the subtrahend.
    pub less: String,
}

/// A line, or a bar at each x, from other records than those of the figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name in the legend.
    pub label: String,
    /// Sweep of the layer, if it is not the figure's.
    pub sweep: Option<String>,
    /// Values of factors that select the records, in addition to the figure's or replacing them.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Metric; `None`: the figure's.
    pub metric: Option<Metric>,
    /// True to show the largest of several points that fall on one mark.
    #[serde(default)]
    pub largest: bool,
}

/// A part of a stacked bar: a metric, or a named count of the runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name in the legend.
    pub label: String,
    /// Metric.
    pub metric: Option<Metric>,
    /// Name of a count in the records, such as `block/`, instead of a metric.
    pub count: Option<String>,
    /// Values of factors that replace the bar's own.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Values of factors, replacing the bar's own, at which the metric is subtracted.
    #[serde(default)]
    pub less: Where,
}

/// Peaks of which a scatter's values are fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peak {
    /// Fractions of each series' largest x, and of the figure's largest y.
    XOfSeriesYOfFigure,
}

impl FigureSpec {
    /// Checks that the figure has the keys that its kind needs, and no others.
    ///
    /// # Errors
    /// [`SpecError`], naming the key.
    pub fn check(&self) -> Result<(), SpecError> {
        let checked = self.keys().and_then(|()| self.metrics());
        checked.map_err(|problem| SpecError {
            kind: "figure",
            id: self.id.clone(),
            problem,
        })
    }

    /// Returns the sweeps of the figure, its own before those of its layers.
    pub fn sweeps(&self) -> Vec<&str> {
        let layers = self.layer.iter().map(|layer| &layer.sweep);
        let all = [&self.sweep].into_iter().chain(layers);
        all.filter_map(|sweep| sweep.as_deref()).collect()
    }

    /// Returns the names of factors on its axes, in its legend and of its panels.
    pub fn factors(&self) -> impl Iterator<Item = &String> {
        let scatter = self.kind == DrawingKind::Scatter;
        let tiles = matches!(
            self.kind,
            DrawingKind::BestTiles | DrawingKind::DifferenceTiles
        );
        let x = self.x.iter().filter(move |_| !scatter);
        let y = self.y.values().iter().filter(move |_| tiles);
        let lists = [&self.series, &self.panel, &self.best];
        let lists = lists.into_iter().flat_map(|list| list.values());
        let less = self.less.iter().map(|less| &less.factor);
        x.chain(y).chain(lists).chain(less).chain(&self.along)
    }

    /// Returns the metrics of the y axis, or of the tiles.
    pub fn y_metrics(&self) -> Vec<Metric> {
        let y = self.y.values().iter().filter_map(|name| name.parse().ok());
        match self.kind {
            DrawingKind::BestTiles | DrawingKind::DifferenceTiles => {
                self.metric.into_iter().collect()
            }
            _ => y.collect(),
        }
    }

    fn keys(&self) -> Result<(), String> {
        use DrawingKind as Kind;
        let what = self.kind.name();
        let layered = !self.layer.is_empty() && self.layer.iter().all(|l| l.sweep.is_some());
        needed(what, "sweep", self.sweep.is_some() || layered)?;
        needed(what, "x", self.x.is_some())?;
        let tiles = matches!(self.kind, Kind::BestTiles | Kind::DifferenceTiles);
        match self.kind {
            Kind::Stacked => {
                needed(what, "part", !self.part.is_empty())?;
                unused(what, "y", !self.y.is_empty())?;
            }
            _ => {
                unused(what, "part", !self.part.is_empty())?;
                let layers = self.layer.iter().any(|layer| layer.metric.is_some());
                needed(what, "y", !self.y.is_empty() || layers)?;
            }
        }
        if tiles {
            needed(what, "metric", self.metric.is_some())?;
            unused(what, "series", !self.series.is_empty())?;
            if self.y.values().len() != 1 {
                return Err(format!("{what} has one factor as its 'y'"));
            }
        } else {
            unused(what, "metric", self.metric.is_some())?;
        }
        match self.kind {
            Kind::BestTiles => needed(what, "best", !self.best.is_empty())?,
            _ => unused(what, "best", !self.best.is_empty())?,
        }
        match self.kind {
            Kind::DifferenceTiles => needed(what, "less", self.less.is_some())?,
            _ => unused(what, "less", self.less.is_some())?,
        }
        if self.kind != Kind::Scatter {
            unused(what, "along", self.along.is_some())?;
            unused(what, "quadratic", self.quadratic)?;
            unused(what, "peak", self.peak.is_some())?;
        }
        if !matches!(self.kind, Kind::Lines | Kind::Bars) {
            unused(what, "layer", !self.layer.is_empty())?;
        }
        Ok(())
    }

    fn metrics(&self) -> Result<(), String> {
        use DrawingKind as Kind;
        let metric = |name: &str| name.parse::<Metric>().map_err(|error| error.to_string());
        let tiles = matches!(self.kind, Kind::BestTiles | Kind::DifferenceTiles);
        if !tiles {
            self.y
                .values()
                .iter()
                .try_for_each(|y| metric(y).map(drop))?;
        }
        if let (Kind::Scatter, Some(x)) = (self.kind, &self.x) {
            metric(x)?;
        }
        for part in &self.part {
            if part.metric.is_some() == part.count.is_some() {
                return Err(format!(
                    "part '{}' needs either 'metric' or 'count'",
                    part.label
                ));
            }
        }
        Ok(())
    }
}

impl DrawingKind {
    /// Returns the name for messages.
    fn name(self) -> &'static str {
        match self {
            DrawingKind::Lines => "kind 'lines'",
            DrawingKind::Bars => "kind 'bars'",
            DrawingKind::Stacked => "kind 'stacked'",
            DrawingKind::Scatter => "kind 'scatter'",
            DrawingKind::BestTiles => "kind 'best-tiles'",
            DrawingKind::DifferenceTiles => "kind 'difference-tiles'",
        }
    }
}
