//! A figure in an experiment's file.

use super::{OneOrMore, SpecError, Where, needed, unused};
use crate::statistics::{Correction, TTest};
use joulio_workload::Metric;
use serde::Deserialize;

/// A `[[figure]]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Name in the source, `F1a`; unique in its file.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Name in the source of the figure that this is a part of, if it is not the id; `-`: the source has none.
    pub in_source: Option<String>,
    /// Kind of drawing.
    pub kind: DrawingKind,
    /// Sweep whose records it shows.
    pub sweep: Option<String>,
    /// Values of factors to take.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Factor along the x axis; of a scatter a metric.
    pub x: Option<String>,
    /// Metrics up the y axis, a panel each; of tiles one factor.
    #[serde(default)]
    pub y: OneOrMore,
    /// Factors whose values are lines, or bars side by side.
    #[serde(default)]
    pub series: OneOrMore,
    /// Factors whose values are panels side by side.
    #[serde(default)]
    pub panel: OneOrMore,
    /// Tiles of the best: the factors of whose values the best is sought.
    #[serde(default)]
    pub best: OneOrMore,
    /// Tiles of a difference: what is taken from what.
    pub less: Option<Less>,
    /// Metric of tiles.
    pub metric: Option<Metric>,
    /// Test by which the best of a tile is compared with the next.
    #[serde(default)]
    pub test: TTest,
    /// Correction for the number of tiles.
    #[serde(default)]
    pub correction: Correction,
    /// Factor by which a scatter's points are labelled and joined.
    pub along: Option<String>,
    /// True for a parabola through each series of a scatter, with R².
    #[serde(default)]
    pub quadratic: bool,
    /// Peak of which x and y of a scatter are fractions.
    pub peak: Option<Peak>,
    /// True to show, of several points that fall on one mark, the largest; false: that is an error.
    #[serde(default)]
    pub largest: bool,
    /// Bars or lines of other sweeps beside those of this figure.
    #[serde(default)]
    pub layer: Vec<Layer>,
    /// Parts of stacked bars, from the ground up.
    #[serde(default)]
    pub part: Vec<Part>,
    /// True for a line where a package draws all that it is sold to draw.
    #[serde(default)]
    pub tdp: bool,
    /// Note below the figure.
    pub note: Option<String>,
    /// Hardware or run that it needs, where there are no records.
    pub needs: Option<String>,
}

/// Kind of drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawingKind {
    /// Metrics over a factor.
    #[default]
    Lines,
    /// Metrics by the values of a factor.
    Bars,
    /// Bars of several parts on each other.
    Stacked,
    /// Metric over metric.
    Scatter,
    /// The best of several in each combination of two factors.
    BestTiles,
    /// A difference in each combination of two factors.
    DifferenceTiles,
}

/// A difference: the value where `factor` is `of`, less that where it is `less`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Less {
    /// The factor.
    pub factor: String,
    /// Value from which is taken.
    pub of: String,
    /// Value that is taken.
    pub less: String,
}

/// A line, or a bar at each x, from other records than the figure's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name in the legend.
    pub label: String,
    /// Sweep of it, where it is not the figure's.
    pub sweep: Option<String>,
    /// Values of factors to take, beside or in place of the figure's.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Metric; the figure's where there is none.
    pub metric: Option<Metric>,
    /// True to show, of several points that fall on one mark, the largest.
    #[serde(default)]
    pub largest: bool,
}

/// A part of a stacked bar: a metric, or a named count of the run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name in the legend.
    pub label: String,
    /// Metric.
    pub metric: Option<Metric>,
    /// Count by its name in the records, as `block/`; in place of a metric.
    pub count: Option<String>,
    /// Values of factors in place of the bar's own.
    #[serde(default, rename = "where")]
    pub filter: Where,
    /// Values of factors whose metric is taken from it, in place of the bar's own.
    #[serde(default)]
    pub less: Where,
}

/// Peak of which a scatter's values are fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peak {
    /// x by its own series' peak, y by the figure's.
    XOfSeriesYOfFigure,
}

impl FigureSpec {
    /// Judges the figure by itself: what its kind needs is there, and nothing that it has no use for.
    ///
    /// # Errors
    /// [`SpecError`], saying which.
    pub fn check(&self) -> Result<(), SpecError> {
        let checked = self.keys().and_then(|()| self.metrics());
        checked.map_err(|problem| SpecError {
            kind: "figure",
            id: self.id.clone(),
            problem,
        })
    }

    /// Sweeps of the figure, its own before those of its layers.
    pub fn sweeps(&self) -> Vec<&str> {
        let layers = self.layer.iter().map(|layer| &layer.sweep);
        let all = [&self.sweep].into_iter().chain(layers);
        all.filter_map(|sweep| sweep.as_deref()).collect()
    }

    /// Names of factors along its axes, in its legend and of its panels.
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

    /// Metrics of the y axis, or of the tiles.
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
