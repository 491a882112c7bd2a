//! Figures of made-up runs.

use super::{Plot, svg};
use crate::record::RunRecord;
use crate::record::sample::runs;
use crate::report::figure::{Drawing, Style};
use crate::report::page::plotted;
use crate::sweep::{Axes, Factor};
use joulio_workload::CompletionMode;

fn axes(jobs: &[&str]) -> Axes {
    let mut axes = Axes::default();
    axes.set(Factor::Bs, ["4k"]).unwrap();
    axes.set(Factor::NumJobs, jobs.iter()).unwrap();
    axes.set(Factor::Completion, ["poll", "interrupt"]).unwrap();
    axes
}

fn records(jobs: &[usize]) -> Vec<RunRecord> {
    let modes = [CompletionMode::Poll, CompletionMode::Interrupt];
    let of = |mode| {
        jobs.iter()
            .flat_map(move |jobs| runs(mode, *jobs, 1e5, 2_000.0, 40.0))
    };
    modes.into_iter().flat_map(of).collect()
}

#[test]
fn a_number_that_varies_stands_along_the_axis() {
    let records = records(&[1, 2, 8]);
    let records: Vec<_> = records.iter().collect();
    let plot = Plot::new("a sweep", "reads", &axes(&["1", "2", "8"]), &records);
    let figures = &plot.groups[0].figures;
    assert_eq!(figures.len(), 4);
    for figure in &figures[..3] {
        for panel in &figure.panels {
            let Drawing::Xy(xy) = &panel.drawing else {
                panic!("{}", figure.title)
            };
            assert_eq!((xy.style, xy.x.values.len()), (Style::Lines, 3));
            let names: Vec<_> = xy.series.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, ["poll", "interrupt"]);
            assert!(xy.series[0].marks.iter().all(|mark| mark.n == 4));
        }
    }
    assert!(figures[1].panels.iter().all(|panel| match &panel.drawing {
        Drawing::Xy(xy) => xy.series[0].marks.iter().all(|m| m.interval.is_some()),
        Drawing::Tiles(_) => false,
    }));
    // 40 W at 100,000 I/Os per second.
    let Drawing::Xy(energy) = &figures[2].panels[0].drawing else {
        panic!("tiles")
    };
    assert!((energy.series[0].marks[0].y - 400.0).abs() < 2.0);
    assert_eq!(energy.y, "energy, µJ/IO");
    assert!(energy.series[0].marks[0].modelled && !figures[0].modelled);
    // These records have no histograms.
    assert!(figures[3].problem.is_some());
    for text in [svg(&plot), plotted(&plot)] {
        assert!(text.contains("kept without their histograms"));
    }
}

#[test]
fn without_one_there_are_bars_by_completion_mode() {
    let records = records(&[1]);
    let records: Vec<_> = records.iter().collect();
    let plot = Plot::new("a sweep", "reads", &axes(&["1"]), &records);
    let Drawing::Xy(xy) = &plot.groups[0].figures[0].panels[0].drawing else {
        panic!("tiles")
    };
    assert_eq!((xy.style, xy.x.values.len()), (Style::Bars, 2));
}

#[test]
fn runs_that_are_kept_apart_are_said_once() {
    let mut records = records(&[1]);
    for record in &mut records {
        record.result.interrupted = true;
    }
    let records: Vec<_> = records.iter().collect();
    let plot = Plot::new("a sweep", "reads", &axes(&["1"]), &records);
    for text in [svg(&plot), plotted(&plot)] {
        assert!(text.contains("Kept apart, and in no figure: 8 run(s)"));
        assert_eq!(text.matches("ended early").count(), 1);
        assert_eq!(text.matches("no run counts").count(), 4);
    }
}

#[test]
fn a_drawing_has_no_character_that_xml_forbids() {
    let records = records(&[1]);
    let records: Vec<_> = records.iter().collect();
    let text = svg(&Plot::new("a\u{1}b <&>", "", &axes(&["1"]), &records));
    assert!(text.contains("a\u{fffd}b &lt;&amp;&gt;"));
}
