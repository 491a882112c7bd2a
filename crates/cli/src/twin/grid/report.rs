//! The rows as a table, and as CSV.

use crate::columns::columns;
use crate::failure::Failure;
use joulio_lab::grid::{GridHeader, maps};
use joulio_model::MeteredAt;
use joulio_twin::grid::{Axes, Cell, Judged};
use joulio_units::PastTdp;
use std::fmt::Write;

/// What a column says, where it is there.
const NEIGHBOUR: &str = "neighbour: percent of the CPU that a thread which computes beside each job has, the median of \
     those cells; joules are without its own.\n";

/// More lines of maps are for a file.
const MAX_LINES: usize = 300;

/// For people.
pub fn text(header: &GridHeader<'_>, rows: &[Cell]) -> String {
    let axes = header.axes;
    let mut text = format!(
        "{} cells on {}, {} I/Os a run, every figure modelled\n\n{}",
        rows.len(),
        header.machine.name,
        header.number_ios,
        policies(rows)
    );
    text.push_str(
        "keeps: cells in which 99 of 100 I/Os keep the promise; best: with the least joules an I/O of \
         those\nregret: joules an I/O over the best's, and over those of an oracle: the median of the cells where it \
         keeps it, and the worst.\n",
    );
    if rows.iter().any(|row| row.scenario.load.neighbours() > 0) {
        text.push_str(NEIGHBOUR);
    }
    text.push_str(&past_tdp(rows));
    text.push_str(&noise(rows));
    let _ = write!(
        text,
        "\nBest, % of the cells of each view\n\n{}*: modelled\n",
        views(axes, rows)
    );
    let simulated = |name: &&&str| {
        rows.iter()
            .any(|row| row.policies.iter().any(|one| one.policy == **name))
    };
    let missing: Vec<_> = header
        .policies
        .iter()
        .filter(|name| !simulated(name))
        .copied()
        .collect();
    if !missing.is_empty() && !rows.is_empty() {
        let _ = writeln!(
            text,
            "Not simulated, for the machine lacks their steps: {}.",
            missing.join(", ")
        );
    }
    if header.machine.boundary == MeteredAt::Package {
        text.push_str("Nothing at the wall: the machine's watts are of its package.\n");
    }
    let all = maps(axes, rows);
    if all.iter().map(|map| map.lines.len()).sum::<usize>() > MAX_LINES {
        text.push_str("\nThe maps are for --svg, or --output csv.\n");
        return text;
    }
    for map in all {
        let depths = axes.iodepths.iter().map(|depth| depth.to_string());
        let header: Vec<_> = std::iter::once("iodepth".into()).chain(depths).collect();
        let lines = map.lines.into_iter().zip(map.tiles).map(|(name, tiles)| {
            let tiles = tiles
                .into_iter()
                .map(|best| best.unwrap_or_else(|| "-".into()));
            std::iter::once(name).chain(tiles).collect::<Vec<_>>()
        });
        let count = header.len();
        let _ = write!(text, "\n{}\n{}", map.title, columns(header, lines, count));
    }
    text
}

/// The cells in which some policy would draw more than the part is sold for.
fn past_tdp(rows: &[Cell]) -> String {
    let past = |row: &Cell| row.policies.iter().filter_map(|one| one.past_tdp).collect();
    let past: Vec<Vec<PastTdp>> = rows.iter().map(past).collect();
    let max = past.iter().flatten();
    let max = max.max_by(|a, b| a.package_watts.total_cmp(&b.package_watts));
    let cells = past.iter().filter(|all| !all.is_empty()).count();
    match max {
        Some(max) => {
            format!("Past TDP in {cells} cells, whose figures are of no real machine: {max}.\n")
        }
        None => String::new(),
    }
}

/// How far seeds are from each other.
fn noise(rows: &[Cell]) -> String {
    const MUCH: f64 = 0.1;
    let mut all: Vec<_> = rows.iter().map(|row| row.p99_noise).collect();
    all.sort_by(f64::total_cmp);
    let (Some(median), Some(max)) = (all.get(all.len() / 2), all.last()) else {
        return String::new();
    };
    let over = all.iter().filter(|noise| **noise > MUCH).count();
    format!(
        "Another seed changes polling's 99th percentile by {:.1} % in the median cell, by more than {:.0} % in {over} \
         and by {:.1} % at most; policies are compared on the same.\n",
        100.0 * median,
        100.0 * MUCH,
        100.0 * max
    )
}

/// Every policy of `rows`, in the order of playing.
fn names(rows: &[Cell]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for judged in rows.iter().flat_map(|row| &row.policies) {
        if !names.contains(&judged.policy.as_str()) {
            names.push(&judged.policy);
        }
    }
    names
}

