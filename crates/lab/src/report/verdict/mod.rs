//! Verdicts on the observations of a source.

mod of_records;
mod of_source;

use super::answers::Answers;
use super::data::ReportData;
use super::outcome::ObservationOutcome;
use super::spec::ObservationSpec;
use super::value::{ends, percent, signed};
use crate::record::Platform;
use crate::statistics::Interval;
use joulio_twin::published::Basis;
use of_source::{named, numbers_together};
use serde::Serialize;

pub(super) use of_source::tolerance;

/// An observation with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Observed {
    /// Name in the source.
    pub id: String,
    /// The observation in a sentence.
    pub text: String,
    /// Ids of the tables and figures that show it.
    pub shown: Vec<String>,
    /// Rank among the sentences at the top of the report.
    pub headline: Option<u8>,
    /// Outcome of the observation.
    pub outcome: ObservationOutcome,
    /// Comparisons that a profile's figure was fitted to.
    pub fitted: FittedParts,
    /// Reason, with the figures that decide.
    pub because: String,
    /// Certainty of the outcome, in words.
    pub certainty: String,
    /// Parts of the observation, each with its outcome.
    pub parts: Vec<Part>,
}

/// One comparison of an observation.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Comparison in words.
    pub what: String,
    /// Outcome of the part.
    pub outcome: ObservationOutcome,
    /// Figures that decide.
    pub because: String,
    /// Basis of the agreement with a claim or a number of the source; only in virtual time.
    pub basis: Option<Basis>,
    /// Percent by which the result differs from a published number.
    pub off_percent: Option<f64>,
    /// Reason why it is known not to be reproduced in virtual time.
    pub known: Option<String>,
    /// True if the model's bands of the compared values overlap.
    pub bands_overlap: bool,
    /// True if the compared values are modelled.
    pub modelled: bool,
}

/// Number of an observation's comparisons that a profile's figure was fitted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FittedParts {
    /// Comparisons that a figure was fitted to; 0 except in virtual time.
    pub fitted: usize,
    /// All comparisons that were made.
    pub of: usize,
}

pub(super) struct Judge<'a> {
    pub data: &'a ReportData,
    pub answers: &'a Answers,
}

