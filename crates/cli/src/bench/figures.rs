//! Energy figures in a table of their own.

use crate::columns::columns;
use joulio_lab::record::RunRecord;
use joulio_lab::results::{
    EnergyColumn, Varied, energy_notes, run_name, shown, star_note, unmetered,
};
use joulio_workload::{EnergyResult, RunResult};
use std::fmt::Write;

/// Formats the energy figures of every run, one a line, with notes on them.
pub fn energy_table(
    varied: &Varied,
    records: &[&RunRecord],
    column: Option<&EnergyColumn>,
    text: &mut String,
) {
    // The model's figures have a star if there are measured figures as well.
    let star = match records.iter().all(|record| record.result.modelled) {
        true => "*",
        false => "",
    };
    let figures = ["W", "+-", "from", "to", "uJ/IO", "IO/J", "MiB/J"];
    let figures = figures.map(|name| format!("{name}{star}"));
    let words = ["energy", "boundary", "source"].map(String::from);
    let header = varied.names().chain(words).chain(figures);
    let rows = records.iter().flat_map(|record| {
        let shown = record.result.counts.iter().flat_map(shown);
        shown.map(|figure| {
            let place = varied.values(&record.point).into_iter();
            place.chain(row(&record.result, figure))
        })
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&columns(header, rows, 3 + varied.count()));
    }
    let mut lines = unmetered(varied, records);
    lines.extend(star_note(column));
    lines.extend(energy_notes(records));
    if !lines.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{}", lines.join("\n"));
    }
}

fn row(run: &RunResult, figure: &EnergyResult) -> [String; 10] {
    let none = || "-".to_string();
    let star = if figure.modelled { "*" } else { "" };
    let above = if figure.idle_subtracted {
        ", above idle"
    } else {
        ""
    };
    let watts = |joules: f64| format!("{:.2}", joules / figure.window_seconds);
    let band = figure.band_joules;
    [
        run_name(run),
        format!("{}{star}", figure.zone),
        format!("{}{above}", figure.source),
        watts(figure.joules),
        figure.error_joules.map_or_else(none, watts),
        band.map_or_else(none, |(low, _)| watts(low)),
        band.map_or_else(none, |(_, high)| watts(high)),
        figure
            .joules_per_io
            .map_or_else(none, |joules| format!("{:.1}", joules * 1e6)),
        figure
            .ios_per_joule
            .map_or_else(none, |ios| format!("{ios:.0}")),
        figure
            .bytes_per_joule
            .map_or_else(none, |bytes| format!("{:.2}", bytes / (1 << 20) as f64)),
    ]
}
