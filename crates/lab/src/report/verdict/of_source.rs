//! Verdicts on a source's claims and published numbers.

use super::{Judge, ObservationOutcome, Part, change};
use crate::record::Platform;
use crate::report::data::Estimate;
use crate::report::value::{short, signed};
use crate::report::words;
use crate::statistics::{Interval, SIGNIFICANCE};
use joulio_twin::check::judge::{self, Verdict};
use joulio_twin::published::{Basis, ProfileField, Profiles, PublishedClaim, PublishedNumber};

/// Smallest number of published numbers that are summarised in one sentence.
const TOGETHER: usize = 3;

impl Judge<'_> {
    pub(super) fn claim(&self, what: &str) -> Part {
        let paper = self.answers.paper();
        let claim = paper.and_then(|paper| paper.claim.iter().find(|claim| claim.what == what));
        let (Some(paper), Some(claim)) = (paper, claim) else {
            return Part::none(what, format!("no claim is called '{what}'"));
        };
        let mut estimates = self.answers.estimates(self.data);
        // Only the claim's chains that were run.
        let mut run = claim.clone();
        run.rising = Vec::new();
        let mut missing = None;
        for chain in &claim.rising {
            let one = PublishedClaim {
                rising: vec![chain.clone()],
                ..claim.clone()
            };
            match judge::claim(&one, &mut estimates) {
                Ok(_) => run.rising.push(chain.clone()),
                Err(why) => {
                    missing.get_or_insert(why);
                }
            }
        }
        let pairs = run.rising.iter().map(|chain| chain.len().saturating_sub(1));
        let together = pairs.sum::<usize>().max(1);
        let mut estimates = estimates.among(together);
        let judged = match judge::claim(&run, &mut estimates) {
            Ok(judged) if !run.rising.is_empty() => judged,
            Ok(_) => return Part::none(what, missing.unwrap_or_default()),
            Err(why) => return Part::none(what, why),
        };
        if let (true, Verdict::Fails, Some(why)) = (claim.any, judged.verdict, missing) {
            // A chain that was not run may be the one that rises.
            return Part::none(what, why);
        }
        let found = |run: &str| estimates.found(run, claim.metric).ok();
        let pairs = judged.chains.iter().flat_map(|chain| chain.windows(2));
        let pairs = pairs.filter_map(|pair| {
            let [from, to] = [&pair[0].0, &pair[1].0];
            Some(([from, to], found(from)?, found(to)?))
        });
        let pairs: Vec<([&String; 2], Estimate, Estimate)> = pairs.collect();
        let step = 1.0 + claim.min_percent / 100.0;
        // Bonferroni's correction for the number of pairs.
        let level = SIGNIFICANCE / together as f64;
        let ratios = pairs
            .iter()
            .map(|pair| (pair, pair.1.ratio_of(&pair.2, level)));
        let shown = match (judged.verdict, claim.any) {
            (Verdict::Holds, true) => ratios.max_by(|a, b| a.1.value.total_cmp(&b.1.value)),
            // The pair whose rise is least significant.
            (Verdict::Undecided, _) => ratios.min_by(|a, b| {
                let above = |ratio: Interval| (ratio.value - step) / ratio.half();
                above(a.1).total_cmp(&above(b.1))
            }),
            _ => ratios.min_by(|a, b| a.1.value.total_cmp(&b.1.value)),
        };
        let words = words::metric(claim.metric);
        let because = shown.map_or_else(String::new, |(([from, to], low, high), ratio)| {
            format!(
                "{words}: {} against {}: {} ({} against {})",
                self.run_name(to),
                self.run_name(from),
                change(&ratio),
                short(high.mean.value),
                short(low.mean.value),
            )
        });
        let overlap = pairs.iter().any(|(_, low, high)| low.bands_overlap(high));
        Part {
            what: what.to_owned(),
            outcome: judged.verdict.into(),
            because,
            basis: self.basis(paper.claim_basis(what)),
            off_percent: None,
            known: claim.known.clone(),
            bands_overlap: overlap,
            modelled: pairs
                .iter()
                .any(|(_, low, high)| low.modelled || high.modelled),
        }
    }

    /// Describes a published run: `interrupt, 8 jobs, 128k`.
    fn run_name(&self, run: &str) -> String {
        let mut runs = self
            .answers
            .paper()
            .into_iter()
            .flat_map(|paper| &paper.run);
        let Some(spec) = runs.find(|spec| spec.name == run) else {
            return run.to_owned();
        };
        let runs = || {
            self.answers
                .paper()
                .into_iter()
                .flat_map(|paper| &paper.run)
        };
        let mut words = Vec::new();
        if runs().any(|other| other.device != spec.device) {
            words.push(spec.device.clone());
        }
        if runs().any(|other| other.policy != spec.policy) {
            words.push(spec.policy.to_string());
        }
        words.extend(spec.scheduler.clone());
        match spec.read_percent {
            100 => {}
            0 => words.push("writes".into()),
            percent => words.push(format!("{percent} % reads")),
        }
        let bs = spec.bs.to_string();
        if bs != "4k" {
            words.push(bs);
        }
        if spec.iodepth > 1 {
            words.push(format!("depth {}", spec.iodepth));
        }
        words.push(match spec.numjobs {
            1 => "1 job".into(),
            jobs => format!("{jobs} jobs"),
        });
        words.join(", ")
    }

    pub(super) fn number(&self, what: &str) -> Part {
        let number = self.answers.paper().and_then(|paper| paper.number(what));
        let Some(number) = number else {
            return Part::none(what, format!("no number is called '{what}'"));
        };
        match self.answers.number(number, self.data) {
            Err(why) => Part::none(what, why),
            Ok((judged, modelled)) => Part {
                what: what.to_owned(),
                outcome: judged.within(tolerance(&judged)).into(),
                because: format!(
                    "{what}: published {}, here {} ({} %)",
                    printed(number),
                    with_noise(&judged.estimate),
                    signed(judged.error * 100.0),
                ),
                basis: self.basis(number.basis()),
                off_percent: Some(judged.error * 100.0),
                known: number.known.clone(),
                bands_overlap: false,
                modelled,
            },
        }
    }

    /// Judges a published number that is an input of a device's profile.
    pub(super) fn input(&self, what: &str) -> Part {
        let mut inputs = self
            .answers
            .paper()
            .into_iter()
            .flat_map(|paper| &paper.input);
        let Some(input) = inputs.find(|input| input.what == what) else {
            return Part::none(what, format!("no input is called '{what}'"));
        };
        if !matches!(self.data.platform, Platform::Twin | Platform::Emulated) {
            return Part::none(what, "this run did not read it from the device".into());
        }
        let field = input
            .field
            .parse::<ProfileField>()
            .map_err(|error| error.to_string());
        let held = field.and_then(|field| {
            let figure = Profiles::default().figure(&field);
            figure.map_err(|error| error.to_string())
        });
        match held {
            Err(why) => Part::none(what, why),
            Ok(held) => Part {
                what: what.to_owned(),
                outcome: match (held.value - input.value).abs() <= 1e-9 * input.value.abs() {
                    true => ObservationOutcome::Holds,
                    false => ObservationOutcome::Differs,
                },
                because: format!(
                    "{what}: published {}, in the device's profile {}",
                    short(input.value),
                    short(held.value)
                ),
                basis: self.basis(Basis::Implied),
                off_percent: Some((held.value / input.value - 1.0) * 100.0),
                known: None,
                bands_overlap: false,
                modelled: false,
            },
        }
    }
}

