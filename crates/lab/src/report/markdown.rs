//! Report as Markdown, with tables for a paper's repository or an issue.

use super::assemble::{LabReport, SetReport};
use super::figure::{Drawing, Mark, Panel, ReportFigure, Tie, Tiles, Xy};
use super::finding::findings;
use super::table::{Table, Value};
use super::value::{ends, short, signed};
use super::words;
use std::fmt::Write;

/// Returns `report` as Markdown.
pub fn markdown(report: &LabReport) -> String {
    let mut text = String::from("# joulio lab: what was found\n\n");
    for (index, finding) in findings(report).iter().enumerate() {
        let outcome = match finding.outcome {
            Some(_) => format!("**{}** ", finding.verdict()),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "{}. {outcome}{} ({})",
            index + 1,
            finding.sentence,
            finding.certainty
        );
    }
    text.push_str("\n\\* modelled, not measured.\n");
    for experiment in &report.experiments {
        let _ = writeln!(text, "\n# {}", experiment.title);
        for set in &experiment.sets {
            of_set(&mut text, set);
        }
    }
    text
}

fn of_set(text: &mut String, set: &SetReport) {
    let how = words::platform(set.platform);
    let _ = writeln!(text, "\n{}, {how}, {} runs.\n", set.machine, set.runs);
    for sentence in set.idle.sentences() {
        let _ = writeln!(text, "{sentence}\n");
    }
    let status = set.status.iter().map(|one| {
        vec![
            one.id.clone(),
            one.title.clone(),
            words::status(one.data, one.outcome, one.fitted),
            one.because.clone(),
        ]
    });
    rows(text, &["", "what it shows", "here", "why"], status);
    if !set.observed.is_empty() {
        text.push_str("\n## Observations\n\n");
    }
    for one in &set.observed {
        let outcome = words::verdict(one.outcome, one.fitted);
        let _ = writeln!(
            text,
            "- **{outcome}** {} {} {} ({})",
            one.id, one.text, one.because, one.certainty
        );
    }
    for table in &set.tables {
        of_table(text, table);
    }
    for figure in &set.figures {
        of_figure(text, figure);
    }
}

fn of_table(text: &mut String, table: &Table) {
    let _ = writeln!(text, "\n## {} {}\n", table.id, table.title);
    if let Some(problem) = &table.problem {
        let _ = writeln!(text, "{problem}");
        return;
    }
    let head: Vec<&str> = table
        .row_heads
        .iter()
        .chain(&table.columns)
        .map(String::as_str)
        .collect();
    let lines = table.rows.iter().map(|row| {
        let cells = row.cells.iter().map(cell);
        row.heads.iter().cloned().chain(cells).collect()
    });
    rows(text, &head, lines);
}

fn cell(value: &Value) -> String {
    let printed = |value: f64| format!(" [published {}]", short(value));
    match value {
        Value::None => "–".into(),
        Value::Text(text) => text.clone(),
        Value::Mean(mean) => {
            let star = if mean.modelled { "\\*" } else { "" };
            let half = mean.interval.map(|(low, high)| (high - low) / 2.0);
            let half = half
                .filter(|half| *half > 0.0)
                .map(|half| format!(" ± {}", short(half)));
            let published = mean.published.map(|(value, _)| printed(value));
            format!(
                "{}{star}{}{}",
                short(mean.value),
                half.unwrap_or_default(),
                published.unwrap_or_default()
            )
        }
        Value::Change(change) => {
            let star = if change.modelled { "\\*" } else { "" };
            let tie = if change.tie { " (tie)" } else { "" };
            let published = change
                .published
                .map(|p| format!(" [published {} %]", signed(p)));
            format!(
                "{}{star}{} %{tie}{}",
                signed(change.percent),
                ends(change.percent, change.interval),
                published.unwrap_or_default()
            )
        }
    }
}

