//! Report of a grid as text.

use super::share::percent;
use crate::columns::columns;
use joulio_lab::grid::{
    self, GridHeader, Spread, is_best, maps, oracle_savings, policies, policy_names,
};
use joulio_model::MeteredAt;
use joulio_twin::grid::{GridAxes, GridCell};
use std::fmt::Write;

/// Legend of a column that only some grids have.
const NEIGHBOUR: &str = "neighbour: percent of the CPU that a thread which computes beside each job has, the median of those cells; joules\n\
     are without its own.\n";

/// Legend of the columns.
const KEYS: &str = "\
keeps: cells in which the promise is kept with every seed; best: with the least joules an I/O of those; ties: with the
least with some seed, where another has it with the others
regret: joules an I/O over the best's, and over those of an oracle: median, 90th percentile and worst of the cells in
which it keeps the promise; +-: half of the median's 95 % interval over the seeds
";

/// Largest number of lines of maps that are printed; more should go to a file.
const MAX_LINES: usize = 300;

/// Formats the report as text.
pub fn text(header: &GridHeader<'_>, rows: &[GridCell], compared: Option<&str>) -> String {
    let axes = header.axes;
    let seeds = match header.replicates {
        1 => String::new(),
        seeds => format!(", {seeds} seeds"),
    };
    let mut text = format!(
        "{} cells on {}, {} I/Os a run{seeds}, every figure modelled\n",
        rows.len(),
        header.machine.name,
        header.number_ios,
    );
    let parts = [
        ("CPUs of the jobs' own", false),
        ("CPUs that are shared", true),
    ];
    for (title, shared) in parts {
        let part = rows.iter();
        let part = part.filter(|row| row.scenario.shares_cpus(header.machine) == shared);
        let part: Vec<&GridCell> = part.collect();
        if !part.is_empty() {
            let _ = write!(
                text,
                "\n{title}, {} cells\n\n{}",
                part.len(),
                policy_table(&part)
            );
            if let Some(name) = compared {
                text.push_str(&super::compared::text(&part, name, shared));
            }
        }
    }
    text.push_str(KEYS);
    if rows.iter().any(|row| row.scenario.load.neighbours() > 0) {
        text.push_str(NEIGHBOUR);
    }
    text.push_str(&promises(rows));
    text.push_str(&oracles(rows));
    text.push_str(&past_tdp(rows));
    text.push_str(&noise(header, rows));
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
                .map(|tile| tile.map_or_else(|| "-".into(), |tile| tile.to_string()));
            std::iter::once(name).chain(tiles).collect::<Vec<_>>()
        });
        let count = header.len();
        let _ = write!(text, "\n{}\n{}", map.title, columns(header, lines, count));
    }
    text
}

/// Describes the cells in which some policy would draw more than the package's TDP.
fn past_tdp(rows: &[GridCell]) -> String {
    match grid::past_tdp(rows) {
        Some((cells, most)) => {
            format!("Past TDP in {cells} cells, whose figures are of no real machine: {most}.\n")
        }
        None => String::new(),
    }
}

/// Lists the modes whose latencies are promised, if they differ between cells.
fn promises(rows: &[GridCell]) -> String {
    let of = |name: &str| {
        let of = rows
            .iter()
            .filter(|row| row.slo_of.as_deref() == Some(name));
        of.count()
    };
    match of("interrupt") {
        0 => String::new(),
        cells => format!(
            "The promise is what interrupts have in {cells} cells, where CPUs are shared, and what polling has in {}.\n",
            of("poll")
        ),
    }
}

/// Describes the savings of oracles that know more.
fn oracles(rows: &[GridCell]) -> String {
    match oracle_savings(rows) {
        Some((spending, everything)) => format!(
            "oracle: knows when I/Os complete. One that also lets as many be late as the promise leaves uses {:.1} % less in\n\
             the median cell ({:.1} % at most), one that knows arrivals too {:.1} % ({:.1} %).\n",
            spending.median, spending.worst, everything.median, everything.worst
        ),
        None => String::new(),
    }
}