impl Judge<'_> {
    /// Judges the observation `spec` from the records.
    pub fn observe(&self, spec: &ObservationSpec) -> Observed {
        let mut parts = Vec::new();
        let paper = self.answers.paper();
        let claims = paper
            .into_iter()
            .flat_map(|paper| &paper.claim)
            .map(|claim| &claim.what);
        let numbers = paper
            .into_iter()
            .flat_map(|paper| &paper.number)
            .map(|number| &number.what);
        parts.extend(
            named(&spec.claims, claims)
                .into_iter()
                .map(|what| self.claim(&what)),
        );
        parts.extend(
            named(&spec.numbers, numbers)
                .into_iter()
                .map(|what| self.number(&what)),
        );
        parts.extend(spec.inputs.iter().map(|what| self.input(what)));
        parts.extend(spec.rising.iter().map(|rising| self.rising(rising)));
        parts.extend(spec.within.iter().map(|within| self.within(within)));
        let outcome = outcome(&parts);
        Observed {
            id: spec.id.clone(),
            text: spec.text.clone(),
            shown: spec.shown.clone(),
            headline: spec.headline,
            outcome,
            fitted: FittedParts::among(&parts),
            because: self.because(spec, outcome, &parts),
            certainty: self.certainty(outcome, &parts),
            parts,
        }
    }

    /// Returns `basis` in virtual time: elsewhere no figure of a profile makes a result.
    fn basis(&self, basis: Basis) -> Option<Basis> {
        (self.data.platform == Platform::Twin).then_some(basis)
    }

    fn because(
        &self,
        spec: &ObservationSpec,
        outcome: ObservationOutcome,
        parts: &[Part],
    ) -> String {
        let of =
            |outcome: ObservationOutcome| parts.iter().filter(move |part| part.outcome == outcome);
        let mut because: Vec<String> = Vec::new();
        match outcome {
            ObservationOutcome::NoData => match &spec.needs {
                Some(needs) => because.push(format!("it needs {needs}")),
                None => because.extend(of(outcome).take(1).map(|part| part.because.clone())),
            },
            _ => {
                because.extend(numbers_together(parts, outcome));
                let words =
                    of(outcome).filter(|part| because.is_empty() || part.off_percent.is_none());
                let words: Vec<&Part> = words.collect();
                because.extend(words.iter().take(2).map(|part| part.because.clone()));
                match words.len() {
                    0..=2 => {}
                    3 => because.push("and 1 more like it".into()),
                    more => because.push(format!("and {} more like them", more - 2)),
                }
            }
        }
        if outcome == ObservationOutcome::Undecided {
            because.push(format!("undecided after {}", self.repeated()));
        }
        if outcome != ObservationOutcome::NoData {
            let missing = of(ObservationOutcome::NoData).count();
            if missing > 0 {
                let verb = if missing == 1 { "was" } else { "were" };
                because.push(format!(
                    "{missing} of its {} comparisons {verb} not run",
                    parts.len()
                ));
            }
        }
        if let (ObservationOutcome::Differs | ObservationOutcome::Undecided, Platform::Twin) =
            (outcome, self.data.platform)
        {
            let of_parts = of(outcome).filter_map(|part| part.known.as_ref());
            let known: Vec<&String> = match &spec.twin_differs {
                Some(why) => vec![why],
                None => of_parts.collect(),
            };
            because.extend(
                known
                    .iter()
                    .take(2)
                    .map(|why| format!("a known limit of the twin: {why}")),
            );
        }
        because.join("; ")
    }

    /// Describes how often each point was run: `3 runs per point`.
    fn repeated(&self) -> String {
        let runs = self.data.cells().map(|cell| cell.runs.len());
        let (least, most) = runs
            .filter(|n| *n > 0)
            .fold((usize::MAX, 0), |(low, high), n| (low.min(n), high.max(n)));
        match (least, most) {
            (1, 1) => "one run per point".into(),
            (a, b) if a == b => format!("{b} runs per point"),
            (a, b) => format!("{a} to {b} runs per point"),
        }
    }

    fn certainty(&self, outcome: ObservationOutcome, parts: &[Part]) -> String {
        if outcome == ObservationOutcome::NoData {
            return "nothing was run".into();
        }
        let compared = parts
            .iter()
            .filter(|part| part.outcome != ObservationOutcome::NoData)
            .count();
        let repeated = self.repeated();
        let modelled = parts.iter().any(|part| part.modelled);
        let energy = match (self.data.platform, modelled) {
            (Platform::Emulated | Platform::Real, true) => ", energy by a model",
            _ => "",
        };
        let basis = match self.data.platform {
            Platform::Twin => "modelled, no surer than its profiles",
            Platform::Emulated => "measured on an emulated device",
            Platform::Guest => "counted in a guest, whose times say nothing about a machine",
            Platform::Real => "measured",
        };
        let compared = match compared {
            1 => "1 comparison".to_owned(),
            n => format!("{n} comparisons"),
        };
        let bands = match parts.iter().any(|part| part.bands_overlap) {
            true => "; the model's bands overlap: another machine of this kind may differ",
            false => "",
        };
        format!("{basis}{energy}; {repeated}, {compared}, at 95 %{bands}")
    }
}

impl FittedParts {
    fn among(parts: &[Part]) -> FittedParts {
        let made = || {
            let made = parts.iter();
            made.filter(|part| part.outcome != ObservationOutcome::NoData)
        };
        let fitted = made().filter(|part| part.basis == Some(Basis::Fitted));
        FittedParts {
            fitted: fitted.count(),
            of: made().count(),
        }
    }

    /// Returns the words that follow a verdict of agreement: `holds here, fitted`, or `holds here, 1 of 4 fitted`.
    pub fn mark(self) -> String {
        match self.fitted {
            0 => String::new(),
            all if all == self.of => Basis::Fitted.mark().to_owned(),
            some => format!(", {some} of {} fitted", self.of),
        }
    }
}

impl Part {
    fn none(what: &str, because: String) -> Part {
        Part {
            what: what.to_owned(),
            outcome: ObservationOutcome::NoData,
            because,
            basis: None,
            off_percent: None,
            known: None,
            bands_overlap: false,
            modelled: false,
        }
    }
}

/// Formats the change that `ratio` stands for, with the ends of its interval, in percent: `+0.7 (-0.9 to +2.3) %`.
fn change(ratio: &Interval) -> String {
    let (value, low, high) = (
        percent(ratio.value),
        percent(ratio.low),
        percent(ratio.high),
    );
    match low.is_infinite() {
        true => format!("{} % (once)", signed(value)),
        false => format!("{}{} %", signed(value), ends(value, Some((low, high)))),
    }
}

/// Returns the outcome of an observation from the outcomes of its parts.
fn outcome(parts: &[Part]) -> ObservationOutcome {
    let all = parts.iter().map(|part| part.outcome);
    all.min().unwrap_or(ObservationOutcome::NoData)
}
