//! Figures of any sweep: latency, IOPS and energy as functions of a factor, and the distribution of latency.

mod distribution;
mod file;
mod svg;
#[cfg(test)]
mod tests;

use super::answers::Answers;
use super::data::{Cell, ReportData};
use super::figure::{Drawing, Maker, ReportFigure, name};
use super::spec::{DrawingKind, FigureSpec};
use super::value::number;
use super::words;
use crate::record::{Platform, RunRecord};
use crate::results::EnergyColumn;
use crate::sweep::{Axes, Factor};
use joulio_workload::{EnergyMetric, Metric};

pub use file::{PlotFile, PlotFileError};
pub use svg::svg;

/// Factors that change how I/O is done but not which: their values become series.
const SERIES: [Factor; 6] = [
    Factor::Engine,
    Factor::Scheduler,
    Factor::MaxCstate,
    Factor::Frequency,
    Factor::Coalescing,
    Factor::Completion,
];

/// Factors that may be on the x axis; if several have equally many values, the first of these is taken.
const ALONG: [Factor; 7] = [
    Factor::IoDepth,
    Factor::RateIops,
    Factor::NumJobs,
    Factor::Bs,
    Factor::RwMixRead,
    Factor::ThinkTime,
    Factor::Neighbours,
];

/// Problem of all figures when every run is kept apart; it is shown once instead of for each figure.
const NO_RUN: &str = "No data here: no run counts.";

/// Figures of a sweep.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Title in a few words.
    pub title: String,
    /// Description of the runs, one item a line.
    pub about: Vec<String>,
    /// Figures grouped by platform and machine.
    pub groups: Vec<PlotGroup>,
}

/// Figures of the runs on one platform and machine.
#[derive(Clone, Debug)]
pub struct PlotGroup {
    /// Platform of the runs.
    pub platform: Platform,
    /// Name of the CPU or of the machine's profile.
    pub machine: String,
    /// Sentence on the runs that are kept apart; `None`: there are none.
    pub apart: Option<String>,
    /// Figures.
    pub figures: Vec<ReportFigure>,
}

/// Factors of a sweep by their use in its figures.
struct Uses {
    /// Factor on the x axis; `None`: no numeric factor varies.
    along: Option<Factor>,
    /// Factors whose values are series.
    series: Vec<String>,
    /// Factors whose values are panels.
    panels: Vec<String>,
}

impl Plot {
    /// Makes the figures of `records`, which belong to points of `axes`.
    pub fn new(title: &str, about: &str, axes: &Axes, records: &[&RunRecord]) -> Plot {
        let results: Vec<_> = records.iter().map(|record| &record.result).collect();
        let column = EnergyColumn::of(&results);
        let uses = Uses::of(axes);
        // Keeps only the energy figures that the table of runs compares.
        let of_column = records.iter().map(|record| {
            let mut record = (*record).clone();
            if let (Some(column), Some(counts)) = (&column, &mut record.result.counts) {
                counts.energy = column.figure(counts).cloned().into_iter().collect();
            }
            record
        });
        let sets = ReportData::sets(of_column, &[]);
        let groups = sets.iter().map(|data| PlotGroup {
            platform: data.platform,
            machine: data.machine.clone(),
            apart: apart(data),
            figures: uses.figures(data, column.is_some()),
        });
        let groups = groups.collect();
        let lines = about.lines().map(str::trim).filter(|line| !line.is_empty());
        Plot {
            title: title.to_owned(),
            about: lines.map(str::to_owned).collect(),
            groups,
        }
    }

    /// Returns true if every figure is modelled.
    pub fn is_modelled(&self) -> bool {
        let mut groups = self.groups.iter();
        !self.groups.is_empty() && groups.all(|group| group.platform == Platform::Twin)
    }
}

