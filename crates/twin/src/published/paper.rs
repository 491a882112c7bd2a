//! The files of published numbers.

use super::RunSpec;
use joulio_job::Metric;
use serde::{Deserialize, Serialize};

/// A source and what it printed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The short name that tables call it by.
    pub name: String,
    /// Title, authors and place of publication.
    pub source: String,
    /// Runs that the numbers are about.
    #[serde(default)]
    pub run: Vec<RunSpec>,
    /// Printed numbers.
    #[serde(default)]
    pub number: Vec<PublishedNumber>,
    /// Claims without a number.
    #[serde(default)]
    pub claim: Vec<PublishedClaim>,
    /// Savings that sources disagree on, and the numbers that they move.
    #[serde(default)]
    pub saving: Vec<Saving>,
    /// Numbers that profiles hold as they were printed.
    #[serde(default)]
    pub input: Vec<Input>,
    /// Pairs of runs to hold the break-even rule to.
    #[serde(default)]
    pub break_even: Vec<BreakEvenPair>,
    /// Arithmetic by which its numbers contradict each other.
    #[serde(default)]
    pub conflict: Vec<Conflict>,
    /// The figures of profiles that are fitted to its numbers.
    #[serde(default)]
    pub fit: Vec<Fitted>,
    /// Runs to withhold from a fit, whose numbers it then has to predict.
    #[serde(default)]
    pub hold_out: Vec<HoldOut>,
    /// Numbers and claims that the twin cannot speak of.
    #[serde(default)]
    pub silent: Vec<Silent>,
}

/// A published number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedNumber {
    /// Description in a few words; unique in its file.
    pub what: String,
    /// Runs that the number is about: one, or several whose mean is meant.
    pub run: Vec<String>,
    /// Metric of the runs.
    pub metric: Metric,
    /// The printed number, or the lower end of a printed range.
    pub value: f64,
    /// The upper end of a range.
    pub to: Option<f64>,
    /// True if a profile's figure was fitted to the number.
    #[serde(default)]
    pub fitted: bool,
    /// Sources that imply the number, so that it is no test of the twin: numbers of the same file,
    /// or fields of profiles that were taken from it.
    #[serde(default)]
    pub implied_by: Vec<String>,
    /// Runs that `run` is compared with, one for each: the number is the difference.
    #[serde(default)]
    pub minus: Vec<String>,
    /// Runs that `run` exceeds, one for each: the number is the percentage.
    #[serde(default)]
    pub over: Vec<String>,
    /// Numbers of one such name are in an order, which the twin has to have too.
    pub order: Option<String>,
    /// A figure with a band, as `machine.core_watts.pause_c02`: the number at both ends of it is
    /// reported beside the number.
    pub band: Option<String>,
    /// Reason why the number is known not to reproduce.
    pub known: Option<String>,
}

impl PublishedNumber {
    /// Basis of the twin's agreement with the number.
    pub fn basis(&self) -> Basis {
        match (self.fitted, self.implied_by.is_empty()) {
            (true, _) => Basis::Fitted,
            (_, false) => Basis::Implied,
            _ => Basis::Free,
        }
    }
}

/// Basis of agreement with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A profile's figure was chosen to meet it.
    Fitted,
    /// Implied by numbers that were fitted, or itself made a profile's figure.
    Implied,
    /// Free: nothing was chosen to meet the number.
    Free,
}

/// Something said in words: in each of the chains the metric rises from run to run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedClaim {
    /// Text of the claim.
    pub what: String,
    /// Metric of the runs.
    pub metric: Metric,
    /// Runs in the order in which the metric rises.
    pub rising: Vec<Vec<String>>,
    /// True if one rising chain is enough for the claim to hold.
    #[serde(default)]
    pub any: bool,
    /// Smallest rise in percent; below zero, the largest fall.
    #[serde(default)]
    pub min_percent: f64,
    /// Reason why the claim is known not to reproduce.
    pub known: Option<String>,
}

/// A figure that is another's less a saving, which sources disagree on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saving {
    /// Description of the saving.
    pub what: String,
    /// The profile's field, as `machine:xeon-8558.core_watts.pause_c02`.
    pub field: String,
    /// The field that it saves of.
    pub of: String,
    /// Savings to try, in percent.
    pub percent: Vec<f64>,
    /// The gains of the same file that it moves, by their `what`.
    pub numbers: Vec<String>,
}

