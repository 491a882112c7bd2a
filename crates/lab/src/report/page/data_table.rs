//! Numbers of figures and tables, for readers and screen readers.

use crate::report::figure::{Drawing, Mark, Panel, ReportFigure, Style, Tiles, Xy};
use crate::report::table::{Change, Mean, Row, Table, Value};
use crate::report::value::{ends, probability, short, signed};
use maud::{Markup, html};

/// Returns the numbers of `figure`, a table for each panel.
pub fn of(figure: &ReportFigure) -> Markup {
    html! {
        @for panel in &figure.panels {
            div.scroll tabindex="0" role="region" aria-label=(label(figure, panel)) {
                table {
                    caption { (label(figure, panel)) }
                    @match &panel.drawing {
                        Drawing::Xy(xy) if xy.x.values.is_empty() => (points(xy)),
                        Drawing::Xy(xy) => (along(xy)),
                        Drawing::Tiles(tiles) => (tiled(tiles)),
                    }
                }
            }
        }
    }
}

fn label(figure: &ReportFigure, panel: &Panel) -> String {
    let of = match &panel.drawing {
        Drawing::Xy(xy) => &xy.y,
        Drawing::Tiles(tiles) => &tiles.metric,
    };
    match panel.title.is_empty() {
        true => format!("{}: {of}", figure.id),
        false => format!("{}: {of}, {}", figure.id, panel.title),
    }
}

/// Returns a table with a row for each value of x and a column for each series.
fn along(xy: &Xy) -> Markup {
    html! {
        thead { tr {
            th scope="col" { (xy.x.label) }
            @for series in &xy.series {
                th scope="col" { @if series.name.is_empty() { (xy.y) } @else { (series.name) } }
            }
        } }
        tbody {
            @for (at, _) in &xy.x.values {
                tr {
                    th scope="row" { (at) }
                    @for series in &xy.series {
                        td { @match series.marks.iter().find(|mark| mark.at == *at) {
                            Some(mark) => (mark_cell(mark)),
                            None => "–",
                        } }
                    }
                }
            }
        }
    }
}

fn mark_cell(mark: &Mark) -> Markup {
    let half = mark.interval.map(|(low, high)| (high - low) / 2.0);
    html! {
        (short(mark.y))
        @if mark.modelled { "*" }
        @if let Some(half) = half.filter(|half| *half > 0.0) { span.muted { " ± " (short(half)) } }
        @if let Some((low, high)) = mark.band { span.muted { " (" (short(low)) " to " (short(high)) ")" } }
        @if mark.past_tdp { span.muted { " past TDP" } }
        @if let Some((value, to)) = mark.published {
            span.printed-value { "published " (short(value)) @if let Some(to) = to { " to " (short(to)) } }
        }
    }
}

/// Returns a table with a row for each point of a scatter.
fn points(xy: &Xy) -> Markup {
    html! {
        thead { tr { th scope="col" { "series" } th scope="col" { "point" } th scope="col" { (xy.x.label) } th scope="col" { (xy.y) } } }
        tbody {
            @for series in &xy.series {
                @for mark in series.marks.iter().filter(|mark| xy.style != Style::Curve || !mark.at.is_empty()) {
                    tr { th scope="row" { (series.name) } td { (mark.at) } td { (short(mark.x)) } td { (mark_cell(mark)) } }
                }
                @if let Some(fit) = &series.fit {
                    tr { th scope="row" { (series.name) } td colspan="3" {
                        "parabola: y = " (short(fit.constant)) " + " (short(fit.linear)) " x + " (short(fit.square)) " x², R² " (format!("{:.3}", fit.r2))
                    } }
                }
            }
        }
    }
}

fn tiled(tiles: &Tiles) -> Markup {
    let names = names(tiles);
    html! {
        thead { tr {
            th scope="col" { (tiles.rows.0) } th scope="col" { (tiles.columns.0) }
            th scope="col" { @if tiles.difference { "difference" } @else { "best, and by how many %" } }
            th scope="col" { "p" }
            @for name in &names { th scope="col" { (name) } }
        } }
        tbody {
            @for (row, of_row) in tiles.rows.1.iter().zip(&tiles.tiles) {
                @for (column, tile) in tiles.columns.1.iter().zip(of_row) {
                    @if let Some(tile) = tile {
                        tr {
                            th scope="row" { (row) } td { (column) }
                            td { @match &tile.best {
                                Some(best) => { (best) " " (signed(tile.value)) },
                                None => (signed(tile.value)),
                            } span.muted { (ends(tile.value, tile.interval)) } span.muted { (tie(tile.tie)) } }
                            td { @match tile.p { Some(p) => (probability(p)), None => "–" } }
                            @for name in &names {
                                td { @match tile.entries.iter().find(|entry| entry.name == *name) {
                                    Some(entry) => (short(entry.value)),
                                    None => "–",
                                } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn tie(tie: crate::report::figure::Tie) -> &'static str {
    use crate::report::figure::Tie;
    match tie {
        Tie::No => "",
        Tie::Noise => " tie by noise",
        Tie::Band => " tie by the model's band",
        Tie::Unknown => " not repeated",
    }
}

fn names(tiles: &Tiles) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in tiles.tiles().flat_map(|tile| &tile.entries) {
        if !names.contains(&entry.name) {
            names.push(entry.name.clone());
        }
    }
    names.sort();
    names
}

/// Returns a table of the experiment, with the printed number below each value.
pub fn printed(table: &Table) -> Markup {
    let label = format!("{} {}", table.id, table.title);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table {
                caption.hidden { (label) }
                thead { tr {
                    @for head in &table.row_heads { th scope="col" { (head) } }
                    @for column in &table.columns { th scope="col" { (column) } }
                } }
                tbody { @for row in &table.rows { (row_of(row)) } }
            }
        }
    }
}

fn row_of(row: &Row) -> Markup {
    html! {
        tr {
            @for head in &row.heads { th scope="row" { (head) } }
            @for cell in &row.cells {
                td { @match cell {
                    Value::None => "–",
                    Value::Text(text) => (text),
                    Value::Mean(mean) => (mean_of(mean)),
                    Value::Change(change) => (change_of(change)),
                } }
            }
        }
    }
}

fn mean_of(mean: &Mean) -> Markup {
    let half = mean.interval.map(|(low, high)| (high - low) / 2.0);
    html! {
        (short(mean.value))
        @if mean.modelled { "*" }
        @if let Some(half) = half.filter(|half| *half > 0.0) { span.muted { " ± " (short(half)) } }
        @if let Some((value, to)) = mean.published {
            span.printed-value {
                "published " (short(value)) @if let Some(to) = to { " to " (short(to)) }
                @if let Some((off, _)) = mean.off { ", " (signed(off)) " %" }
            }
        }
    }
}

fn change_of(change: &Change) -> Markup {
    html! {
        (signed(change.percent))
        @if change.modelled { "*" }
        span.muted { (ends(change.percent, change.interval)) } " %"
        @if change.tie { span.muted { " tie" } }
        @if let Some(published) = change.published {
            span.printed-value { "published " (signed(published)) " %" }
        }
    }
}
