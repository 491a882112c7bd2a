//! Rows as maps: for each job, size, mix and view, the best policy by device, load and depth.

use super::tiles;
use crate::failure::Failure;
use joulio_lab::output_file::{Existing, OutputFile};
use joulio_twin::grid::{Axes, LoadKind, Row, Scenario, View};
use std::path::Path;

/// More do not fit on a picture.
const MAX_MAPS: usize = 36;

/// One map.
#[derive(Clone, Debug)]
pub struct Map {
    /// What all of its tiles have in common.
    pub title: String,
    /// Device and load of each line.
    pub lines: Vec<String>,
    /// The best of each depth, by line; None: nobody keeps the promise, or it was not simulated.
    pub tiles: Vec<Vec<Option<String>>>,
}

/// Every map.
pub fn maps(axes: &Axes, rows: &[Row]) -> Vec<Map> {
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
    axes: &Axes,
    rows: &[Row],
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
        let same = |row: &&&Row| {
            let scenario = &row.scenario;
            scenario.device == device && scenario.load == load && scenario.iodepth == iodepth
        };
        here.iter().find(same).and_then(|row| row.best.clone())
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

/// Where to draw; refuses a picture that cannot be drawn or written, before anything is simulated.
pub fn open(axes: &Axes, path: &Path, existing: Existing) -> Result<OutputFile, Failure> {
    let count = axes.views.len() * axes.numjobs.len() * axes.sizes.len() * axes.reads.len();
    if count > MAX_MAPS {
        return Err(Failure::input(format!(
            "--svg {}: {count} maps are too many for a picture: name fewer of --numjobs, --bs and --rwmixread",
            path.display()
        )));
    }
    OutputFile::open(path, existing).map_err(|error| Failure::input(format!("--svg: {error}")))
}

/// Draws them.
pub fn write(file: &OutputFile, machine: &str, axes: &Axes, rows: &[Row]) -> Result<(), Failure> {
    let failed = |error: String| Failure::run(format!("--svg: {error}"));
    let text = tiles::draw(machine, axes, &maps(axes, rows)).map_err(failed)?;
    file.write(&text).map_err(|error| failed(error.to_string()))
}
