//! Comparison of published numbers with the twin's, each with its error.
//!
//! The allowed error of a number depends on whether a figure of a profile was fitted to it
//! ([`NumberCheck::allowed`]). A number with a larger error counts as broken, unless the published data declare,
//! with the reason, that it does not reproduce.

mod break_even;
mod claims;
pub mod judge;
pub(crate) mod numbers;
pub(crate) mod orders;
mod promise;
mod savings;

use crate::published::{Basis, Paper, ProfileField, Profiles, SimulationError, Simulator};
use serde::Serialize;

pub use break_even::Rule;
pub use claims::CheckedClaim;
pub use numbers::NumberCheck;
pub use orders::PublishedOrder;
pub use savings::SavingCheck;

/// I/Os of each run of a check: so many that another seed changes no mean by more than a tenth of its allowed
/// error.
pub const IOS: u64 = 60_000;

/// Largest allowed error of a difference between two runs, as a fraction of the difference.
const INCREMENT: f64 = 0.25;

/// Relative difference up to which the published numbers of two methods count as equal, so that they have no order.
const TIE: f64 = 0.03;

/// Comparison of published data with the twin.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// Results of all numbers.
    pub numbers: Vec<NumberCheck>,
    /// Orders of methods by their published numbers.
    pub orders: Vec<PublishedOrder>,
    /// Claims in words.
    pub observations: Vec<CheckedClaim>,
    /// The break-even rule on pairs of runs.
    pub rules: Vec<Rule>,
    /// Published gains that depend on a saving for which sources give different values.
    pub savings: Vec<SavingCheck>,
    /// Published numbers that the profiles contain unchanged.
    pub inputs: Vec<HeldNumber>,
    /// Figures of profiles that were set by hand so that numbers reproduce.
    pub by_hand: Vec<HandSet>,
    /// Contradictions between published numbers.
    pub conflicts: Vec<Contradiction>,
    /// Numbers and claims that the twin cannot model.
    pub silent: Vec<Unsaid>,
}

/// A published number that a profile contains unchanged.
#[derive(Clone, Debug, Serialize)]
pub struct HeldNumber {
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

/// A figure of a profile that was set by hand so that numbers reproduce.
#[derive(Clone, Debug, Serialize)]
pub struct HandSet {
    /// The source's short name.
    pub paper: String,
    /// Field of the profile.
    pub field: String,
    /// Number in the profile.
    pub value: f64,
    /// Numbers and claims for which it was set.
    pub to: Vec<String>,
    /// Reason for setting it by hand.
    pub why: String,
}

/// A published limit that the twin's number exceeds.
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

/// A number or a claim that the twin cannot model.
#[derive(Clone, Debug, Serialize)]
pub struct Unsaid {
    /// The source's short name.
    pub paper: String,
    /// The number or the claim.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Counts of a source's numbers and claims by result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PaperSummary {
    /// The source's short name.
    pub paper: String,
    /// Numbers that agree, and claims that hold, although no figure was fitted to them.
    pub predicted: usize,
    /// Numbers that agree, and claims that hold, and that a figure was fitted to.
    pub fitted: usize,
    /// Numbers that agree because they follow from fitted ones or are themselves figures of a profile.
    pub restated: usize,
    /// Numbers whose error is larger than allowed, and claims that do not hold.
    pub not_reproduced: usize,
    /// Numbers without an allowed error.
    pub unpromised: usize,
}

impl CheckReport {
    /// Returns the counts of each source's numbers and claims, in the order in which the sources were given; a source
    /// with claims alone comes last.
    pub fn summary(&self) -> Vec<PaperSummary> {
        let mut found = Vec::new();
        for row in &self.numbers {
            let of = PaperSummary::of(&mut found, &row.paper);
            *match (row.allowed, row.missed(), row.basis) {
                (_, true, _) => &mut of.not_reproduced,
                (None, ..) => &mut of.unpromised,
                (_, _, Basis::Free) => &mut of.predicted,
                (_, _, Basis::Fitted) => &mut of.fitted,
                (_, _, Basis::Implied) => &mut of.restated,
            } += 1;
        }
        for claim in &self.observations {
            let of = PaperSummary::of(&mut found, &claim.paper);
            *match (claim.holds, claim.basis) {
                (false, _) => &mut of.not_reproduced,
                (true, Basis::Free) => &mut of.predicted,
                (true, Basis::Fitted) => &mut of.fitted,
                (true, Basis::Implied) => &mut of.restated,
            } += 1;
        }
        found
    }

    /// Returns one line for each broken check.
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

    /// Returns one line for each number or claim that does not reproduce for a reason that the published data
    /// declare.
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

impl PaperSummary {
    /// Returns the counts of `paper` from `found`, to which they are added if it has none.
    fn of<'a>(found: &'a mut Vec<PaperSummary>, paper: &str) -> &'a mut PaperSummary {
        let at = found.iter().position(|of| of.paper == paper);
        let at = at.unwrap_or_else(|| {
            found.push(PaperSummary {
                paper: paper.to_owned(),
                ..PaperSummary::default()
            });
            found.len() - 1
        });
        &mut found[at]
    }
}

impl HeldNumber {
    /// True if the profile has another number.
    pub fn broken(&self) -> bool {
        (self.held - self.published).abs() > 1e-9 * self.published.abs()
    }
}

/// Compares all numbers and claims of `papers` with the twin on `profiles`, in runs of `ios` I/Os.
///
/// # Errors
/// [`SimulationError`], if a run cannot be simulated, or the data name something that does not exist.
pub fn check(
    papers: &[Paper],
    profiles: Profiles,
    ios: u64,
) -> Result<CheckReport, SimulationError> {
    let mut simulator = Simulator::new(papers, profiles, ios);
    let mut report = CheckReport {
        numbers: Vec::new(),
        orders: Vec::new(),
        observations: Vec::new(),
        rules: Vec::new(),
        savings: Vec::new(),
        inputs: Vec::new(),
        by_hand: Vec::new(),
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
        report
            .savings
            .extend(savings::savings(paper, &mut simulator)?);
        report.inputs.extend(inputs(paper, &mut simulator)?);
        report.by_hand.extend(by_hand(paper, &mut simulator)?);
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

fn inputs(paper: &Paper, simulator: &mut Simulator) -> Result<Vec<HeldNumber>, SimulationError> {
    let held = |input: &crate::published::Input| {
        let field: ProfileField = input.field.parse()?;
        Ok(HeldNumber {
            paper: paper.name.clone(),
            what: input.what.clone(),
            field: input.field.clone(),
            published: input.value,
            held: simulator.profiles().figure(&field)?.value,
        })
    };
    paper.input.iter().map(held).collect()
}

fn by_hand(paper: &Paper, simulator: &mut Simulator) -> Result<Vec<HandSet>, SimulationError> {
    let mut found = Vec::new();
    for fitted in &paper.fit {
        let Some(why) = &fitted.by_hand else {
            continue;
        };
        let field: ProfileField = fitted.field.parse()?;
        found.push(HandSet {
            paper: paper.name.clone(),
            field: fitted.field.clone(),
            value: simulator.profiles().figure(&field)?.value,
            to: fitted.to.clone(),
            why: why.clone(),
        });
    }
    Ok(found)
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
