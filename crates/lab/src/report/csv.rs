//! Data of a report as CSV.

use super::assemble::SetReport;
use super::figure::{Drawing, ReportFigure};
use super::table::{Table, Value};
use csv::Writer;
use serde::Serialize;

/// Columns of a figure's file.
const MARKS: [&str; 14] = [
    "figure",
    "panel",
    "series",
    "x",
    "y_name",
    "y",
    "low",
    "high",
    "n",
    "band_low",
    "band_high",
    "modelled",
    "published",
    "published_to",
];

/// Columns of a file of tiles.
const TILES: [&str; 13] = [
    "figure", "panel", "row", "column", "best", "value", "low", "high", "p", "tie", "name", "mean",
    "modelled",
];

/// Returns the numbers of `figure`, a value on each line.
pub fn figure_csv(figure: &ReportFigure) -> String {
    let tiles = figure
        .panels
        .iter()
        .any(|p| matches!(p.drawing, Drawing::Tiles(_)));
    let header: &[&str] = if tiles { &TILES } else { &MARKS };
    let mut rows = Vec::new();
    for panel in &figure.panels {
        match &panel.drawing {
            Drawing::Xy(xy) => {
                let scatter = xy.x.values.is_empty();
                for series in &xy.series {
                    rows.extend(series.marks.iter().map(|mark| {
                        vec![
                            figure.id.clone(),
                            panel.title.clone(),
                            series.name.clone(),
                            if scatter {
                                mark.x.to_string()
                            } else {
                                mark.at.clone()
                            },
                            xy.y.clone(),
                            mark.y.to_string(),
                            optional(mark.interval.map(|ends| ends.0)),
                            optional(mark.interval.map(|ends| ends.1)),
                            mark.n.to_string(),
                            optional(mark.band.map(|ends| ends.0)),
                            optional(mark.band.map(|ends| ends.1)),
                            mark.modelled.to_string(),
                            optional(mark.published.map(|printed| printed.0)),
                            optional(mark.published.and_then(|printed| printed.1)),
                        ]
                    }));
                }
            }
            Drawing::Tiles(tiles) => {
                for (row, line) in tiles.rows.1.iter().zip(&tiles.tiles) {
                    for (column, tile) in tiles.columns.1.iter().zip(line) {
                        let Some(tile) = tile else { continue };
                        rows.extend(tile.entries.iter().map(|entry| {
                            vec![
                                figure.id.clone(),
                                panel.title.clone(),
                                row.clone(),
                                column.clone(),
                                tile.best.clone().unwrap_or_default(),
                                tile.value.to_string(),
                                optional(tile.interval.map(|ends| ends.0)),
                                optional(tile.interval.map(|ends| ends.1)),
                                optional(tile.p),
                                format!("{:?}", tile.tie).to_lowercase(),
                                entry.name.clone(),
                                entry.value.to_string(),
                                tile.modelled.to_string(),
                            ]
                        }));
                    }
                }
            }
        }
    }
    text(header, rows)
}

/// Returns the numbers of `table`, a value on each line.
pub fn table_csv(table: &Table) -> String {
    let header = [
        "table",
        "row",
        "column",
        "value",
        "low",
        "high",
        "n",
        "modelled",
        "p",
        "published",
        "published_to",
    ];
    let mut rows = Vec::new();
    for row in &table.rows {
        for (column, value) in table.columns.iter().zip(&row.cells) {
            let mut line = vec![table.id.clone(), row.heads.join(", "), column.clone()];
            match value {
                Value::None => continue,
                Value::Text(text) => {
                    line.push(text.clone());
                    line.extend(vec![String::new(); 7]);
                }
                Value::Mean(mean) => line.extend([
                    mean.value.to_string(),
                    optional(mean.interval.map(|ends| ends.0)),
                    optional(mean.interval.map(|ends| ends.1)),
                    mean.n.to_string(),
                    mean.modelled.to_string(),
                    String::new(),
                    optional(mean.published.map(|printed| printed.0)),
                    optional(mean.published.and_then(|printed| printed.1)),
                ]),
                Value::Change(change) => line.extend([
                    change.percent.to_string(),
                    optional(change.interval.map(|ends| ends.0)),
                    optional(change.interval.map(|ends| ends.1)),
                    String::new(),
                    change.modelled.to_string(),
                    optional(change.p),
                    optional(change.published),
                    String::new(),
                ]),
            }
            rows.push(line);
        }
    }
    text(&header, rows)
}

/// Returns the observations of `set`, a comparison on each line.
pub fn observations_csv(set: &SetReport) -> String {
    let header = [
        "observation",
        "outcome",
        "comparison",
        "comparison_outcome",
        "basis",
        "off_percent",
        "because",
    ];
    let mut rows = Vec::new();
    for one in &set.observed {
        rows.extend(one.parts.iter().map(|part| {
            vec![
                one.id.clone(),
                name(one.outcome),
                part.what.clone(),
                name(part.outcome),
                part.basis.map(name).unwrap_or_default(),
                optional(part.off_percent),
                part.because.clone(),
            ]
        }));
    }
    text(&header, rows)
}

/// Returns the name of a variant as the report's JSON has it.
fn name(variant: impl Serialize) -> String {
    let name = serde_json::to_value(variant).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns `header` and `rows` as text. Writing to memory cannot fail.
fn text(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    let _ = writer.write_record(header);
    for row in rows {
        let _ = writer.write_record(row);
    }
    let _ = writer.flush();
    String::from_utf8_lossy(writer.get_ref()).into_owned()
}