impl Uses {
    fn of(axes: &Axes) -> Uses {
        let varied = axes.varied();
        let count = |factor: Factor| axes.values(factor).len();
        let is_number =
            |factor: Factor| move |value: &String| number(factor.name(), value).is_some();
        let numbers = ALONG.into_iter().filter(|factor| {
            varied.contains(factor) && axes.values(*factor).iter().all(is_number(*factor))
        });
        // The first of the factors with the most values.
        let along = numbers.rev().max_by_key(|factor| count(*factor));
        let others = varied.iter().filter(|factor| Some(**factor) != along);
        let (mut series, panels): (Vec<Factor>, Vec<Factor>) =
            others.partition(|factor| SERIES.contains(factor));
        if !series.contains(&Factor::Completion) {
            series.push(Factor::Completion);
        }
        let names = |factors: &[Factor]| -> Vec<String> {
            factors.iter().map(|one| one.name().to_owned()).collect()
        };
        Uses {
            along,
            series: names(&series),
            panels: names(&panels),
        }
    }

    fn figures(&self, data: &ReportData, energy: bool) -> Vec<ReportFigure> {
        let energy_metric = Metric::Energy(EnergyMetric::JoulesPerMillion, None).to_string();
        let mut wanted = vec![
            ("Latency", vec!["latency_us".into(), "p99_us".into()]),
            ("I/Os per second", vec!["iops".to_owned()]),
        ];
        if energy {
            wanted.push(("Energy of an I/O", vec![energy_metric]));
        }
        let mut figures = Vec::new();
        for ((title, metrics), nth) in wanted.into_iter().zip(1..) {
            figures.push(self.over(data, nth, title, metrics));
        }
        figures.push(distribution::figure(data, self, figures.len() + 1));
        figures
    }

    /// Makes a figure of metrics over the factor that varies, or by completion mode if none does.
    fn over(
        &self,
        data: &ReportData,
        nth: usize,
        title: &str,
        metrics: Vec<String>,
    ) -> ReportFigure {
        let completion = Factor::Completion.name();
        let along = self.along.map_or(completion, Factor::name);
        let by = self.series.iter().filter(|factor| *factor != along);
        let spec = FigureSpec {
            id: format!("F{nth}"),
            title: match self.along {
                Some(factor) => format!("{title} over {}", words::factor(factor.name())),
                None => format!("{title} by completion mode"),
            },
            kind: match self.along {
                Some(_) => DrawingKind::Lines,
                None => DrawingKind::Bars,
            },
            sweep: data.cells().next().map(|cell| cell.sweep.clone()),
            x: Some(along.to_owned()),
            y: metrics.into_iter().collect(),
            series: by.cloned().collect(),
            panel: self.panels.iter().cloned().collect(),
            ..FigureSpec::default()
        };
        let answers = Answers::default();
        let maker = Maker {
            spec: &spec,
            data,
            answers: &answers,
            tdp_watts: None,
        };
        let mut figure = maker.make();
        if data.cells().all(|cell| cell.runs.is_empty()) {
            figure.problem = Some(NO_RUN.to_owned());
        }
        for panel in &mut figure.panels {
            panel.title = title_of(data, &self.panels, &panel.title);
            if let Drawing::Xy(xy) = &mut panel.drawing
                && spec.y.has("joules_per_million")
            {
                // The numbers are the same in uJ per I/O as in J per million I/Os.
                xy.y = "energy, µJ/IO".into();
            }
        }
        figure
    }
}

/// Describes the values called `named` of `factors`, each with its factor: `I/O depth 8, 70 % reads`.
fn title_of(data: &ReportData, factors: &[String], named: &str) -> String {
    let is = |cell: &&Cell| name(cell, factors).as_deref() == Some(named);
    let Some(cell) = data.cells().find(is) else {
        return named.to_owned();
    };
    let values = factors.iter().filter_map(|factor| {
        let value = cell.factor(factor)?;
        Some(match factor.as_str() {
            "device" | "rw" => value,
            "rwmixread" => format!("{value} % reads"),
            factor => format!("{} {value}", words::factor(factor)),
        })
    });
    values.collect::<Vec<_>>().join(", ")
}

/// Returns a sentence on the runs that are in no figure.
fn apart(data: &ReportData) -> Option<String> {
    let all = data.cells().flat_map(|cell| &cell.apart);
    let all: Vec<_> = all.collect();
    let why = &all.first()?.why;
    Some(format!(
        "Kept apart, and in no figure: {} run(s), the first for this: {why}.",
        all.len()
    ))
}
