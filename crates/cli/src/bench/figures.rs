//! The energy figures for people: one source for the runs' own table, and all of them in one of
//! their own.

use super::run_name::name;
use crate::columns::aligned;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use joulio_workload::{Counts, EnergyResult, RunResult};
use std::fmt::Write;

/// The figure that stands in the runs' own table: of one source and boundary, or runs could not be
/// compared.
pub struct Column {
    source: String,
    zone: String,
    modelled: bool,
}

impl Column {
    /// The widest that was measured, if that has the processor's packages in it; else the model's,
    /// and without one what there is: one that all runs have, or failing that the most. Never one
    /// package of several, be it that their sum could not be had.
    pub fn of(runs: &[RunResult]) -> Option<Column> {
        let all: Vec<_> = runs.iter().filter_map(|run| run.counts.as_ref()).collect();
        let figures = all.iter().flat_map(|counts| &counts.energy);
        let whole = figures.filter(|figure| !figure.idle_subtracted && !figure.is_part_in(&all));
        let columns = whole.map(|figure| {
            let column = Column::from(figure);
            let lacking = all.iter().filter(|counts| column.figure(counts).is_none());
            (lacking.count(), figure.rank(), column)
        });
        let best = columns.min_by_key(|(lacking, rank, _)| (*lacking, *rank));
        best.map(|(.., column)| column)
    }

    /// Mark of a modelled figure.
    pub fn star(&self) -> &'static str {
        if self.modelled { "*" } else { "" }
    }

    /// Returns the figure of one run.
    pub fn figure<'a>(&self, counts: &'a Counts) -> Option<&'a EnergyResult> {
        counts.energy.iter().find(|figure| {
            figure.source == self.source && figure.zone == self.zone && !figure.idle_subtracted
        })
    }
}

impl From<&EnergyResult> for Column {
    fn from(figure: &EnergyResult) -> Column {
        Column {
            source: figure.source.clone(),
            zone: figure.zone.clone(),
            modelled: figure.modelled,
        }
    }
}

/// The figures of a run that people are shown: the meters', and the model's of the widest boundary.
fn shown(counts: &Counts) -> impl Iterator<Item = &EnergyResult> {
    let model = counts.energy.iter().position(EnergyResult::is_model);
    let all = counts.energy.iter().enumerate();
    all.filter(move |(at, figure)| !figure.is_model() || Some(*at) == model)
        .map(|(_, figure)| figure)
}

/// The figures of every run, a line each, and what is to be known of them.
pub fn energy_table(runs: &[RunResult], column: Option<&Column>, text: &mut String) {
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
            let _ = writeln!(text, "{}: {}: {}", name(run), meter.meter, meter.why);
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
        name(run),
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