/// Returns a sentence on published numbers: how many are reproduced, and the one with the largest error among those
/// with `outcome`, which is the outcome of all. `None`: they are few, so that each has its own sentence.
pub(super) fn numbers_together(parts: &[Part], outcome: ObservationOutcome) -> Option<String> {
    let numbers = parts
        .iter()
        .filter(|part| part.outcome != ObservationOutcome::NoData);
    let numbers = numbers.filter_map(|part| Some((part, part.off_percent?.abs())));
    let numbers: Vec<(&Part, f64)> = numbers.collect();
    let count = |outcome| {
        numbers
            .iter()
            .filter(|(part, _)| part.outcome == outcome)
            .count()
    };
    if numbers.len() < TOGETHER {
        return None;
    }
    let mut text = format!(
        "{} of {} published numbers are reproduced",
        count(ObservationOutcome::Holds),
        numbers.len()
    );
    let deciding = numbers.iter().filter(|(part, _)| part.outcome == outcome);
    let furthest = deciding.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((part, off)) = furthest {
        text += &match outcome {
            ObservationOutcome::Holds if *off < 0.05 => ", none is off".to_owned(),
            ObservationOutcome::Undecided => format!("; too noisy to decide: {}", part.because),
            _ => format!("; furthest off: {}", part.because),
        };
    }
    Some(text)
}

/// Formats a value with its noise, if there is any.
fn with_noise(estimate: &judge::JudgedValue) -> String {
    match estimate.half {
        half if half.is_infinite() => format!("{} once", short(estimate.value)),
        half if half > 0.0 => format!("{} ± {}", short(estimate.value), short(half)),
        _ => short(estimate.value),
    }
}

/// Returns the texts of `all` that match `patterns`, and each pattern that matches none.
pub(super) fn named<'a>(patterns: &[String], all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let all: Vec<&String> = all.collect();
    let mut found = Vec::new();
    for pattern in patterns {
        let matching = all.iter().filter(|what| matches(pattern, what));
        let before = found.len();
        found.extend(matching.map(|what| (*what).clone()));
        if found.len() == before {
            found.push(pattern.clone());
        }
    }
    found
}

/// Returns true if `text` matches `pattern`, in which one `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => {
            let rest = text.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
    }
}

/// Returns the largest relative error with which a number counts as reproduced: the one that is allowed for it in
/// virtual time, or the usual one if that is larger.
pub(in crate::report) fn tolerance(judged: &judge::JudgedNumber) -> f64 {
    judged.allowed.unwrap_or(judge::USUAL).max(judge::USUAL)
}

/// Formats a published value or range.
fn printed(number: &PublishedNumber) -> String {
    match number.to {
        Some(to) => format!("{} to {}", short(number.value), short(to)),
        None => short(number.value),
    }
}
