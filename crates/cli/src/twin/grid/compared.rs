//! Tables that compare one policy with each other one.

use super::share::percent;
use crate::columns::columns;
use joulio_lab::grid::{
    Comparison, comparisons, comparisons_by_part, kept_promises, on_shared_cpus,
};
use joulio_twin::grid::GridCell;
use std::fmt::Write;

/// Formats the tables of the policy called `name` on `rows`; `shared`: the CPUs are shared.
pub fn text(rows: &[&GridCell], name: &str, shared: bool) -> String {
    let mut text = format!("\n{}\n{}", kept(rows, name), joules(rows, name));
    if let Some(cpus) = shared.then(|| on_shared_cpus(rows, name)).flatten() {
        let _ = writeln!(
            text,
            "{name}: CPU time an I/O at most 5 % above that of the most frugal that keeps the promise, or of all where none\n\
             does, in {} of {} cells (median {} %); neither poll nor interrupt has both p99 and p99.9 lower by over\n\
             10 % in {}; a neighbour that computes does at least 95 % of what it does beside the best in {} of {}.",
            cpus.frugal,
            cpus.cells,
            percent(cpus.cpu.median),
            cpus.unbeaten,
            cpus.considerate,
            cpus.neighbours,
        );
    }
    text
}

/// Formats a line for each load, and one for all.
fn kept(rows: &[&GridCell], name: &str) -> String {
    let keeps = format!("{name} keeps*");
    let header = ["load", "cells", &keeps, "steady", "of these*"].map(String::from);
    let lines = kept_promises(rows, name).into_iter().map(|one| {
        let load = one
            .load
            .map_or_else(|| "all".into(), |load| load.to_string());
        let counts = [one.cells, one.keeps, one.steady, one.steady_keeps];
        let counts = counts.map(|count| count.to_string());
        [vec![load], counts.to_vec()].concat()
    });
    format!(
        "{}steady: cells in which another seed changes polling's p99.9 by less than 5 %.\n",
        columns(header, lines, 1)
    )
}

/// Formats a line for each other policy, and then one for each boundary and load.
fn joules(rows: &[&GridCell], name: &str) -> String {
    let each = ratios(&format!("{name} over"), comparisons(rows, name));
    let parts = ratios(
        &format!("{name} over the best other"),
        comparisons_by_part(rows, name),
    );
    format!(
        "{each}\n{parts}Joules of an I/O over the other's, of the cells in which both keep the promise; as good: at most 1 % more.\n"
    )
}

/// Formats a line for each of `all`, whose names are in a column with the heading `names`.
fn ratios(names: &str, all: Vec<Comparison>) -> String {
    let header = [
        names,
        "cells",
        "mean %*",
        "median %*",
        "90th %*",
        "worst %*",
        "as good %*",
    ];
    let lines = all.into_iter().map(|one| {
        let spread = [
            one.mean,
            one.spread.median,
            one.spread.ninetieth,
            one.spread.worst,
        ];
        let figures = [&spread[..], &[one.as_good]].concat();
        let figures = figures.into_iter().map(percent);
        [one.other, one.cells.to_string()]
            .into_iter()
            .chain(figures)
            .collect::<Vec<_>>()
    });
    columns(header, lines, 1)
}
