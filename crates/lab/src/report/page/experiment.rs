//! Section of an experiment: observations, numbers, tables and figures.

use super::badge;
use super::data_table;
use super::status::class;
use crate::report::assemble::{ExperimentReport, NumberLine, SetReport};
use crate::report::chart::{self, Colours};
use crate::report::csv::figure_csv;
use crate::report::figure::{Drawing, Panel, ReportFigure};
use crate::report::outcome::ObservationOutcome;
use crate::report::table::Table;
use crate::report::value::{short, signed};
use crate::report::verdict::Observed;
use crate::report::words;
use joulio_twin::published::Basis;
use joulio_units::Boundary;
use maud::{Markup, html};

pub fn section(experiment: &ExperimentReport) -> Markup {
    let title = format!("{}-title", experiment.name);
    html! {
        section.experiment id=(experiment.name) aria-labelledby=(title) {
            h2 id=(title) { (experiment.title) }
            @if let Some(source) = &experiment.source {
                p.source { "Compared with: " (source) }
            }
            @if experiment.sets.is_empty() {
                p { "No run of it is here." }
            }
            @for set in &experiment.sets {
                (one(&experiment.prefix(set), set))
            }
        }
    }
}

fn one(prefix: &str, set: &SetReport) -> Markup {
    html! {
        p.set { (badge(set.platform)) " " strong { (set.machine) } ", " (set.devices.join(", ")) ", " (set.runs) " runs" }
        @for sentence in set.idle.sentences() { p.source { (sentence) } }
        @if !set.observed.is_empty() {
            h3 { "Observations" }
            @let (told, rest): (Vec<_>, Vec<_>) = set.observed.iter().partition(|one| one.outcome != ObservationOutcome::NoData);
            ul.observations { @for one in &told { (observation(prefix, one)) } }
            @if !rest.is_empty() {
                details open[told.is_empty()] {
                    summary { (rest.len()) " of " (set.observed.len()) " were not run" }
                    ul.observations { @for one in &rest { (observation(prefix, one)) } }
                }
            }
        }
        @let problems = set.tables.iter().map(|table| &table.problem);
        @let problems = problems.chain(set.figures.iter().map(|figure| &figure.problem));
        @if problems.into_iter().any(Option::is_none) {
            h3 { "Tables and figures" }
        }
        div.figures {
            @for table in set.tables.iter().filter(|table| table.problem.is_none()) {
                (tabled(prefix, table))
            }
            @for figure in set.figures.iter().filter(|figure| figure.problem.is_none()) {
                (drawn(prefix, figure))
            }
        }
        (missing(prefix, set))
        @if !set.numbers.is_empty() {
            (numbers(set))
        }
    }
}

fn observation(prefix: &str, one: &Observed) -> Markup {
    html! {
        li id=(format!("{prefix}-says-{}", one.id)) {
            p.claim { span class=(class(one.outcome)) { (words::verdict(one.outcome, one.fitted)) } " " strong { (one.id) } " " (one.text) }
            p.because { (one.because) }
            p.certainty { (one.certainty)
                @if !one.shown.is_empty() {
                    ". See "
                    @for (index, id) in one.shown.iter().enumerate() {
                        @if index > 0 { ", " }
                        a href=(format!("#{prefix}-{id}")) { (id) }
                    }
                }
            }
            @if one.parts.len() > 1 && one.outcome != ObservationOutcome::NoData {
                details {
                    summary { "Its " (one.parts.len()) " parts" }
                    ul.parts {
                        @for part in &one.parts {
                            li { span class=(class(part.outcome)) { (words::comparison(part)) } " " (part.because) }
                        }
                    }
                }
            }
        }
    }
}

/// Lists tables and figures for which there is nothing to show, one a line.
fn missing(prefix: &str, set: &SetReport) -> Markup {
    let tables = set.tables.iter();
    let tables = tables.map(|table| (&table.id, &table.title, &table.problem));
    let figures = set.figures.iter();
    let figures = figures.map(|figure| (&figure.id, &figure.title, &figure.problem));
    let all = tables.chain(figures);
    let missing = all.filter_map(|(id, title, problem)| Some((id, title, problem.as_ref()?)));
    let missing: Vec<_> = missing.collect();
    html! {
        @if !missing.is_empty() {
            h3 { "Not shown here" }
            ul.missing {
                @for (id, title, problem) in missing {
                    li id=(format!("{prefix}-{id}")) {
                        strong { (id) } " " (title) " " span.problem { (problem) }
                    }
                }
            }
        }
    }
}

