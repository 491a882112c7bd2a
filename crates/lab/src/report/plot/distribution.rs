//! Distribution of latency, from the histograms of the runs.

use super::{NO_RUN, Uses, title_of};
use crate::record::Platform;
use crate::report::data::{Cell, ReportData};
use crate::report::figure::{
    Axis, Drawing, Mark, Panel, ReportFigure, Series, Style, Xy, name, names,
};
use std::collections::BTreeMap;

/// Largest number of panels: more curves are hard to compare.
const MAX_PANELS: usize = 6;

/// Percentiles that are marked, each with the smallest number of I/Os that determines it.
const MARKED: [(&str, f64, u64); 4] = [
    ("p50", 50.0, 1),
    ("p90", 90.0, 10),
    ("p99", 99.0, 100),
    ("p99.9", 99.9, 1_000),
];

/// Smallest change that is drawn: of the share in percent, and of the latency as a factor.
const STEP: (f64, f64) = (0.5, 1.01);

/// Makes the figure: the share of I/Os that completed within a time, with a panel for each point and a curve for each
/// completion mode.
pub fn figure(data: &ReportData, uses: &Uses, nth: usize) -> ReportFigure {
    let cells: Vec<&Cell> = data.cells().filter(|cell| !cell.runs.is_empty()).collect();
    let along = uses.along.map(|factor| factor.name().to_owned());
    let points: Vec<String> = uses.panels.iter().cloned().chain(along).collect();
    let all = names(&cells, &points);
    let shown: Vec<&String> = spread(all.len(), MAX_PANELS).map(|at| &all[at]).collect();
    let mut panels = Vec::new();
    for point in &shown {
        let here = cells.iter().copied();
        let here: Vec<&Cell> = here
            .filter(|cell| name(cell, &points).as_ref() == Some(point))
            .collect();
        let mut series = Vec::new();
        for one in names(&here, &uses.series) {
            let of_name = |cell: &&&Cell| name(cell, &uses.series).as_ref() == Some(&one);
            let cell = here.iter().find(of_name);
            let marks = cell.map_or_else(Vec::new, |cell| marks(cell));
            if !marks.is_empty() {
                let fit = None;
                series.push(Series {
                    name: one,
                    marks,
                    fit,
                });
            }
        }
        if series.is_empty() {
            continue;
        }
        panels.push(Panel {
            title: title_of(data, &points, point),
            drawing: Drawing::Xy(Xy {
                style: Style::Curve,
                x: Axis {
                    label: "latency, µs".into(),
                    values: Vec::new(),
                    logarithmic: true,
                },
                y: "I/Os done by then, %".into(),
                series,
                limit: None,
            }),
        });
    }
    let mut note = Vec::new();
    if shown.len() < all.len() {
        note.push(format!("{} of {} points.", shown.len(), all.len()));
    }
    if cells.iter().any(|cell| cell.runs.len() > 1) {
        note.push("The I/Os of all repetitions together.".to_owned());
    }
    if !panels.is_empty() {
        note.push("Marks: the median, p90, p99 and, of 1000 I/Os or more, p99.9.".to_owned());
    }
    ReportFigure {
        id: format!("F{nth}"),
        title: "Distribution of latency".into(),
        modelled: !panels.is_empty() && data.platform == Platform::Twin,
        energy: Vec::new(),
        problem: panels.is_empty().then(|| match cells.is_empty() {
            true => NO_RUN.to_owned(),
            false => "No data here: the runs were kept without their histograms.".to_owned(),
        }),
        note: (!note.is_empty()).then(|| note.join(" ")),
        panels,
    }
}

/// Returns at most `most` of `count` indices, including the first and the last.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(most);
    (0..shown).map(move |nth| match shown {
        0 | 1 => 0,
        shown => nth * (count - 1) / (shown - 1),
    })
}

/// Returns the curve of a point, from the histograms of all its runs.
fn marks(cell: &Cell) -> Vec<Mark> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for run in &cell.runs {
        let counts = run.result.counts.iter();
        for (nanos, ios) in counts.flat_map(|counts| &counts.all.latency_ns.bins) {
            *bins.entry(*nanos).or_default() += ios;
        }
    }
    let all: u64 = bins.values().sum();
    let modelled = cell.runs.iter().any(|run| run.result.modelled);
    let mark = |nanos: u64, share: f64, at: &str| Mark {
        x: nanos as f64 / 1e3,
        at: at.to_owned(),
        y: share,
        interval: None,
        band: None,
        n: cell.runs.len(),
        modelled,
        past_tdp: false,
        published: None,
    };
    let mut marked = MARKED.iter().filter(|(.., least)| all >= *least).peekable();
    let mut drawn: Vec<Mark> = Vec::new();
    let mut done = 0;
    for (nanos, ios) in bins {
        done += ios;
        let share = 100.0 * done as f64 / all as f64;
        let last = drawn.last().map(|last| (last.x, last.y));
        let far = last.is_none_or(|(x, y)| {
            share - y >= STEP.0 || nanos as f64 / 1e3 >= x * STEP.1 || done == all
        });
        if far {
            drawn.push(mark(nanos, share, ""));
        }
        while let Some((at, ..)) = marked.next_if(|(_, percent, _)| share >= *percent) {
            drawn.push(mark(nanos, share, at));
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn the_first_and_the_last_are_among_those_shown() {
        let places = |count| spread(count, 6).collect::<Vec<_>>();
        assert_eq!(places(0), [0usize; 0]);
        assert_eq!(places(1), [0]);
        assert_eq!(places(3), [0, 1, 2]);
        assert_eq!(places(11), [0, 2, 4, 6, 8, 10]);
    }
}
