//! Maps of a grid's rows: the best policy by device, load and depth, for each number of jobs, size, mix and view.

use joulio_twin::grid::{GridAxes, GridCell, LoadKind, Scenario, View};
use std::fmt;

/// Largest number of maps on a picture.
pub(super) const MAX_MAPS: usize = 36;

/// Map of the best policies, with a line for each device and load and a tile for each depth.
#[derive(Clone, Debug)]
pub struct Map {
    /// Values that all tiles have in common.
    pub title: String,
    /// Device and load of each line.
    pub lines: Vec<String>,
    /// Tiles of each depth, by line; `None`: no policy keeps the promise, or the cell was not simulated.
    pub tiles: Vec<Vec<Option<Tile>>>,
}

/// Best policy of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Name of the policy.
    pub best: String,
    /// True if another policy is the best with some of the seeds.
    pub tie: bool,
    /// Joules of an I/O of the next best policy relative to the best's, minus one; `None`: there is no other.
    pub margin: Option<f64>,
}

impl Tile {
    fn of(cell: &GridCell) -> Option<Tile> {
        Some(Tile {
            best: cell.best.clone()?,
            tie: cell.is_tie(),
            margin: cell.margin,
        })
    }
}

/// Formats `umwait +12`, in percent; `~umwait +2.0` for a tie.
impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tie = if self.tie { "~" } else { "" };
        write!(f, "{tie}{}", self.best)?;
        match self.margin.map(|margin| 100.0 * margin) {
            Some(percent) if percent < 9.5 => write!(f, " +{percent:.1}"),
            Some(percent) => write!(f, " +{percent:.0}"),
            None => Ok(()),
        }
    }
}

/// Returns the number of maps of a grid.
pub(super) fn count(axes: &GridAxes) -> usize {
    axes.views.len() * axes.numjobs.len() * axes.sizes.len() * axes.reads.len()
}

/// Makes every map of `rows`.
pub fn maps(axes: &GridAxes, rows: &[GridCell]) -> Vec<Map> {
    let mut maps = Vec::new();
    for &view in &axes.views {
        for &numjobs in &axes.numjobs {
            for &bs in &axes.sizes {
                for &read_percent in &axes.reads {
                    maps.push(map(axes, rows, view, (numjobs, bs, read_percent)));
                }
            }
        }
    }
    maps
}

fn map(
    axes: &GridAxes,
    rows: &[GridCell],
    view: View,
    (numjobs, bs, read_percent): (usize, u32, u8),
) -> Map {
    let of = |scenario: &Scenario| {
        (scenario.numjobs, scenario.bs, scenario.read_percent) == (numjobs, bs, read_percent)
    };
    let here: Vec<_> = rows
        .iter()
        .filter(|row| row.view == view && of(&row.scenario))
        .collect();
    let best = |device: &str, load: LoadKind, iodepth: usize| {
        let same = |row: &&&GridCell| {
            let scenario = &row.scenario;
            scenario.device == device && scenario.load == load && scenario.iodepth == iodepth
        };
        here.iter().find(same).and_then(|row| Tile::of(row))
    };
    let lines = axes
        .devices
        .iter()
        .flat_map(|device| axes.loads.iter().map(move |&load| (device.as_str(), load)));
    let lines: Vec<_> = lines.collect();
    Map {
        title: format!(
            "{}, energy at {}: {numjobs} job(s), {} KiB, {read_percent} % reads",
            view.mechanism,
            view.boundary,
            bs / 1024
        ),
        tiles: lines
            .iter()
            .map(|&(device, load)| {
                let depths = axes.iodepths.iter();
                depths.map(|&depth| best(device, load, depth)).collect()
            })
            .collect(),
        lines: lines
            .iter()
            .map(|(device, load)| format!("{device} {load}"))
            .collect(),
    }
}
