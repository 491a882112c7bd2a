//! `joulio twin grid`: simulates every policy on every load.

mod args;
mod compared;
mod progress;
mod report;
mod share;

pub use args::GridArgs;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{print, print_data, print_json};
use crate::signals::{cancel, stop_on_signals};
use args::GridFormat;
use joulio_lab::grid::{Grid, GridHeader, csv};
use joulio_lab::output_file::{Existing, same_file};
use joulio_twin::grid::GridCell;
use progress::GridProgress;
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    grid: &'a GridHeader<'a>,
    cells: &'a [GridCell],
}

/// Runs `joulio twin grid`.
pub fn run(args: &GridArgs) -> Outcome {
    if let Some((flag, value)) = args.doubled() {
        return Err(Failure::input(format!(
            "{flag}: {value} is given twice: leave one out"
        )));
    }
    // Flag that signals set once they are handled.
    let cancelled = cancel().flag().cloned().unwrap_or_default();
    let grid = Grid::new(args.options(), cancelled)?;
    if let (Some(svg), Some(state)) = (&args.svg, &args.state)
        && same_file(svg, state)
    {
        return Err(Failure::input(
            "--svg and --state name the same file: name two",
        ));
    }
    let existing = Existing::forced(args.force);
    let picture = args.svg.as_deref();
    let picture = picture.map(|path| grid.picture(path, existing));
    let picture = picture.transpose().map_err(Failure::input)?;
    let state = grid.state(args.state.as_deref())?;
    if let Some(name) = args.compare.as_deref()
        && !grid.policies().contains(&name)
    {
        return Err(Failure::input(format!(
            "--compare {name}: no policy of the grid: {}",
            grid.policies().join(", ")
        )));
    }
    // Signals are handled only now: opening the files may block until they have a reader.
    let stop = stop_on_signals()?;
    let mut progress = None;
    let done = grid.simulate(args.threads(), state, &stop, |all, done| {
        let progress = progress.get_or_insert_with(|| GridProgress::new(all, done));
        progress.set(done);
    });
    drop(progress);
    let done = done?;
    let drawn = match &picture {
        Some(file) => grid.draw(file, &done).map_err(Failure::run),
        None => Ok(()),
    };
    let header = grid.header();
    match args.output.format() {
        GridFormat::Normal => print(&report::text(&header, &done, args.compare.as_deref()))?,
        GridFormat::Json => print_json(&Report {
            grid: &header,
            cells: &done,
        })?,
        GridFormat::Csv => print_data(&csv(&done).map_err(Failure::run)?)?,
    }
    // The rows are shown even if the picture could not be drawn.
    drawn?;
    if stop.stopped() {
        let (done, all) = (done.len(), grid.axes().cells());
        return Err(Failure::interrupted(match &args.state {
            Some(_) => format!("{done} of {all} cells are done: the same command goes on"),
            None => format!("{done} of {all} cells are done: with --state=FILE it could go on"),
        }));
    }
    if done.iter().all(|row| row.best.is_none()) {
        say("nobody keeps the promise in any cell");
    }
    Ok(())
}
