//! Findings: five sentences on a report, each with its certainty.

use super::assemble::{LabReport, SetReport};
use super::outcome::ObservationOutcome;
use super::verdict::{FittedParts, Observed};
use super::words;
use crate::record::Platform;
use serde::Serialize;

/// A sentence at the top of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The sentence.
    pub sentence: String,
    /// Outcome of the observation that the finding is about.
    pub outcome: Option<ObservationOutcome>,
    /// Comparisons of that observation that a profile's figure was fitted to.
    pub fitted: FittedParts,
    /// Certainty of the finding, in words.
    pub certainty: String,
}

impl Finding {
    /// Returns a finding that is about no observation.
    fn of_all(sentence: String, certainty: &str) -> Finding {
        Finding {
            sentence,
            outcome: None,
            fitted: FittedParts::default(),
            certainty: certainty.to_owned(),
        }
    }

    /// Returns the outcome of the observation in words, and whether a profile was fitted to what holds; nothing if the
    /// finding is about no observation.
    pub fn verdict(&self) -> String {
        let verdict = |outcome| words::verdict(outcome, self.fitted);
        self.outcome.map(verdict).unwrap_or_default()
    }
}

/// Number of sentences.
const COUNT: usize = 5;

/// Returns the five sentences of `report`: how many of the sources' observations and numbers are reproduced, the most
/// important observations, and the data that the report is based on.
pub fn findings(report: &LabReport) -> Vec<Finding> {
    let sets: Vec<&SetReport> = report.experiments.iter().flat_map(|e| &e.sets).collect();
    if sets.is_empty() {
        let sentence = "Nothing was found: there are no runs.";
        return vec![Finding::of_all(sentence.into(), "no record was read")];
    }
    let mut found = vec![overall(&sets)];
    let mut observed: Vec<&Observed> = sets.iter().flat_map(|set| &set.observed).collect();
    observed.retain(|one| one.outcome != ObservationOutcome::NoData);
    observed.sort_by_key(|one| (one.headline.is_none(), one.headline, one.outcome));
    let room = COUNT - 2;
    let mut said: Vec<&str> = Vec::new();
    for one in observed {
        if said.len() < room && !said.contains(&one.text.as_str()) {
            said.push(&one.text);
            found.push(Finding {
                sentence: format!("{} {}", one.text, sentence(&one.because)),
                outcome: Some(one.outcome),
                fitted: one.fitted,
                certainty: one.certainty.clone(),
            });
        }
    }
    found.push(basis(&sets));
    found
}

/// Makes a sentence of `words`.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let end = if words.ends_with('.') { "" } else { "." };
    let capital: String = first.to_uppercase().chain(letters).collect();
    format!("{capital}{end}")
}

fn overall(sets: &[&SetReport]) -> Finding {
    let observed = || sets.iter().flat_map(|set| &set.observed);
    let count =
        |outcome: ObservationOutcome| observed().filter(|one| one.outcome == outcome).count();
    let numbers = || sets.iter().flat_map(|set| &set.numbers);
    let all = observed().count();
    let mut sentence = match all {
        0 => "No observation is named.".to_owned(),
        _ => {
            let counts = [
                (count(ObservationOutcome::Holds), "hold here", "holds here"),
                (
                    count(ObservationOutcome::Differs),
                    "do not hold",
                    "does not hold",
                ),
                (
                    count(ObservationOutcome::Undecided),
                    "are undecided",
                    "is undecided",
                ),
                (
                    count(ObservationOutcome::NoData),
                    "were not run",
                    "was not run",
                ),
            ];
            let parts = counts.iter().filter(|(n, ..)| *n > 0);
            let parts =
                parts.map(|(n, many, one)| format!("{n} {}", if *n == 1 { one } else { many }));
            format!(
                "Of {all} observations {}.",
                parts.collect::<Vec<_>>().join(", ")
            )
        }
    };
    let compared = numbers().count();
    if compared > 0 {
        let met = numbers()
            .filter(|line| line.outcome == ObservationOutcome::Holds)
            .count();
        sentence += &format!(" Of {compared} published numbers {met} are reproduced.");
    }
    Finding::of_all(sentence, "each observation by its own test, at 95 %")
}

fn basis(sets: &[&SetReport]) -> Finding {
    // Sets without runs are not mentioned, unless all are.
    let any = sets.iter().any(|set| set.runs > 0);
    let counts = sets.iter().filter(|set| set.runs > 0 || !any);
    let mut platforms: Vec<Platform> = counts.map(|set| set.platform).collect();
    platforms.sort();
    platforms.dedup();
    let how: Vec<&str> = platforms.iter().map(|p| words::platform(*p)).collect();
    let runs: usize = sets.iter().map(|set| set.runs).sum();
    let apart = |unavailable: bool| -> usize {
        let all = sets.iter().flat_map(|set| &set.apart);
        let these = all.filter(|apart| apart.unavailable == unavailable);
        these.map(|apart| apart.runs).sum()
    };
    let shown = || sets.iter().flat_map(|set| &set.status);
    let (all, data) = (
        shown().count(),
        shown().filter(|status| status.data).count(),
    );
    let certainty = match platforms.as_slice() {
        [Platform::Twin] => "nothing was measured: no surer than the profiles",
        [Platform::Real] => "measured",
        _ => "each figure says what it rests on",
    };
    Finding::of_all(
        format!(
            "All of this rests on {runs} runs ({}){}{}; {data} of {all} tables and figures have data.",
            how.join(" and "),
            match apart(false) {
                0 => String::new(),
                apart => format!(", {apart} more were kept apart as not what they were to be"),
            },
            match apart(true) {
                0 => String::new(),
                unavailable => format!(", {unavailable} unavailable here"),
            }
        ),
        certainty,
    )
}