/// A line a view: how often each policy is the best there.
fn views(axes: &Axes, rows: &[Cell]) -> String {
    let names = names(rows);
    let modelled = names.iter().map(|name| format!("{name}*"));
    let header = std::iter::once("view".to_string())
        .chain(modelled)
        .collect();
    let lines = axes.views.iter().map(|view| {
        let here: Vec<_> = rows.iter().filter(|row| row.view == *view).collect();
        let share = |name: &&str| {
            let best = here.iter().filter(|row| row.best.as_deref() == Some(name));
            match best.count() {
                0 => "-".to_string(),
                best => format!("{:.0}", 100.0 * best as f64 / here.len() as f64),
            }
        };
        let view = format!("{}, {}", view.mechanism, view.boundary);
        [view]
            .into_iter()
            .chain(names.iter().map(share))
            .collect::<Vec<_>>()
    });
    columns(header, lines, 1)
}

/// A line a policy.
fn policies(rows: &[Cell]) -> String {
    let names = names(rows);
    let beside = rows.iter().any(|row| row.scenario.load.neighbours() > 0);
    let mut header = vec![
        "policy",
        "cells",
        "keeps*",
        "best*",
        "regret %*",
        "worst*",
        "to oracle %*",
        "worst*",
    ];
    header.extend(beside.then_some("neighbour %*"));
    let lines = names.iter().map(|name| {
        let there = |row: &&Cell| row.policies.iter().any(|one| one.policy == *name);
        let of = |row: &'_ Cell| row.policies.iter().find(|one| one.policy == *name).cloned();
        let there: Vec<&Cell> = rows.iter().filter(there).collect();
        let judged: Vec<Judged> = there.iter().filter_map(|row| of(row)).collect();
        let mut neighbour: Vec<f64> = judged
            .iter()
            .filter_map(|one| one.neighbour_percent)
            .collect();
        neighbour.sort_by(f64::total_cmp);
        let neighbour = neighbour.get(neighbour.len() / 2);
        let neighbour = neighbour.map_or_else(|| "-".into(), |median| format!("{median:.1}"));
        let kept: Vec<Judged> = judged.into_iter().filter(|one| one.keeps).collect();
        let best = there
            .iter()
            .filter(|row| row.best.as_deref() == Some(name))
            .count();
        let figures = |of: fn(&Judged) -> Option<f64>| {
            let mut all: Vec<f64> = kept.iter().filter_map(of).collect();
            all.sort_by(f64::total_cmp);
            match (all.get(all.len() / 2), all.last()) {
                (Some(median), Some(worst)) => {
                    [*median, *worst].map(|part| format!("{:.1}", 100.0 * part))
                }
                _ => ["-".to_string(), "-".to_string()],
            }
        };
        let counts = [there.len(), kept.len(), best].map(|count| count.to_string());
        let name = std::iter::once(name.to_string());
        let regret = figures(|one| one.regret);
        let oracle = figures(|one| one.regret_oracle);
        name.chain(counts)
            .chain(regret)
            .chain(oracle)
            .chain(beside.then_some(neighbour))
            .collect::<Vec<_>>()
    });
    columns(header.into_iter().map(String::from).collect(), lines, 1)
}

/// A line for each policy in each cell.
pub fn csv(rows: &[Cell]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "device",
        "load",
        "iodepth",
        "numjobs",
        "bs",
        "rwmixread",
        "mechanism",
        "boundary",
        "limit_ns",
        "p99_noise",
        "best",
        "oracle_joules_per_io",
        "policy",
        "joules_per_io",
        "iops",
        "mean_ns",
        "p99_ns",
        "p999_ns",
        "cpu_ns_per_io",
        "neighbour_percent",
        "keeps",
        "modelled",
        "past_tdp_watts",
        "regret",
        "regret_oracle",
    ];
    writer.write_record(header).map_err(Failure::run)?;
    for row in rows {
        let (scenario, view) = (&row.scenario, &row.view);
        let number = |figure: Option<f64>| figure.map_or_else(String::new, |n| n.to_string());
        for one in &row.policies {
            let record = [
                scenario.device.clone(),
                scenario.load.to_string(),
                scenario.iodepth.to_string(),
                scenario.numjobs.to_string(),
                scenario.bs.to_string(),
                scenario.read_percent.to_string(),
                view.mechanism.to_string(),
                view.boundary.to_string(),
                row.limit_ns.to_string(),
                row.p99_noise.to_string(),
                row.best.clone().unwrap_or_default(),
                number(row.oracle_joules_per_io),
                one.policy.clone(),
                one.joules_per_io.to_string(),
                one.iops.to_string(),
                one.mean_ns.to_string(),
                one.p99_ns.to_string(),
                one.p999_ns.to_string(),
                one.cpu_ns_per_io.to_string(),
                number(one.neighbour_percent),
                one.keeps.to_string(),
                "true".into(),
                number(one.past_tdp.map(|past| past.package_watts)),
                number(one.regret),
                number(one.regret_oracle),
            ];
            writer.write_record(record).map_err(Failure::run)?;
        }
    }
    let bytes = writer.into_inner().map_err(Failure::run)?;
    String::from_utf8(bytes).map_err(Failure::run)
}
