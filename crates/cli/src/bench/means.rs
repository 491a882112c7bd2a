//! Table of repeated runs: means with their 95 % intervals, and ties.

use crate::columns::{Chosen, chosen_columns};
use joulio_lab::record::{Point, RunRecord};
use joulio_lab::results::{
    EnergyColumn, MeanOf, MeanRow, SPOILED, Varied, model_note, notes, star_note, unmetered,
};
use joulio_lab::statistics::Summary;
use std::fmt::Write;

/// Returns the headings of the table's figures, without the marks of modelled ones.
pub fn headings() -> impl Iterator<Item = &'static str> {
    let figures = MeanOf::ALL.into_iter().map(MeanOf::name);
    ["runs", "+-"].into_iter().chain(figures)
}

/// Formats every point, one a line, in the order of `points`.
pub fn table(varied: &Varied, records: &[&RunRecord], points: &[Point], chosen: &Chosen) -> String {
    let runs: Vec<_> = records.iter().map(|record| &record.result).collect();
    let column = EnergyColumn::of(&runs);
    let rows = MeanRow::of(records, points);
    let modelled = runs.iter().any(|run| run.modelled);
    let star = |figure: MeanOf| match column.as_ref() {
        Some(column) if figure.is_energy() => column.star(),
        _ if modelled => "*",
        _ => "",
    };
    let figures = MeanOf::ALL.iter().flat_map(|figure| {
        let name = format!("{}{}", figure.name(), star(*figure));
        [name, "+-".to_owned()]
    });
    let words = ["completion", "runs"].map(String::from);
    let header = varied.names().chain(words).chain(figures);
    let lines = rows.iter().map(|row| {
        let words = [row.name.clone(), count(row)];
        let figures = MeanOf::ALL.iter();
        let cells = figures.flat_map(|figure| cells(row.summary(*figure, column.as_ref())));
        let place = varied.values(row.point).into_iter();
        place.chain(words).chain(cells)
    });
    let mut text = chosen_columns(header, lines, 1 + varied.count(), chosen);
    text.push('\n');
    let mut below = notes(varied, records);
    if rows.iter().any(|row| row.apart > 0) {
        below.push(format!(
            "runs: those that count, of all; {SPOILED}: the others are kept apart, never in a mean."
        ));
    }
    if modelled {
        below.push("*: modelled, in virtual time; repetitions have seeds of their own.".into());
    }
    below.push("+-: half of the mean's 95 % interval over the repetitions.".into());
    below.extend(unmetered(varied, records));
    below.extend(star_note(column.as_ref()));
    below.extend(model_note(records));
    for line in below {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Formats the number of repetitions that count, and of all.
fn count(row: &MeanRow<'_>) -> String {
    let all = row.runs.len() + row.apart;
    let mark = if row.apart > 0 { SPOILED } else { "" };
    format!("{}/{all}{mark}", row.runs.len())
}

fn cells(summary: Option<Summary>) -> [String; 2] {
    let Some(summary) = summary else {
        return ["-", "-"].map(String::from);
    };
    let half = summary.mean.half();
    let digits = match summary.mean.value.abs() {
        value if value >= 1_000.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    let shown = match half.is_finite() {
        true => format!("{half:.digits$}"),
        false => "-".into(),
    };
    [format!("{:.digits$}", summary.mean.value), shown]
}
