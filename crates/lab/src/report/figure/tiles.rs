//! Tiles for each combination of two factors: the best of several, or a difference.

use super::{Drawing, Maker, Panel, name, names, only};
use crate::report::data::{Cell, Estimate, ReportData};
use crate::report::spec::{DrawingKind, Less};
use crate::report::value::percent;
use crate::report::words;
use crate::statistics::{Interval, SIGNIFICANCE};
use joulio_workload::{Better, Metric};
use serde::Serialize;

/// Tiles in rows and columns.
#[derive(Clone, Debug, Serialize)]
pub struct Tiles {
    /// Name of the metric with its unit.
    pub metric: String,
    /// Name of the columns' factor, and its values.
    pub columns: (String, Vec<String>),
    /// Name of the rows' factor, and its values.
    pub rows: (String, Vec<String>),
    /// Rows of tiles; `None`: no data for this combination.
    pub tiles: Vec<Vec<Option<Tile>>>,
    /// True for differences, false for the best of several.
    pub difference: bool,
}

/// Tile of a panel.
#[derive(Clone, Debug, Serialize)]
pub struct Tile {
    /// The best of several; `None` in tiles of a difference.
    pub best: Option<String>,
    /// Percent by which the best is better than the next, or the difference.
    pub value: f64,
    /// Ends of the test's interval of the value at 95 %, corrected as `p` is; `None`: not known.
    pub interval: Option<(f64, f64)>,
    /// Repetitions from which the interval is computed: of the larger value (or the minuend), and of the other.
    #[serde(skip)]
    samples: [Vec<f64>; 2],
    /// Probability that chance alone makes a difference as large, corrected; `None`: not known.
    pub p: Option<f64>,
    /// Verdict on the difference: it counts, or the reason why it does not.
    pub tie: Tie,
    /// Methods compared, the best first.
    pub entries: Vec<Entry>,
    /// True if one of its values is modelled.
    pub modelled: bool,
}

/// Reason why a difference does not count, or `No` if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tie {
    /// The difference counts.
    No,
    /// The difference is not significant.
    Noise,
    /// The model's bands of both values overlap.
    Band,
    /// Too few repetitions to know.
    Unknown,
}

/// A value that a tile compares with others.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Name: the values of the factors.
    pub name: String,
    /// The mean.
    pub value: f64,
    /// Ends of its 95 % interval; `None`: one repetition.
    pub interval: Option<(f64, f64)>,
    /// Number of repetitions.
    pub n: usize,
}

impl Tiles {
    /// Returns all tiles that have data.
    pub fn tiles(&self) -> impl Iterator<Item = &Tile> {
        self.tiles.iter().flatten().flatten()
    }
}