fn of_figure(text: &mut String, figure: &ReportFigure) {
    let _ = writeln!(text, "\n## {} {}", figure.id, figure.title);
    for (boundary, source) in &figure.energy {
        let _ = writeln!(text, "\nEnergy within: {boundary}, by {source}.");
    }
    if let Some(problem) = &figure.problem {
        let _ = writeln!(text, "\n{problem}");
    }
    for panel in &figure.panels {
        of_panel(text, panel);
    }
    if let Some(note) = &figure.note {
        let _ = writeln!(text, "\n{note}");
    }
}

fn of_panel(text: &mut String, panel: &Panel) {
    let title = match panel.title.is_empty() {
        true => String::new(),
        false => format!("{}: ", panel.title),
    };
    match &panel.drawing {
        Drawing::Xy(xy) => {
            let _ = writeln!(text, "\n{title}{}\n", xy.y);
            of_xy(text, xy);
        }
        Drawing::Tiles(tiles) => {
            let _ = writeln!(text, "\n{title}{}\n", tiles.metric);
            of_tiles(text, tiles);
        }
    }
}

fn mark(mark: &Mark) -> String {
    let star = if mark.modelled { "\\*" } else { "" };
    let half = mark.interval.map(|(low, high)| (high - low) / 2.0);
    let half = half
        .filter(|half| *half > 0.0)
        .map(|half| format!(" ± {}", short(half)));
    format!("{}{star}{}", short(mark.y), half.unwrap_or_default())
}

fn of_xy(text: &mut String, xy: &Xy) {
    if xy.x.values.is_empty() {
        let points = xy.series.iter().flat_map(|series| {
            series
                .marks
                .iter()
                .map(|one| vec![series.name.clone(), one.at.clone(), short(one.x), mark(one)])
        });
        rows(text, &["series", "point", &xy.x.label, &xy.y], points);
        return;
    }
    let mut head = vec![xy.x.label.as_str()];
    head.extend(xy.series.iter().map(|series| match series.name.as_str() {
        "" => xy.y.as_str(),
        name => name,
    }));
    let lines = xy.x.values.iter().map(|(at, _)| {
        let of_series = xy.series.iter().map(|series| {
            let found = series.marks.iter().find(|one| one.at == *at);
            found.map_or_else(|| "–".to_owned(), mark)
        });
        std::iter::once(at.clone()).chain(of_series).collect()
    });
    rows(text, &head, lines);
}

fn of_tiles(text: &mut String, tiles: &Tiles) {
    let corner = format!("{} \\ {}", tiles.rows.0, tiles.columns.0);
    let mut head = vec![corner.as_str()];
    head.extend(tiles.columns.1.iter().map(String::as_str));
    let lines = tiles.rows.1.iter().zip(&tiles.tiles).map(|(row, line)| {
        let cells = line.iter().map(|tile| match tile {
            None => "–".to_owned(),
            Some(tile) => {
                let best = tile.best.as_deref().map(|best| format!("{best} "));
                let tie = match tile.tie {
                    Tie::Noise => " (tie by noise)",
                    Tie::Band => " (tie by the band)",
                    Tie::No | Tie::Unknown => "",
                };
                let star = if tile.modelled { "\\*" } else { "" };
                let ends = ends(tile.value, tile.interval);
                format!(
                    "{}{}{star}{ends}{tie}",
                    best.unwrap_or_default(),
                    signed(tile.value)
                )
            }
        });
        std::iter::once(row.clone()).chain(cells).collect()
    });
    rows(text, &head, lines);
}

/// Writes a table in Markdown. Bars are escaped because they would end a cell.
fn rows(text: &mut String, head: &[&str], lines: impl Iterator<Item = Vec<String>>) {
    let line = |cells: &[String]| {
        let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    text.push_str(&line(&head));
    text.push_str(&line(&vec!["---".to_owned(); head.len()]));
    for cells in lines {
        text.push_str(&line(&cells));
    }
}