/// Returns a figure with its legend, drawings and numbers.
pub fn drawn(prefix: &str, figure: &ReportFigure) -> Markup {
    let id = format!("{prefix}-{}", figure.id);
    let caption = format!("{id}-caption");
    let colours = Colours::of(figure);
    html! {
        figure.wide[figure.panels.len() > 1] id=(id) aria-labelledby=(caption) {
            figcaption id=(caption) {
                strong { (figure.id) } " " (figure.title)
                @if figure.modelled { " " span.badge.modelled { "modelled" } }
                (boundaries(&figure.energy))
            }
            (chart::legend(figure, &colours))
            div.panels.tiled[tiled(figure)] {
                @for (index, panel) in figure.panels.iter().enumerate() {
                    div.panel {
                        @if !panel.title.is_empty() { h4 { (panel.title) } }
                        (chart::draw(panel, &colours, &format!("{id}-{index}"), &format!("{} The table below it has the numbers.", chart::describe(figure, panel))))
                    }
                }
            }
            @if let Some(note) = &figure.note { p.note { (note) } }
            details.numbers {
                summary { "Numbers of " (figure.id) }
                (data_table::of(figure))
                (download(&figure.id, &figure_csv(figure)))
            }
        }
    }
}

/// Returns the boundaries of energy figures, which are shown with every such figure.
fn boundaries(energy: &[(Boundary, String)]) -> Markup {
    let mut found: Vec<(Boundary, Vec<&str>)> = Vec::new();
    for (boundary, source) in energy {
        match found.iter_mut().find(|(of, _)| of == boundary) {
            Some((_, sources)) => sources.push(source),
            None => found.push((*boundary, vec![source])),
        }
    }
    html! {
        @for (boundary, sources) in found {
            span.boundary { "energy within: " (boundary) ", by " (together(&sources)) }
        }
    }
}

/// Lists the names of sources; models of the same machine with different devices name the machine once.
fn together(sources: &[&str]) -> String {
    let split = sources.iter().map(|source| source.split_once(" + "));
    match split.collect::<Option<Vec<_>>>() {
        Some(parts) if parts.len() > 1 && parts.iter().all(|part| part.0 == parts[0].0) => {
            let devices: Vec<&str> = parts.iter().map(|part| part.1).collect();
            format!("{} with {}", parts[0].0, devices.join(", "))
        }
        _ => sources.join("; "),
    }
}

fn download(id: &str, csv: &str) -> Markup {
    let name = format!("{id}.csv");
    html! {
        p.download { a download=(name) href=(data_uri(csv)) { "Download " (name) } }
    }
}

/// Returns `csv` as a data URI, which needs no network.
fn data_uri(csv: &str) -> String {
    let mut uri = String::from("data:text/csv;charset=utf-8,");
    for byte in csv.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'-' | b'_' | b',' => {
                uri.push(char::from(byte));
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri
}

fn tabled(prefix: &str, table: &Table) -> Markup {
    let id = format!("{prefix}-{}", table.id);
    let caption = format!("{id}-caption");
    html! {
        figure.tabled.wide[table.columns.len() + table.row_heads.len() > 4] id=(id) aria-labelledby=(caption) {
            figcaption id=(caption) {
                strong { (table.id) } " " (table.title)
                @if table.modelled { " " span.badge.modelled { "modelled" } }
                (boundaries(&table.energy))
            }
            (data_table::printed(table))
            @if let Some(note) = &table.note { p.note { (note) } }
        }
    }
}

/// Returns true if the figure consists of tiles, whose panels need more room.
fn tiled(figure: &ReportFigure) -> bool {
    let tiles = |panel: &Panel| matches!(panel.drawing, Drawing::Tiles(_));
    figure.panels.iter().any(tiles)
}

/// Returns a table of published numbers beside the results.
fn numbers(set: &SetReport) -> Markup {
    html! {
        h3 { "Published numbers beside ours" }
        div.scroll tabindex="0" role="region" aria-label="Published numbers beside ours" {
            table.beside {
                thead { tr {
                    th scope="col" { "what" } th scope="col" { "published" } th scope="col" { "here" }
                    th scope="col" { "difference" } th scope="col" { "tolerance" } th scope="col" { "" }
                } }
                tbody {
                    @for line in &set.numbers { (number(line)) }
                }
            }
        }
    }
}

fn number(line: &NumberLine) -> Markup {
    let printed = match line.published_to {
        Some(to) => format!("{} to {}", short(line.published), short(to)),
        None => short(line.published),
    };
    let basis = match line.basis {
        Some(Basis::Fitted) => " (a profile was fitted to it)",
        Some(Basis::Implied) => " (implied by what was fitted)",
        _ => "",
    };
    html! {
        tr {
            th scope="row" { (line.what) span.muted { (basis) } }
            td { (printed) }
            td {
                (short(line.here))
                @if line.modelled { "*" }
                @if let Some(half) = line.half { span.muted { " ± " (short(half)) } }
            }
            td { (signed(line.error_percent)) " %" }
            td { (short(line.allowed_percent)) " %" }
            td { span class=(class(line.outcome)) { (words::outcome(line.outcome)) } }
        }
    }
}
