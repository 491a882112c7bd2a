//! The energy figures for people, in a table of their own.

use crate::columns::aligned;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use joulio_lab::results::{EnergyColumn, run_name, shown};
use joulio_workload::{EnergyResult, RunResult};
use std::fmt::Write;

/// The figures of every run, a line each, and what is to be known of them.
pub fn energy_table(runs: &[RunResult], column: Option<&EnergyColumn>, text: &mut String) {
    let mut table = Table::new();
    table.load_style(NOTHING);
    // Where measured figures stand beside the model's, a star stands at each of the model's.
    let star = match runs.iter().all(|run| run.modelled) {
        true => "*",
        false => "",
    };
    let figures = ["W", "+-", "from", "to", "uJ/IO", "IO/J", "MiB/J"];
    let figures = figures.map(|name| format!("{name}{star}"));
    let words = ["energy", "boundary", "source"].map(String::from);
    table.set_header(words.into_iter().chain(figures));
    for run in runs {
        for figure in run.counts.iter().flat_map(shown) {
            table.add_row(row(run, figure));
        }
    }
    if table.row_count() > 0 {
        text.push('\n');
        text.push_str(&aligned(&mut table, 3));
    }
    text.push('\n');
    for run in runs {
        for meter in run.counts.iter().flat_map(|counts| &counts.unmetered) {
            let _ = writeln!(text, "{}: {}: {}", run_name(run), meter.meter, meter.why);
        }
    }
    let all = || runs.iter().filter_map(|run| run.counts.as_ref());
    let has = |what: fn(&EnergyResult) -> bool| all().any(|c| c.energy.iter().any(what));
    if let Some(column) = column {
        let star = column.star();
        let how = if column.modelled {
            "modelled, not measured"
        } else {
            "measured"
        };
        let _ = writeln!(
            text,
            "W{star}, uJ/IO{star}, IO/J{star}: {how}, {}, {}.",
            column.zone, column.source
        );
    }
    if has(EnergyResult::is_model) {
        text.push_str(
            "The model: time in each wait state times the profiles' watts; from and to, with all of \
             them at the ends of their bands.\n",
        );
    }
    let mut notes = all().flat_map(|counts| &counts.energy);
    if let Some(note) = notes.find_map(|figure| figure.note.as_ref()) {
        let _ = writeln!(text, "{note}");
    }
    if has(|figure| figure.error_joules.is_some()) {
        text.push_str(
            "+-: what the meter's steps, updates and sampling allow; its own accuracy is not in it.\n",
        );
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
