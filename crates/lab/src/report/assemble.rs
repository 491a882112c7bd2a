//! Content of a report: every table, figure and observation of the experiments, for each machine.

use super::answers::Answers;
use super::command::{SweepSource, command};
use super::data::{KeptApart, ReportData, device_name};
use super::figure::{Maker, ReportFigure};
use super::idle::IdleReport;
use super::outcome::ObservationOutcome;
use super::spec::{FigureSpec, ObservationSpec, TableSpec};
use super::table::{Table, TableMaker};
use super::verdict::{FittedParts, Judge, Observed, tolerance};
use super::words;
use crate::idle_interval::IdleInterval;
use crate::record::{Platform, RunRecord};
use joulio_model::MachineProfile;
use joulio_twin::published::{Basis, Paper};
use serde::Serialize;

/// Tables, figures and observations of an experiment that a report shows.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Short name in the experiment's file.
    pub name: &'a str,
    /// Title.
    pub title: &'a str,
    /// Short name of the source of published numbers: `HS22`.
    pub published: Option<&'a str>,
    /// Sweeps of the experiment.
    pub sweeps: &'a [SweepSource],
    /// Tables of the experiment.
    pub tables: &'a [TableSpec],
    /// Figures of the experiment.
    pub figures: &'a [FigureSpec],
    /// Observations of the experiment.
    pub observations: &'a [ObservationSpec],
}

/// Runs of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Records of the runs.
    pub records: Vec<RunRecord>,
    /// Idle intervals around the runs.
    pub idle: Vec<IdleInterval>,
}

/// Content of a report.
#[derive(Clone, Debug, Serialize)]
pub struct LabReport {
    /// Version of joulio.
    pub joulio: String,
    /// Experiments, in the order in which they were given.
    pub experiments: Vec<ExperimentReport>,
}

/// An experiment in a report.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentReport {
    /// Short name.
    pub name: String,
    /// Title.
    pub title: String,
    /// Short name of the source of published numbers.
    pub published: Option<String>,
    /// Title, authors and place of publication of that source.
    pub source: Option<String>,
    /// Reports for each machine and platform with records.
    pub sets: Vec<SetReport>,
}

/// An experiment on one machine and platform.
#[derive(Clone, Debug, Serialize)]
pub struct SetReport {
    /// Platform of the runs.
    pub platform: Platform,
    /// Name of the CPU or of the machine's profile.
    pub machine: String,
    /// Devices by their names.
    pub devices: Vec<String>,
    /// Number of runs that count.
    pub runs: usize,
    /// Runs that are kept apart.
    pub apart: Vec<Apart>,
    /// Power of the idle machine around the runs.
    pub idle: IdleReport,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<ReportFigure>,
    /// Observations, with their verdicts.
    pub observed: Vec<Observed>,
    /// Published numbers compared with the results.
    pub numbers: Vec<NumberLine>,
    /// Status of each table and figure.
    pub status: Vec<ItemStatus>,
}

/// Number of runs that are kept apart for the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct Apart {
    /// Sweep and point.
    pub at: String,
    /// Number of runs.
    pub runs: usize,
    /// Reason why they are kept apart.
    pub why: String,
    /// True if the runs are unavailable here.
    pub unavailable: bool,
}

/// A published number compared with the result.
#[derive(Clone, Debug, Serialize)]
pub struct NumberLine {
    /// Description of the number.
    pub what: String,
    /// Name of the metric with its unit.
    pub metric: String,
    /// Printed number, or lower end of the printed range.
    pub published: f64,
    /// Upper end of the printed range.
    pub published_to: Option<f64>,
    /// Result of the experiment.
    pub here: f64,
    /// Half of its 95 % interval; `None`: a single run, or virtual time.
    pub half: Option<f64>,
    /// True if one of the values of the result is modelled.
    pub modelled: bool,
    /// Percent by which the result differs from the published number; for a gain in percent, the difference of the
    /// gains.
    pub error_percent: f64,
    /// Largest difference in percent with which the number counts as reproduced.
    pub allowed_percent: f64,
    /// Outcome of the observation.
    pub outcome: ObservationOutcome,
    /// Basis of the agreement; only in virtual time.
    pub basis: Option<Basis>,
}

