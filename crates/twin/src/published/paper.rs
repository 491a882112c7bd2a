//! The files of published numbers.

use super::RunSpec;
use joulio_job::Metric;
use serde::{Deserialize, Serialize};

/// A source, with the numbers and claims that it printed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Short name of the source in tables.
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
    /// Savings for which sources give different values, and the numbers that depend on them.
    #[serde(default)]
    pub saving: Vec<Saving>,
    /// Numbers that profiles contain unchanged.
    #[serde(default)]
    pub input: Vec<Input>,
    /// Pairs of runs on which the break-even rule is tested.
    #[serde(default)]
    pub break_even: Vec<BreakEvenPair>,
    /// Published limits that a run of the twin exceeds, because the source's numbers contradict each other.
    #[serde(default)]
    pub conflict: Vec<Conflict>,
    /// Figures of profiles that are fitted to the source's numbers.
    #[serde(default)]
    pub fit: Vec<Fitted>,
    /// Runs that are withheld from a fit, which then has to predict their numbers.
    #[serde(default)]
    pub hold_out: Vec<HoldOut>,
    /// Numbers and claims that the twin cannot model.
    #[serde(default)]
    pub silent: Vec<Silent>,
}

/// A published number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedNumber {
    /// Description in a few words, unique in its file.
    pub what: String,
    /// Runs that the number is about: one, or several whose mean it is.
    pub run: Vec<String>,
    /// Metric of the runs.
    pub metric: Metric,
    /// The printed number, or the lower end of a printed range.
    pub value: f64,
    /// Upper end of a printed range.
    pub to: Option<f64>,
    /// True if a profile's figure was fitted to the number.
    #[serde(default)]
    pub fitted: bool,
    /// Sources that imply the number, so that it does not test the twin: other numbers of the file, or fields of
    /// profiles that were taken from this number or decided by it.
    #[serde(default)]
    pub implied_by: Vec<String>,
    /// Runs to subtract from `run`, one for each: the number is the difference.
    #[serde(default)]
    pub minus: Vec<String>,
    /// Runs that `run` exceeds, one for each: the number is the percentage by which it does.
    #[serde(default)]
    pub over: Vec<String>,
    /// Name of a group of numbers whose order is compared with the twin's.
    pub order: Option<String>,
    /// A figure with a band, such as `machine.core_watts.pause_c02`: the report also has the twin's number at both
    /// ends of the band.
    pub band: Option<String>,
    /// Reason why the number is known not to reproduce.
    pub known: Option<String>,
}

impl PublishedNumber {
    /// Returns the reason for which agreement is expected.
    pub fn basis(&self) -> Basis {
        match (self.fitted, self.implied_by.is_empty()) {
            (true, _) => Basis::Fitted,
            (_, false) => Basis::Implied,
            _ => Basis::Free,
        }
    }
}

/// Reason for which the twin should agree with a number or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A figure of a profile was chosen so that the number is reproduced or the claim holds.
    Fitted,
    /// The number follows from fitted ones, decided a figure that is not searched for, or is itself a figure of a
    /// profile.
    Implied,
    /// No figure was chosen for it: the number or the claim is a prediction.
    Free,
}

impl Basis {
    /// Returns the words that follow a verdict of agreement: `holds, fitted`.
    pub fn mark(self) -> &'static str {
        match self {
            Basis::Fitted => ", fitted",
            Basis::Implied => ", implied",
            Basis::Free => "",
        }
    }
}

/// A claim without a number: in each of the chains the metric rises from run to run.
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

/// A figure that is lower than another by a saving, for which sources give different values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saving {
    /// Description of the saving.
    pub what: String,
    /// The profile's field, as `machine:xeon-8558.core_watts.pause_c02`.
    pub field: String,
    /// Field that the saving is subtracted from.
    pub of: String,
    /// Savings to try, in percent.
    pub percent: Vec<f64>,
    /// Gains of the same file that depend on the saving, by their `what`.
    pub numbers: Vec<String>,
}

/// A published number that a profile contains unchanged.
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
    /// Name of the run that takes less CPU.
    pub b: String,
    /// True if the rule should hold: it does in a closed loop, and not in an open one.
    pub holds: bool,
}

/// A published limit that a run of the twin exceeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// Description of the contradiction.
    pub what: String,
    /// The run.
    pub run: String,
    /// Metric of the run.
    pub metric: Metric,
    /// Limit that the metric cannot exceed.
    pub limit: f64,
}

/// A fitted figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// The profile's field, as `machine:xeon-6230.costs.wake_ns`.
    pub field: String,
    /// Numbers of the same file that the figure is fitted to, by their `what`; for a figure that is set by hand,
    /// also claims.
    pub to: Vec<String>,
    /// Numbers of the same file that determine the figure if all of `to` are withheld.
    #[serde(default)]
    pub instead: Vec<String>,
    /// Resolution of the search, in the figure's unit; none for a figure that is set by hand.
    #[serde(default)]
    pub step: f64,
    /// Reason why the figure is set by hand so that the numbers reproduce, and is not searched for.
    pub by_hand: Option<String>,
}

/// Runs whose numbers are withheld from a fit and predicted by it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldOut {
    /// Description of the withheld numbers, and of the numbers used to predict them.
    pub what: String,
    /// Runs by name: all of their numbers are withheld.
    pub runs: Vec<String>,
    /// Machine whose `[costs]` replace those of the runs' machine before the fit, as if they had not been measured.
    pub costs_of: Option<String>,
    /// Fields of these costs that were taken from the withheld numbers, and so begin in the middle of their bands.
    #[serde(default)]
    pub unknown: Vec<String>,
}

/// A number or a claim that the twin cannot model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silent {
    /// The number or the claim.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Errors in reading sources of published numbers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PaperError {
    /// No source has the name.
    #[error("unknown source '{name}': known are {known}")]
    Unknown {
        /// Name that was given.
        name: String,
        /// Names of all sources.
        known: String,
    },
    /// A file has not the form of a source's file.
    #[error(transparent)]
    File(#[from] toml::de::Error),
}

impl Paper {
    /// Returns the sources that come with the twin.
    ///
    /// # Errors
    /// A file has not the form of a source's file.
    pub fn all() -> Result<Vec<Paper>, toml::de::Error> {
        TEXTS.iter().map(|text| toml::from_str(text)).collect()
    }

    /// Returns the sources called `names`, in any case; without names, all.
    ///
    /// # Errors
    /// No source has one of the names, or a file has not the form of a source's file.
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

    /// Returns the reason for which the claim called `what` is expected to hold.
    pub fn claim_basis(&self, what: &str) -> Basis {
        let mut fitted_to = self.fit.iter().flat_map(|fit| &fit.to);
        match fitted_to.any(|one| one == what) {
            true => Basis::Fitted,
            false => Basis::Free,
        }
    }

    /// Returns the number that is called `what`.
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
