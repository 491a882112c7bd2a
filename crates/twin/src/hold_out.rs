//! Prediction: numbers are withheld from a fit, which then has to predict them.
//!
//! The fitted figures start in the middle of their bands, so that no information of the withheld numbers is left in
//! them, and are fitted to the other numbers. Figures that no remaining number determines stay in the middle. If
//! the numbers of a machine are withheld, the costs of another machine replace its own.

use crate::check::numbers::rows;
use crate::check::orders::orders;
use crate::check::{NumberCheck, PublishedOrder};
use crate::fit::fit_without;
use crate::published::{
    HoldOut, Paper, PaperError, Profiles, PublishedNumber, SimulationError, Simulator,
};
use joulio_job::{LatencyStatistic, Metric, Side};
use serde::Serialize;

/// Prediction of the numbers that one hold-out withholds.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// The source's short name.
    pub paper: String,
    /// Description of the withheld numbers, and of the numbers used to predict them.
    pub what: String,
    /// Fields of profiles that only the withheld numbers determine: they stay in the middle of their bands, or have
    /// the values of the substituted machine.
    pub undecided: Vec<String>,
    /// The withheld numbers.
    pub numbers: Vec<NumberCheck>,
    /// Orders of methods that include a withheld number.
    pub orders: Vec<PublishedOrder>,
}

/// Scores over several predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Errors of the withheld I/Os per second, and of latencies if the source has only those.
    pub speed: Errors,
    /// Errors of the withheld CPU times per I/O.
    pub cpu: Errors,
    /// Number of orders of methods whose published numbers differ by more than 3 %.
    pub orders: usize,
    /// Number of these orders that the predictions keep.
    pub orders_right: usize,
}

/// Statistics of absolute errors, as fractions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Number of errors.
    pub count: usize,
    /// Mean error.
    pub mean: f64,
    /// Largest error.
    pub worst: f64,
    /// Fraction of the errors that are at most 15 %.
    pub within_15: f64,
    /// Fraction of the errors that are at most 30 %.
    pub within_30: f64,
}

impl Errors {
    fn of(errors: impl Iterator<Item = f64>) -> Errors {
        let errors: Vec<f64> = errors.map(f64::abs).collect();
        let count = errors.len().max(1) as f64;
        let within =
            |limit: f64| errors.iter().filter(|error| **error <= limit).count() as f64 / count;
        Errors {
            count: errors.len(),
            mean: errors.iter().sum::<f64>() / count,
            worst: errors.iter().copied().fold(0.0, f64::max),
            within_15: within(0.15),
            within_30: within(0.30),
        }
    }
}

impl Score {
    /// Returns the score of `predictions`. A number that two of them predict counts twice.
    pub fn of(predictions: &[Prediction]) -> Score {
        let orders = || predictions.iter().flat_map(|one| &one.orders);
        Score {
            speed: Errors::of(predictions.iter().flat_map(Prediction::speed_errors)),
            cpu: Errors::of(predictions.iter().flat_map(Prediction::cpu_errors)),
            orders: orders().count(),
            orders_right: orders().filter(|order| order.kept).count(),
        }
    }
}

/// Predictions with their scores, as `joulio twin fit --hold-out -o json` prints them.
#[derive(Debug, Serialize)]
pub struct HoldOutReport<'a> {
    hold_outs: Vec<ScoredPrediction<'a>>,
    score: Score,
}

/// A prediction and its score.
#[derive(Debug, Serialize)]
struct ScoredPrediction<'a> {
    #[serde(flatten)]
    prediction: &'a Prediction,
    score: Score,
}

impl HoldOutReport<'_> {
    /// Returns a report with the scores of `predictions`, one by one and together.
    pub fn new(predictions: &[Prediction]) -> HoldOutReport<'_> {
        let scored = |prediction| ScoredPrediction {
            prediction,
            score: Score::of(std::slice::from_ref(prediction)),
        };
        HoldOutReport {
            hold_outs: predictions.iter().map(scored).collect(),
            score: Score::of(predictions),
        }
    }
}

