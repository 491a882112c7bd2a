//! Table of meters.

use crate::columns::{clean, columns};
use joulio_lab::{ListedMeter, MeterListing};
use std::fmt::Write;

/// Formats all meters, one a line, and below them the reasons why some cannot be read, with remedies.
pub fn table(report: &MeterListing) -> String {
    let mut text = lines(&report.meters);
    text.push('\n');
    for row in &report.meters {
        explain(row, &mut text);
    }
    let has = |source: &str| {
        report
            .meters
            .iter()
            .any(|row| row.source.starts_with(source) && row.watts.is_some())
    };
    if has("perf") || has("powercap") {
        let _ = writeln!(
            text,
            "energy filtering: {}",
            clean(&report.energy_filtering)
        );
    }
    text
}

/// Formats the table of meters.
pub fn lines(rows: &[ListedMeter]) -> String {
    let watts =
        |watts: Option<f64>| watts.map_or_else(|| "-".into(), |watts| format!("{watts:.3}"));
    let header = ["meter", "boundary", "source", "state", "W", "+-"];
    let cells = |row: &ListedMeter| {
        [
            row.name.clone(),
            row.boundary.clone().unwrap_or_else(|| "-".into()),
            row.source.clone(),
            state(row).into(),
            watts(row.watts),
            watts(row.error_watts),
        ]
    };
    columns(header, rows.iter().map(cells), 4)
}

/// Returns the state in a row: `modelled` for figures from a profile, which are not measured.
fn state(row: &ListedMeter) -> &str {
    match row.modelled && row.watts.is_some() {
        true => "modelled",
        false => row.state,
    }
}

fn explain(row: &ListedMeter, text: &mut String) {
    let name = clean(&row.name);
    let state = match row.state {
        "readable" => String::new(),
        state => format!("{state}: "),
    };
    let notes = row.why.iter().chain(&row.how);
    for note in notes {
        let _ = writeln!(text, "{name}: {state}{}", clean(note));
    }
    for note in &row.notes {
        let _ = writeln!(text, "  note: {}", clean(note));
    }
    if let Some(allow) = &row.allow {
        let _ = writeln!(text, "  try: {}", clean(allow));
    }
}
