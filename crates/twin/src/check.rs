//! Published against modelled: every number, with its error.
//!
//! What a number promises depends on whether a profile's figure was fitted to it
//! ([`Row::allowed`]). What breaks its promise is broken, unless the published data declare, with
//! the reason, that it does not reproduce.

mod break_even;
mod claims;
mod numbers;
mod orders;

use crate::published::{Field, Metric, Paper, Profiles, SimulationError, Simulator};
use serde::Serialize;

pub use break_even::Rule;
pub use claims::Observation;
pub use numbers::Row;
pub(crate) use numbers::{error, modelled};
pub use orders::Order;

/// I/Os of each run of a check: enough that a seed moves no mean by a tenth of its promise.
pub const IOS: u64 = 60_000;

/// Largest error that is allowed of a difference between two runs, as a fraction of it.
const INCREMENT: f64 = 0.25;

/// Methods whose published numbers differ by no more are not in an order.
const TIE: f64 = 0.03;

/// Comparison of what was published with the twin.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Every number.
    pub numbers: Vec<Row>,
    /// Orders of methods.
    pub orders: Vec<Order>,
    /// Claims in words.
    pub observations: Vec<Observation>,
    /// The break-even rule.
    pub rules: Vec<Rule>,
    /// Numbers that the profiles hold as they were printed.
    pub inputs: Vec<Held>,
    /// Contradictions among what was printed.
    pub conflicts: Vec<Contradiction>,
    /// Numbers and claims that the twin cannot speak of.
    pub silent: Vec<Unsaid>,
}

/// A number that a profile holds as it was printed.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// The source's short name.
    pub paper: String,
    /// Description of the number.
    pub what: String,
    /// Field of the profile.
    pub field: String,
    /// Printed number.
    pub published: f64,
    /// Number in the profile.
    pub held: f64,
}

/// A number of the twin's that passes a published limit.
#[derive(Clone, Debug, Serialize)]
pub struct Contradiction {
    /// The source's short name.
    pub paper: String,
    /// Description of the contradiction.
    pub what: String,
    /// The limit.
    pub limit: f64,
    /// The twin's number.
    pub modelled: f64,
}

/// A number or a claim that the twin cannot speak of.
#[derive(Clone, Debug, Serialize)]
pub struct Unsaid {
    /// The source's short name.
    pub paper: String,
    /// The number or the claim.
    pub what: String,
    /// Why not.
    pub why: String,
}

impl Report {
    /// The promises that are broken, each in a line.
    pub fn broken(&self) -> Vec<String> {
        let numbers = self.numbers.iter().filter(|row| row.broken());
        let orders = self.orders.iter().filter(|order| !order.kept);
        let observations = self.observations.iter().filter(|o| o.broken());
        let rules = self.rules.iter().filter(|rule| rule.broken());
        let inputs = self.inputs.iter().filter(|held| held.broken());
        let numbers = numbers.map(|row| format!("{}: {}", row.paper, row.what));
        let orders = orders.map(|o| format!("{}: {} before {}", o.paper, o.more, o.less));
        let observations = observations.map(|o| format!("{}: {}", o.paper, o.what));
        let rules = rules.map(|rule| format!("{}: {}", rule.paper, rule.what));
        let inputs = inputs.map(|held| format!("{}: {}", held.paper, held.what));
        let words = orders.chain(observations).chain(rules).chain(inputs);
        numbers.chain(words).collect()
    }

    /// Numbers and claims that do not reproduce, for a reason that the published data declare, each in
    /// a line.
    pub fn declared(&self) -> Vec<String> {
        let numbers = self.numbers.iter().filter_map(|row| {
            let why = row.known.as_ref()?;
            Some(format!("{}: {}: {why}", row.paper, row.what))
        });
        let words = self.observations.iter().filter_map(|one| {
            let why = one.known.as_ref()?;
            Some(format!("{}: {}: {why}", one.paper, one.what))
        });
        numbers.chain(words).collect()
    }
}

impl Held {
    /// The profile has another number.
    pub fn broken(&self) -> bool {
        (self.held - self.published).abs() > 1e-9 * self.published.abs()
    }
}

/// Compares all that `papers` have with the twin on `profiles`, in runs of `ios` I/Os.
///
/// # Errors
/// [`SimulationError`], if a run cannot be simulated, or the data name what is not there.
pub fn check(papers: &[Paper], profiles: Profiles, ios: u64) -> Result<Report, SimulationError> {
    let mut simulator = Simulator::new(papers, profiles, ios);
    let mut report = Report {
        numbers: Vec::new(),
        orders: Vec::new(),
        observations: Vec::new(),
        rules: Vec::new(),
        inputs: Vec::new(),
        conflicts: Vec::new(),
        silent: Vec::new(),
    };
    for paper in papers {
        let rows = numbers::rows(paper, &mut simulator)?;
        report.orders.extend(orders::orders(paper, &rows));
        report.numbers.extend(rows);
        report
            .observations
            .extend(claims::observations(paper, &mut simulator)?);
        report
            .rules
            .extend(break_even::rules(paper, &mut simulator)?);
        report.inputs.extend(inputs(paper, &mut simulator)?);
        report.conflicts.extend(conflicts(paper, &mut simulator)?);
        report
            .silent
            .extend(paper.silent.iter().map(|silent| Unsaid {
                paper: paper.name.clone(),
                what: silent.what.clone(),
                why: silent.why.clone(),
            }));
    }
    Ok(report)
}

fn inputs(paper: &Paper, simulator: &mut Simulator) -> Result<Vec<Held>, SimulationError> {
    let held = |input: &crate::published::Input| {
        let field: Field = input.field.parse()?;
        Ok(Held {
            paper: paper.name.clone(),
            what: input.what.clone(),
            field: input.field.clone(),
            published: input.value,
            held: simulator.profiles().figure(&field)?.value,
        })
    };
    paper.input.iter().map(held).collect()
}

fn conflicts(
    paper: &Paper,
    simulator: &mut Simulator,
) -> Result<Vec<Contradiction>, SimulationError> {
    let mut found = Vec::new();
    for conflict in &paper.conflict {
        let modelled = simulator.metric(&conflict.run, conflict.metric)?;
        if modelled > conflict.limit {
            found.push(Contradiction {
                paper: paper.name.clone(),
                what: conflict.what.clone(),
                limit: conflict.limit,
                modelled,
            });
        }
    }
    Ok(found)
}

/// `metric` of each of `runs`.
fn metrics(
    simulator: &mut Simulator,
    runs: &[String],
    metric: Metric,
) -> Result<Vec<f64>, SimulationError> {
    runs.iter()
        .map(|run| simulator.metric(run, metric))
        .collect()
}