/// Returns the names of the sources that have hold-outs.
///
/// # Errors
/// [`PaperError`], if a source's file cannot be read.
pub fn with_hold_outs() -> Result<Vec<String>, PaperError> {
    let all = Paper::all()?.into_iter();
    let has = all.filter(|paper| !paper.hold_out.is_empty());
    Ok(has.map(|paper| paper.name).collect())
}

impl Prediction {
    /// Returns the errors of the I/Os per second. In a closed loop a latency carries the same information, so that
    /// it counts only if the source printed no I/Os per second.
    fn speed_errors(&self) -> impl Iterator<Item = f64> {
        let iops = self.errors(|metric| metric == Metric::Iops(Side::All));
        let any = iops.clone().next().is_some();
        let latency = self.errors(move |metric| {
            let median = LatencyStatistic::P50;
            !any && [LatencyStatistic::Mean, median]
                .map(|statistic| Metric::Latency(Side::All, statistic))
                .contains(&metric)
        });
        iops.chain(latency)
    }

    fn cpu_errors(&self) -> impl Iterator<Item = f64> {
        self.errors(|metric| metric == Metric::CpuUs)
    }

    /// Returns the errors of the numbers of some metrics, without differences and gains.
    fn errors(&self, of: impl Fn(Metric) -> bool + Clone) -> impl Iterator<Item = f64> + Clone {
        let numbers = self.numbers.iter();
        let numbers = numbers.filter(move |row| of(row.metric) && !row.increment && !row.percent);
        numbers.map(|row| row.error)
    }
}

/// Predicts the numbers that each hold-out of `papers` withholds, from `profiles` whose figures are fitted again.
///
/// # Errors
/// [`SimulationError`], if a run cannot be simulated, or a figure has no band to search.
pub fn hold_out(
    papers: &[Paper],
    profiles: &Profiles,
    ios: u64,
) -> Result<Vec<Prediction>, SimulationError> {
    let all = papers
        .iter()
        .flat_map(|paper| paper.hold_out.iter().map(move |one| (paper, one)));
    all.map(|(paper, one)| predict(papers, paper, one, profiles, ios))
        .collect()
}

fn predict(
    papers: &[Paper],
    paper: &Paper,
    hold_out: &HoldOut,
    profiles: &Profiles,
    ios: u64,
) -> Result<Prediction, SimulationError> {
    let mut simulator = Simulator::new(papers, profiles.clone(), ios);
    let mut machine = None;
    for run in &hold_out.runs {
        machine = Some(simulator.spec(run)?.machine.clone());
    }
    let stand_in = hold_out.costs_of.as_ref().zip(machine);
    if let Some((other, machine)) = &stand_in {
        simulator.profiles().take_costs(machine, other)?;
    }
    let withheld = |number: &PublishedNumber| {
        let mut runs = number.run.iter().chain(&number.over).chain(&number.minus);
        runs.any(|run| hold_out.runs.contains(run))
    };
    let known = stand_in.map(|(_, machine)| machine);
    let unknown = &hold_out.unknown;
    let undecided = fit_without(paper, &mut simulator, withheld, |field| {
        let costs = field.machine && field.path.first().is_some_and(|key| key == "costs");
        let known = costs && known.as_ref() == Some(&field.profile);
        known && !unknown.contains(&field.to_string())
    })?;
    let rows = rows(paper, &mut simulator)?;
    let is_withheld = |what: &str| paper.number(what).is_some_and(withheld);
    let mut orders = orders(paper, &rows);
    orders.retain(|order| is_withheld(&order.more) || is_withheld(&order.less));
    Ok(Prediction {
        paper: paper.name.clone(),
        what: hold_out.what.clone(),
        undecided,
        numbers: rows
            .into_iter()
            .filter(|row| is_withheld(&row.what))
            .collect(),
        orders,
    })
}