impl Maker<'_> {
    pub(super) fn tiles(&self) -> Result<Vec<Panel>, String> {
        let spec = self.spec;
        let Some(metric) = spec.metric else {
            return Err("it has no metric".into());
        };
        let all = self
            .data
            .select(spec.sweep.as_deref().unwrap_or(""), &spec.filter);
        let (x, y) = (spec.x.as_deref().unwrap_or(""), spec.y.values().first());
        let y = y.map_or("", String::as_str);
        let mut panels = Vec::new();
        for panel in names(&all, spec.panel.values()) {
            let here = all.iter().copied();
            let here = here.filter(|c| name(c, spec.panel.values()).as_ref() == Some(&panel));
            let here: Vec<&Cell> = here.collect();
            let (columns, rows) = (ReportData::values(&here, x), ReportData::values(&here, y));
            let mut tiles = Vec::new();
            for row in &rows {
                let mut line = Vec::new();
                for column in &columns {
                    let cells = here.iter().copied().filter(|cell| {
                        cell.factor(x).as_ref() == Some(column)
                            && cell.factor(y).as_ref() == Some(row)
                    });
                    let cells: Vec<&Cell> = cells.collect();
                    line.push(match (&spec.less, spec.kind) {
                        (Some(less), DrawingKind::DifferenceTiles) => {
                            self.difference(&cells, metric, less)?
                        }
                        _ => self.best(&cells, metric)?,
                    });
                }
                tiles.push(line);
            }
            if tiles.iter().flatten().flatten().next().is_none() {
                continue;
            }
            panels.push(Panel {
                title: panel,
                drawing: Drawing::Tiles(Tiles {
                    metric: words::metric(metric),
                    columns: (words::factor(x).into(), columns),
                    rows: (words::factor(y).into(), rows),
                    tiles,
                    difference: spec.kind == DrawingKind::DifferenceTiles,
                }),
            });
        }
        self.correct(&mut panels);
        Ok(panels)
    }

    /// Compares the best of `cells` with the next best.
    fn best(&self, cells: &[&Cell], metric: Metric) -> Result<Option<Tile>, String> {
        let by = self.spec.best.values();
        let mut found: Vec<(String, Estimate)> = Vec::new();
        for one in names(cells, by) {
            let of_name = cells.iter().copied();
            let of_name = of_name.filter(|cell| name(cell, by).as_ref() == Some(&one));
            let cell = only(&of_name.collect::<Vec<_>>(), metric, self.spec.largest)?;
            found.extend(cell.and_then(|cell| Some((one, cell.estimate(metric)?))));
        }
        let higher = metric.better() != Some(Better::Lower);
        found.sort_by(|a, b| {
            let (a, b) = (a.1.mean.value, b.1.mean.value);
            if higher {
                b.total_cmp(&a)
            } else {
                a.total_cmp(&b)
            }
        });
        let [(best, first), (_, second), ..] = found.as_slice() else {
            return Ok(None);
        };
        if !first.is_of_boundary(second) {
            return Err("its energy figures are of unlike boundaries".into());
        }
        let (more, less) = if higher {
            (first, second)
        } else {
            (second, first)
        };
        Ok(Some(Tile {
            best: Some(best.clone()),
            value: percent(more.mean.value / less.mean.value),
            samples: [more.values.clone(), less.values.clone()],
            ..self.tile(first, second, &found)
        }))
    }

    /// Computes the difference of `less.of` minus `less.less` over `cells`.
    fn difference(
        &self,
        cells: &[&Cell],
        metric: Metric,
        less: &Less,
    ) -> Result<Option<Tile>, String> {
        let estimate = |value: &str| -> Result<Option<Estimate>, String> {
            let cells = cells.iter().copied();
            let cells = cells.filter(|c| c.factor(&less.factor).as_deref() == Some(value));
            let cell = only(&cells.collect::<Vec<_>>(), metric, self.spec.largest)?;
            Ok(cell.and_then(|cell| cell.estimate(metric)))
        };
        let (Some(of), Some(from)) = (estimate(&less.of)?, estimate(&less.less)?) else {
            return Ok(None);
        };
        if !of.is_of_boundary(&from) {
            return Err("its energy figures are of unlike boundaries".into());
        }
        let value = of.mean.value - from.mean.value;
        let samples = [of.values.clone(), from.values.clone()];
        let both = [(less.of.clone(), of), (less.less.clone(), from)];
        Ok(Some(Tile {
            best: None,
            value,
            samples,
            ..self.tile(&both[0].1, &both[1].1, &both)
        }))
    }

    fn tile(&self, one: &Estimate, other: &Estimate, all: &[(String, Estimate)]) -> Tile {
        let compared = self.spec.test.compare(&one.values, &other.values);
        let entry = |(name, estimate): &(String, Estimate)| {
            let Interval { value, low, high } = estimate.mean;
            Entry {
                name: name.clone(),
                value,
                interval: (high - low).is_finite().then_some((low, high)),
                n: estimate.values.len(),
            }
        };
        Tile {
            best: None,
            value: 0.0,
            interval: None,
            samples: Default::default(),
            p: compared.map(|compared| compared.p),
            tie: match one.bands_overlap(other) {
                true => Tie::Band,
                false => Tie::Unknown,
            },
            entries: all.iter().map(entry).collect(),
            modelled: all.iter().any(|(_, estimate)| estimate.modelled),
        }
    }

    /// Corrects the probabilities for the number of tiles, and marks ties.
    fn correct(&self, panels: &mut [Panel]) {
        let tiles = panels
            .iter_mut()
            .flat_map(|panel| match &mut panel.drawing {
                Drawing::Tiles(tiles) => tiles.tiles.iter_mut(),
                Drawing::Xy(_) => [].iter_mut(),
            });
        let tiles: Vec<&mut Tile> = tiles.flatten().flatten().collect();
        let known: Vec<f64> = tiles.iter().filter_map(|tile| tile.p).collect();
        let corrected = self.spec.correction.apply(&known).into_iter();
        let levels = self.spec.correction.levels(&known);
        let tiles = tiles.into_iter().filter(|tile| tile.p.is_some());
        for (tile, (p, level)) in tiles.zip(corrected.zip(levels)) {
            tile.p = Some(p);
            tile.tie = match (p > SIGNIFICANCE, tile.tie) {
                (true, _) => Tie::Noise,
                (false, Tie::Band) => Tie::Band,
                (false, _) => Tie::No,
            };
            tile.interval = self.interval(tile, level);
        }
    }

    /// Returns the ends of the interval of `tile` at the significance `level`.
    fn interval(&self, tile: &Tile, level: f64) -> Option<(f64, f64)> {
        let [one, other] = &tile.samples;
        if tile.best.is_some() {
            let ratio = self.spec.test.ratio(one, other, level)?;
            return Some((percent(ratio.low), percent(ratio.high)));
        }
        let difference = self.spec.test.compare(one, other)?.difference_at(level);
        Some((difference.low, difference.high))
    }
}
