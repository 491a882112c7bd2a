//! Tests of the report, from records to text.

mod figures;
mod page;
mod verdicts;

use super::command::command;
use super::csv::{figure_csv, observations_csv, table_csv};
use super::markdown::markdown;
use super::*;
use crate::record::sample::{run, runs};
use crate::record::{Platform, RunRecord};
use crate::statistics::Interval;
use joulio_twin::published::Paper;
use joulio_units::Boundary;
use joulio_workload::{CompletionMode, JobCounts, Spoiled, SpoiledBy, Unmetered};
use serde::Deserialize;
use std::fs;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    table: Vec<TableSpec>,
    #[serde(default)]
    figure: Vec<FigureSpec>,
    #[serde(default)]
    observation: Vec<ObservationSpec>,
}

fn report(text: &str, records: Vec<RunRecord>) -> LabReport {
    report_of("HS22", text, records)
}

fn report_of(published: &str, text: &str, records: Vec<RunRecord>) -> LabReport {
    let file: File = toml_edit::de::from_str(text).unwrap();
    let shown = Shown {
        name: "hotstorage22",
        title: "When poll is more energy efficient than interrupt",
        published: Some(published),
        sweeps: &[],
        tables: &file.table,
        figures: &file.figure,
        observations: &file.observation,
    };
    let runs = Runs {
        records,
        idle: Vec::new(),
    };
    LabReport::new(&Paper::all().unwrap(), vec![(shown, runs)])
}

fn set(report: &LabReport) -> &SetReport {
    &report.experiments[0].sets[0]
}

const LINES: &str = r#"
[[figure]]
id = "F1a"
title = "IOPS"
kind = "lines"
sweep = "main"
x = "numjobs"
y = "iops"
series = "completion"
"#;

const TILES: &str = r#"
[[figure]]
id = "F3"
title = "The best"
kind = "best-tiles"
sweep = "main"
x = "numjobs"
y = "bs"
best = "completion"
metric = "METRIC"
"#;

const POLL: CompletionMode = CompletionMode::Poll;
const INTERRUPT: CompletionMode = CompletionMode::Interrupt;
const HYBRID: CompletionMode = CompletionMode::Hybrid;