/// Status of a table or a figure.
#[derive(Clone, Debug, Serialize)]
pub struct ItemStatus {
    /// Name.
    pub id: String,
    /// Name in the source of this table or figure, or of the one that it is part of; `None`: the source has none.
    pub in_source: Option<String>,
    /// Title.
    pub title: String,
    /// Command that makes the records.
    pub command: String,
    /// True if there is data for it.
    pub data: bool,
    /// Worst outcome of the observations that name this table or figure; `NoData` if none does.
    pub outcome: ObservationOutcome,
    /// Comparisons of that observation that a profile's figure was fitted to.
    pub fitted: FittedParts,
    /// Reason in a sentence.
    pub because: String,
}

impl LabReport {
    /// Makes the report of `experiments`, each with its runs, and with the published numbers of `papers`.
    pub fn new(papers: &[Paper], experiments: Vec<(Shown<'_>, Runs)>) -> LabReport {
        let one = |(shown, Runs { records, idle }): (Shown<'_>, Runs)| {
            let paper = shown.published.and_then(|name| {
                let mut papers = papers.iter();
                papers.find(|paper| paper.name.eq_ignore_ascii_case(name))
            });
            let standing_in = shown.sweeps.iter().filter(|sweep| sweep.stands_in);
            let standing_in: Vec<&str> = standing_in.map(|sweep| sweep.name.as_str()).collect();
            ExperimentReport {
                name: shown.name.to_owned(),
                title: shown.title.to_owned(),
                published: shown.published.map(str::to_owned),
                source: paper.map(|paper| paper.source.clone()),
                sets: ReportData::sets(records, &standing_in)
                    .iter()
                    .map(|data| SetReport::new(shown, paper, data, &idle))
                    .collect(),
            }
        };
        LabReport {
            joulio: env!("CARGO_PKG_VERSION").to_owned(),
            experiments: experiments.into_iter().map(one).collect(),
        }
    }
}

impl ExperimentReport {
    /// Returns a prefix for the names in `set` that no other set has: the experiment, the platform and, if there are
    /// several machines, the machine.
    pub(super) fn prefix(&self, set: &SetReport) -> String {
        let prefix = format!("{}-{}", self.name, set.platform.name());
        let same = self.sets.iter().filter(|one| one.platform == set.platform);
        match same.count() > 1 {
            true => format!("{prefix}-{}", in_a_name(&set.machine)),
            false => prefix,
        }
    }
}

/// Replaces characters of `text` that are not letters or digits, for use in file names.
pub(super) fn in_a_name(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

impl SetReport {
    fn new(
        shown: Shown<'_>,
        paper: Option<&Paper>,
        data: &ReportData,
        idle: &[IdleInterval],
    ) -> SetReport {
        let answers = Answers::of(paper.cloned(), data);
        let tdp = MachineProfile::builtin(&data.machine).ok();
        let tdp_watts = tdp.and_then(|machine| Some(machine.tdp_watts?.value));
        let table = |spec| {
            let (data, answers) = (data, &answers);
            TableMaker {
                spec,
                data,
                answers,
            }
            .make()
        };
        let figure = |spec| {
            let (data, answers) = (data, &answers);
            let maker = Maker {
                spec,
                data,
                answers,
                tdp_watts,
            };
            maker.make()
        };
        let tables: Vec<Table> = shown.tables.iter().map(table).collect();
        let figures: Vec<ReportFigure> = shown.figures.iter().map(figure).collect();
        let judge = Judge {
            data,
            answers: &answers,
        };
        let observed = shown.observations.iter().map(|spec| judge.observe(spec));
        let observed: Vec<Observed> = observed.collect();
        let command = |sweeps: &[&str]| command(shown.name, sweeps, shown.sweeps, data.platform);
        let of_tables = tables
            .iter()
            .zip(shown.tables)
            .map(|(table, spec)| ItemStatus {
                command: command(spec.sweep.as_deref().as_slice()),
                in_source: in_source(&spec.in_source, &spec.id),
                ..ItemStatus::of(&table.id, &table.title, &table.problem, &observed)
            });
        let of_figures = figures
            .iter()
            .zip(shown.figures)
            .map(|(figure, spec)| ItemStatus {
                command: command(&spec.sweeps()),
                in_source: in_source(&spec.in_source, &spec.id),
                ..ItemStatus::of(&figure.id, &figure.title, &figure.problem, &observed)
            });
        let status = of_tables.chain(of_figures);
        SetReport {
            platform: data.platform,
            machine: data.machine.clone(),
            devices: devices(data),
            runs: data.cells().map(|cell| cell.runs.len()).sum(),
            apart: apart(data),
            idle: IdleReport::of(data, idle),
            numbers: numbers(&answers, data),
            status: status.collect(),
            tables,
            figures,
            observed,
        }
    }
}

impl ItemStatus {
    /// Returns the status of the table or figure `id`, without its command and its name in the source.
    fn of(id: &str, title: &str, problem: &Option<String>, observed: &[Observed]) -> ItemStatus {
        let speaking = observed
            .iter()
            .filter(|one| one.shown.iter().any(|shown| shown == id));
        let decides = speaking.min_by_key(|one| one.outcome);
        let because = match (problem, decides) {
            (Some(problem), _) => problem.clone(),
            (None, Some(one)) => one.because.clone(),
            (None, None) => "no observation speaks of it".to_owned(),
        };
        ItemStatus {
            id: id.to_owned(),
            in_source: None,
            title: title.to_owned(),
            command: String::new(),
            data: problem.is_none(),
            outcome: decides
                .filter(|_| problem.is_none())
                .map_or(ObservationOutcome::NoData, |one| one.outcome),
            fitted: decides.map_or_else(FittedParts::default, |one| one.fitted),
            because,
        }
    }
}

/// Returns the name of a table or figure in its source; `None` if the source has none.
fn in_source(said: &Option<String>, id: &str) -> Option<String> {
    let name = said.as_deref().unwrap_or(id);
    (name != "-").then(|| name.to_owned())
}

/// Returns the devices by their usual names; several of a kind with the largest number in one run: `46 × tipro9000`.
fn devices(data: &ReportData) -> Vec<String> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let runs = data
        .cells()
        .flat_map(|cell| cell.runs.iter().map(move |run| (cell, run)));
    for (cell, run) in runs {
        let mut here: Vec<(String, usize)> = Vec::new();
        for device in &run.result.devices {
            let name = match cell.stand_in(data.platform) {
                Some(_) => format!("emulated {}", device_name(device)),
                None => device_name(device),
            };
            match here.iter_mut().find(|(one, _)| *one == name) {
                Some(one) => one.1 += 1,
                None => here.push((name, 1)),
            }
        }
        for (name, count) in here {
            match found.iter_mut().find(|(one, _)| *one == name) {
                Some(one) => one.1 = one.1.max(count),
                None => found.push((name, count)),
            }
        }
    }
    let text = |(name, count): (String, usize)| match count {
        1 => name,
        count => format!("up to {count} × {name}"),
    };
    found.into_iter().map(text).collect()
}

fn apart(data: &ReportData) -> Vec<Apart> {
    let mut found: Vec<Apart> = Vec::new();
    for cell in data.cells() {
        for KeptApart {
            why, unavailable, ..
        } in &cell.apart
        {
            let point = cell.point.iter();
            let point = point.map(|(factor, value)| format!("{} {value}", words::factor(factor)));
            let at = format!("{}: {}", cell.sweep, point.collect::<Vec<_>>().join(", "));
            match found.iter_mut().find(|one| one.at == at && one.why == *why) {
                Some(one) => one.runs += 1,
                None => found.push(Apart {
                    at,
                    runs: 1,
                    why: why.clone(),
                    unavailable: *unavailable,
                }),
            }
        }
    }
    found
}

fn numbers(answers: &Answers, data: &ReportData) -> Vec<NumberLine> {
    let numbers = answers.paper().into_iter().flat_map(|paper| &paper.number);
    let line = |number| {
        let (judged, modelled) = answers.number(number, data).ok()?;
        let half = judged.estimate.half;
        Some(NumberLine {
            what: number.what.clone(),
            metric: words::metric(number.metric),
            published: number.value,
            published_to: number.to,
            here: judged.estimate.value,
            half: Some(half).filter(|half| half.is_finite() && *half > 0.0),
            modelled,
            error_percent: judged.error * 100.0,
            allowed_percent: tolerance(&judged) * 100.0,
            outcome: judged.within(tolerance(&judged)).into(),
            basis: (data.platform == Platform::Twin).then(|| number.basis()),
        })
    };
    numbers.filter_map(line).collect()
}