/// Describes how much figures vary between seeds.
fn noise(header: &GridHeader<'_>, rows: &[GridCell]) -> String {
    const MUCH: f64 = 0.1;
    let all = |of: fn(&GridCell) -> f64| Spread::of(rows.iter().map(of));
    let (Some(p99), Some(p999)) = (all(|row| row.p99_noise), all(|row| row.p999_noise)) else {
        return String::new();
    };
    let over = rows.iter().filter(|row| row.p999_noise > MUCH).count();
    let mut text = format!(
        "Another seed changes polling's p99 by {:.1} % in the median cell and {:.1} % at most, its p99.9 by {:.1} %, and by\n\
         more than {:.0} % in {over}; policies are compared on the same.\n",
        100.0 * p99.median,
        100.0 * p99.worst,
        100.0 * p999.median,
        100.0 * MUCH,
    );
    if header.replicates > 1 {
        let ties = rows.iter().filter(|row| row.is_tie()).count();
        let nobody = rows.iter().filter(|row| row.best.is_none()).count();
        let won = rows.len() - nobody - ties;
        let _ = writeln!(
            text,
            "One policy is the best with every seed in {won} cells; {ties} are ties; in {nobody} nobody keeps the promise."
        );
    }
    text
}

/// Formats a line for each view: in how many cells each policy is the best without a tie.
fn views(axes: &GridAxes, rows: &[GridCell]) -> String {
    let names = policy_names(rows);
    let ties = rows.iter().any(GridCell::is_tie);
    let modelled = names.iter().map(|name| format!("{name}*"));
    let header = std::iter::once("view".to_string())
        .chain(modelled)
        .chain(ties.then(|| "ties*".into()));
    let lines = axes.views.iter().map(|view| {
        let here: Vec<_> = rows.iter().filter(|row| row.view == *view).collect();
        let percent = |count: usize| match count {
            0 => "-".to_string(),
            count => format!("{:.0}", 100.0 * count as f64 / here.len() as f64),
        };
        let share = |name: &&str| {
            let won = here.iter().filter(|row| is_best(row, name));
            percent(won.count())
        };
        let view = format!("{}, {}", view.mechanism, view.boundary);
        let tied = ties.then(|| percent(here.iter().filter(|row| row.is_tie()).count()));
        [view]
            .into_iter()
            .chain(names.iter().map(share))
            .chain(tied)
            .collect::<Vec<_>>()
    });
    columns(header, lines, 1)
}

/// Formats a line for each policy.
fn policy_table(rows: &[&GridCell]) -> String {
    let beside = rows.iter().any(|row| row.scenario.load.neighbours() > 0);
    let seeds = rows
        .iter()
        .any(|row| row.policies.iter().any(|one| !one.by_seed.is_empty()));
    let mut header = vec!["policy", "cells", "keeps*", "best*"];
    header.extend(seeds.then_some("ties*"));
    header.push("regret %*");
    header.extend(seeds.then_some("+-*"));
    header.extend(["90th*", "worst*", "to oracle %*", "90th*", "worst*"]);
    header.extend(beside.then_some("neighbour %*"));
    let spread = |of: Option<Spread>| match of {
        Some(all) => [all.median, all.ninetieth, all.worst].map(percent),
        None => ["-", "-", "-"].map(String::from),
    };
    let none = || "-".to_string();
    let lines = policies(rows).into_iter().map(|one| {
        let [median, ninetieth, worst] = spread(one.regret);
        let counts = [one.cells, one.keeps, one.best].map(|count| count.to_string());
        let mut line = vec![one.policy];
        line.extend(counts);
        line.extend(seeds.then(|| one.ties.to_string()));
        line.push(median);
        line.extend(seeds.then(|| one.median_half.map_or_else(none, percent)));
        line.extend([ninetieth, worst]);
        line.extend(spread(one.to_oracle));
        let neighbour = one.neighbour_percent.map(|percent| format!("{percent:.1}"));
        line.extend(beside.then(|| neighbour.unwrap_or_else(none)));
        line
    });
    columns(header, lines, 1)
}