/// A number that a profile holds as it was printed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Description of the number.
    pub what: String,
    /// The profile's field, as `machine:client.costs.crossing_ns`.
    pub field: String,
    /// The number.
    pub value: f64,
}

/// Two runs, for which the break-even rule decides which takes less energy per I/O.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakEvenPair {
    /// Description of the comparison.
    pub what: String,
    /// Name of the run that takes more CPU.
    pub a: String,
    /// The run that takes less.
    pub b: String,
    /// True if the rule is said to hold: it does in a closed loop, and not in an open one.
    pub holds: bool,
}

/// A number of the twin's that passes a published limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// Description of the contradiction.
    pub what: String,
    /// The run.
    pub run: String,
    /// Metric of the run.
    pub metric: Metric,
    /// Limit that the metric cannot pass.
    pub limit: f64,
}

/// A fitted figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// The profile's field, as `machine:xeon-6230.costs.wake_ns`.
    pub field: String,
    /// The numbers of the same file that it is fitted to, by their `what`; of a figure that is set
    /// by hand, also claims.
    pub to: Vec<String>,
    /// Numbers of the same file that decide it where all of those are withheld.
    #[serde(default)]
    pub instead: Vec<String>,
    /// Resolution of the search, in the figure's unit; none of a figure that is set by hand.
    #[serde(default)]
    pub step: f64,
    /// Reason why the figure is set by hand so that the numbers reproduce, and is not searched for.
    pub by_hand: Option<String>,
}

/// Runs whose numbers are withheld from a fit and predicted by it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldOut {
    /// Description of the withheld numbers, and of the numbers that they are predicted from.
    pub what: String,
    /// Runs by name: all of their numbers are withheld.
    pub runs: Vec<String>,
    /// Machine whose `[costs]` replace those of the runs' machine before the fit, as if they had not been measured.
    pub costs_of: Option<String>,
    /// Fields of those that were taken from what is withheld, and so begin in the middle of their bands.
    #[serde(default)]
    pub unknown: Vec<String>,
}

/// A number or a claim that the twin cannot speak of.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silent {
    /// The number or the claim.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Sources of published numbers that cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PaperError {
    /// A name that no source has.
    #[error("unknown source '{name}': known are {known}")]
    Unknown {
        /// Name that was given.
        name: String,
        /// Names that there are.
        known: String,
    },
    /// A file is not as a paper's file is to be.
    #[error(transparent)]
    File(#[from] toml::de::Error),
}

impl Paper {
    /// The files that come with the twin.
    ///
    /// # Errors
    /// A file is not as a paper's file is to be.
    pub fn all() -> Result<Vec<Paper>, toml::de::Error> {
        TEXTS.iter().map(|text| toml::from_str(text)).collect()
    }

    /// The files of the sources `names`, in any case; without names, all.
    ///
    /// # Errors
    /// A name is none of them, or a file is not as a paper's file is to be.
    pub fn named(names: &[String]) -> Result<Vec<Paper>, PaperError> {
        let all = Paper::all()?;
        let is = |paper: &Paper, name: &String| paper.name.eq_ignore_ascii_case(name);
        let mut unknown = names.iter();
        if let Some(name) = unknown.find(|name| !all.iter().any(|paper| is(paper, name))) {
            let known: Vec<_> = all.iter().map(|paper| paper.name.as_str()).collect();
            return Err(PaperError::Unknown {
                name: name.clone(),
                known: known.join(", "),
            });
        }
        let named = |paper: &Paper| names.is_empty() || names.iter().any(|name| is(paper, name));
        Ok(all.into_iter().filter(named).collect())
    }

    /// The number that is called `what`.
    pub fn number(&self, what: &str) -> Option<&PublishedNumber> {
        self.number.iter().find(|number| number.what == what)
    }
}

const TEXTS: &[&str] = &[
    include_str!("../../profiles/published/hs22.toml"),
    include_str!("../../profiles/published/dpas.toml"),
    include_str!("../../profiles/published/paths.toml"),
    include_str!("../../profiles/published/p4800x.toml"),
    include_str!("../../profiles/published/hs23.toml"),
    include_str!("../../profiles/published/hs25.toml"),
    include_str!("../../profiles/published/hs20.toml"),
    include_str!("../../profiles/published/sheets.toml"),
    include_str!("../../profiles/published/rules.toml"),
];
