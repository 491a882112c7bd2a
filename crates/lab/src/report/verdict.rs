//! Observations of a source, and whether they hold here.

use super::answers::{Answers, Step};
use super::data::{Cell, Data, Estimate};
use super::figure::name;
use super::spec::{Cells, ObservationSpec, Rising, Within};
use super::value::{short, signed};
use super::words;
use crate::record::Platform;
use crate::statistics::Correction;
use joulio_twin::check::judge::{self, Verdict};
use joulio_twin::published::{ProfileField, Profiles, PublishedClaim, PublishedNumber};
use serde::Serialize;
use std::collections::BTreeMap;

/// What becomes of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds here.
    Holds,
    /// It does not hold here.
    Differs,
    /// What was run is not sure enough to tell.
    Untold,
    /// Nothing was run that could tell.
    NoData,
}

/// An observation and what becomes of it.
#[derive(Clone, Debug, Serialize)]
pub struct Observed {
    /// Name in the source.
    pub id: String,
    /// The observation in a sentence.
    pub text: String,
    /// Ids of the tables and figures that show it.
    pub shown: Vec<String>,
    /// Rank among the sentences of the first screen.
    pub headline: Option<u8>,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Why, with the figures that decide.
    pub because: String,
    /// How sure that is.
    pub certainty: String,
    /// What each of its parts says.
    pub parts: Vec<Part>,
}

/// One comparison of an observation.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// What is compared.
    pub what: String,
    /// What becomes of it.
    pub outcome: Outcome,
    /// The figures that decide.
    pub because: String,
    /// Percent by which it is off, of a printed number.
    pub off_percent: Option<f64>,
}

/// Two neighbours along a factor, in one combination of the others.
struct Pair<'a> {
    group: usize,
    from: &'a (String, Estimate),
    to: &'a (String, Estimate),
}

impl Pair<'_> {
    /// Fraction by which the second is larger.
    fn change(&self) -> f64 {
        self.to.1.mean.value / self.from.1.mean.value - 1.0
    }
}

pub(super) struct Judge<'a> {
    pub data: &'a Data,
    pub answers: &'a Answers,
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Holds => Outcome::Holds,
            Verdict::Fails => Outcome::Differs,
            Verdict::Untold => Outcome::Untold,
        }
    }
}

impl Judge<'_> {
    /// What becomes of `spec` here.
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
            because: self.because(spec, outcome, &parts),
            certainty: self.certainty(outcome, &parts),
            parts,
        }
    }

    fn because(&self, spec: &ObservationSpec, outcome: Outcome, parts: &[Part]) -> String {
        let of = |outcome: Outcome| parts.iter().filter(move |part| part.outcome == outcome);
        let mut because: Vec<String> = Vec::new();
        match outcome {
            Outcome::NoData => match &spec.needs {
                Some(needs) => because.push(format!("it needs {needs}")),
                None => because.extend(of(outcome).take(1).map(|part| part.because.clone())),
            },
            _ => {
                because.extend(numbers_together(parts));
                let words =
                    of(outcome).filter(|part| because.is_empty() || part.off_percent.is_none());
                let words: Vec<&Part> = words.collect();
                because.extend(words.iter().take(2).map(|part| part.because.clone()));
                match words.len() {
                    0..=2 => {}
                    3 => because.push("and 1 more alike".into()),
                    more => because.push(format!("and {} more alike", more - 2)),
                }
            }
        }
        if outcome != Outcome::NoData {
            let missing = of(Outcome::NoData).count();
            if missing > 0 {
                because.push(format!("{missing} of {} parts were not run", parts.len()));
            }
        }
        if let (Outcome::Differs | Outcome::Untold, Platform::Twin, Some(why)) =
            (outcome, self.data.platform, &spec.twin_differs)
        {
            because.push(format!("known of the twin: {why}"));
        }
        because.join("; ")
    }

    fn certainty(&self, outcome: Outcome, parts: &[Part]) -> String {
        if outcome == Outcome::NoData {
            return "nothing was run".into();
        }
        let compared = parts
            .iter()
            .filter(|part| part.outcome != Outcome::NoData)
            .count();
        let runs = self.data.cells().map(|cell| cell.runs.len());
        let (least, most) = runs
            .filter(|n| *n > 0)
            .fold((usize::MAX, 0), |(low, high), n| (low.min(n), high.max(n)));
        let repeated = match (least, most) {
            (1, 1) => "one run of each".into(),
            (a, b) if a == b => format!("{b} runs of each"),
            (a, b) => format!("{a} to {b} runs of each"),
        };
        let basis = match self.data.platform {
            Platform::Twin => "as sure as the profiles are: modelled",
            Platform::Emulated => {
                "measured on an emulated device, energy by a model unless a meter is named"
            }
            Platform::Guest => "counted in a guest, times are none of a machine's",
            Platform::Real => "measured",
        };
        let compared = match compared {
            1 => "1 comparison".to_owned(),
            n => format!("{n} comparisons"),
        };
        format!("{basis}; {repeated}, {compared}, at 95 %")
    }

    fn claim(&self, what: &str) -> Part {
        let paper = self.answers.paper();
        let claim = paper.and_then(|paper| paper.claim.iter().find(|claim| claim.what == what));
        let Some(claim) = claim else {
            return Part::none(what, format!("no claim is called '{what}'"));
        };
        let mut estimates = self.answers.estimates(self.data);
        // Of its chains those that were run.
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
                Err(why) => missing = Some(why),
            }
        }
        let pairs = run.rising.iter().map(|chain| chain.len().saturating_sub(1));
        let mut estimates = estimates.among(pairs.sum());
        let judged = match judge::claim(&run, &mut estimates) {
            Ok(judged) if !run.rising.is_empty() => judged,
            Ok(_) => return Part::none(what, missing.unwrap_or_default()),
            Err(why) => return Part::none(what, why),
        };
        let changes = judged.chains.iter().flat_map(|chain| chain.windows(2));
        let change = |pair: &[(String, judge::Estimate)]| pair[1].1.value / pair[0].1.value - 1.0;
        let shown = match (judged.verdict, claim.any) {
            (Verdict::Holds, true) => changes.max_by(|a, b| change(a).total_cmp(&change(b))),
            _ => changes.min_by(|a, b| change(a).total_cmp(&change(b))),
        };
        let words = words::metric(claim.metric);
        let because = shown.map_or_else(String::new, |pair| {
            format!(
                "{words}: {} ({}) over {} ({}), {} %",
                short(pair[1].1.value),
                self.run_name(&pair[1].0),
                short(pair[0].1.value),
                self.run_name(&pair[0].0),
                signed(change(pair) * 100.0),
            )
        });
        Part {
            what: what.to_owned(),
            outcome: judged.verdict.into(),
            because,
            off_percent: None,
        }
    }

    /// A published run by what it is: `interrupt, 8 jobs, 128k`.
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

    fn number(&self, what: &str) -> Part {
        let number = self.answers.paper().and_then(|paper| paper.number(what));
        let Some(number) = number else {
            return Part::none(what, format!("no number is called '{what}'"));
        };
        match judge::number(number, &mut self.answers.estimates(self.data)) {
            Err(why) => Part::none(what, why),
            Ok(judged) => Part {
                what: what.to_owned(),
                outcome: judged.within(tolerance(&judged)).into(),
                because: format!(
                    "{what}: printed {}, here {} ({} %)",
                    printed(number),
                    short(judged.estimate.value),
                    signed(judged.error * 100.0),
                ),
                off_percent: Some(judged.error * 100.0),
            },
        }
    }

    /// A number that the profile of the device holds as it was printed.
    fn input(&self, what: &str) -> Part {
        let mut inputs = self
            .answers
            .paper()
            .into_iter()
            .flat_map(|paper| &paper.input);
        let Some(input) = inputs.find(|input| input.what == what) else {
            return Part::none(what, format!("no input is called '{what}'"));
        };
        if !matches!(self.data.platform, Platform::Twin | Platform::Emulated) {
            return Part::none(what, "the device itself was not asked".into());
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
                    true => Outcome::Holds,
                    false => Outcome::Differs,
                },
                because: format!(
                    "{what}: printed {}, in the device's profile {}",
                    short(input.value),
                    short(held.value)
                ),
                off_percent: Some((held.value / input.value - 1.0) * 100.0),
            },
        }
    }

    fn rising(&self, rising: &Rising) -> Part {
        let words = match (rising.metric, &rising.count) {
            (Some(metric), _) => words::metric(metric),
            (None, count) => count.clone().unwrap_or_default(),
        };
        let what = format!("{words} rises along {}", rising.order.join(", "));
        let groups = self.groups(rising);
        let step = 1.0 + rising.min_percent / 100.0;
        let pairs = groups.iter().enumerate().flat_map(|(group, (_, chain))| {
            let pairs = chain.windows(2);
            pairs.map(move |pair| Pair {
                group,
                from: &pair[0],
                to: &pair[1],
            })
        });
        let pairs: Vec<Pair<'_>> = pairs.collect();
        if pairs.is_empty() {
            return Part::none(
                &what,
                format!("no two of {} were run", rising.order.join(", ")),
            );
        }
        let steps = pairs
            .iter()
            .map(|pair| Step::of(&pair.from.1, &pair.to.1, step));
        let steps: Vec<Step> = steps.collect();
        let p: Vec<f64> = steps.iter().map(|step| step.p).collect();
        let p = Correction::Holm.apply(&p);
        let mut verdicts: BTreeMap<usize, Vec<Verdict>> = BTreeMap::new();
        for (pair, (step, p)) in pairs.iter().zip(steps.iter().zip(p)) {
            verdicts
                .entry(pair.group)
                .or_default()
                .push(step.verdict(p));
        }
        let by_group: Vec<(usize, Verdict)> = verdicts
            .into_iter()
            .map(|(group, all)| (group, Verdict::all(all)))
            .collect();
        let verdict = in_cells(rising.cells, by_group.iter().map(|(_, verdict)| *verdict));
        let by_change = |a: &&Pair<'_>, b: &&Pair<'_>| a.change().total_cmp(&b.change());
        let shown = match (verdict, rising.cells) {
            (Verdict::Holds, Cells::Any) => pairs.iter().max_by(by_change),
            _ => pairs.iter().min_by(by_change),
        };
        let extreme = shown.map_or_else(String::new, |pair| {
            let at = &groups[pair.group].0;
            let at = match at.is_empty() {
                true => String::new(),
                false => format!(" at {at}"),
            };
            let percent = signed(pair.change() * 100.0);
            format!("from {} to {} {percent} %{at}", pair.from.0, pair.to.0)
        });
        Part {
            what,
            outcome: verdict.into(),
            because: format!("{words}: {}; {extreme}", tally(&by_group)),
            off_percent: None,
        }
    }

    /// Chains of estimates along the factor, by the values of the others.
    fn groups(&self, rising: &Rising) -> Vec<(String, Vec<(String, Estimate)>)> {
        let cells = self.data.select(&rising.sweep, &rising.filter);
        let mut others: Vec<String> = Vec::new();
        for cell in &cells {
            let factors = cell.point.keys().filter(|factor| **factor != rising.along);
            for factor in factors {
                let varied = Data::values(&cells, factor).len() > 1;
                if varied && !others.contains(factor) {
                    others.push(factor.clone());
                }
            }
        }
        let mut groups: BTreeMap<String, Vec<&Cell>> = BTreeMap::new();
        for cell in &cells {
            let values = others.iter().filter_map(|factor| {
                Some(format!(
                    "{} {}",
                    words::factor(factor),
                    cell.factor(factor)?
                ))
            });
            let at = values.collect::<Vec<_>>().join(", ");
            groups.entry(at).or_default().push(cell);
        }
        let chain = |cells: Vec<&Cell>| -> Vec<(String, Estimate)> {
            let along = std::slice::from_ref(&rising.along);
            let at = |value: &String| {
                let mut cells = cells.iter();
                let cell = cells.find(|cell| name(cell, along).as_ref() == Some(value))?;
                Some((
                    value.clone(),
                    cell.estimate_of(rising.metric, rising.count.as_deref())?,
                ))
            };
            rising.order.iter().filter_map(at).collect()
        };
        groups
            .into_iter()
            .map(|(at, cells)| (at, chain(cells)))
            .collect()
    }

    fn within(&self, within: &Within) -> Part {
        let words = words::metric(within.metric);
        let what = format!("{words} lies within {} to {}", within.from, within.to);
        let cells = self.data.select(&within.sweep, &within.filter);
        let found = cells.iter().filter_map(|cell| cell.estimate(within.metric));
        let found: Vec<Estimate> = found.collect();
        let (Some(least), Some(most)) = (
            found.iter().map(|e| e.mean.value).min_by(f64::total_cmp),
            found.iter().map(|e| e.mean.value).max_by(f64::total_cmp),
        ) else {
            return Part::none(&what, format!("no run has {words}"));
        };
        let verdict = |estimate: &Estimate| {
            let (value, half) = (estimate.mean.value, estimate.noise());
            match () {
                () if value - half >= within.from && value + half <= within.to => Verdict::Holds,
                () if value + half < within.from || value - half > within.to => Verdict::Fails,
                () => Verdict::Untold,
            }
        };
        let verdict = in_cells(within.cells, found.iter().map(verdict));
        Part {
            what,
            outcome: verdict.into(),
            because: format!("{words}: {} to {}", short(least), short(most)),
            off_percent: None,
        }
    }
}

impl Part {
    fn none(what: &str, because: String) -> Part {
        Part {
            what: what.to_owned(),
            outcome: Outcome::NoData,
            because,
            off_percent: None,
        }
    }
}

/// Numbers that stand together in a sentence, from so many on.
const TOGETHER: usize = 3;

/// Printed numbers in a sentence: how many come out, and the one that is furthest off. `None`: they are
/// few, and stand by themselves.
fn numbers_together(parts: &[Part]) -> Option<String> {
    let numbers = parts.iter().filter(|part| part.outcome != Outcome::NoData);
    let numbers = numbers.filter_map(|part| Some((part, part.off_percent?.abs())));
    let numbers: Vec<(&Part, f64)> = numbers.collect();
    let furthest = numbers.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let holds = numbers
        .iter()
        .filter(|(part, _)| part.outcome == Outcome::Holds);
    (numbers.len() >= TOGETHER).then(|| {
        format!(
            "{} of {} printed numbers come out; furthest off is {}",
            holds.count(),
            numbers.len(),
            furthest.0.because
        )
    })
}

/// Those of `all` that `patterns` name, and patterns that name none, for which there is nothing.
fn named<'a>(patterns: &[String], all: impl Iterator<Item = &'a String>) -> Vec<String> {
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

/// Returns true for a text that is `pattern`, in which one `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => {
            let rest = text.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
    }
}

/// What becomes of an observation whose parts became so.
fn outcome(parts: &[Part]) -> Outcome {
    let any = |outcome: Outcome| parts.iter().any(|part| part.outcome == outcome);
    match () {
        () if any(Outcome::Differs) => Outcome::Differs,
        () if any(Outcome::Untold) => Outcome::Untold,
        () if any(Outcome::Holds) => Outcome::Holds,
        () => Outcome::NoData,
    }
}

fn in_cells(cells: Cells, verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let verdicts: Vec<Verdict> = verdicts.collect();
    let share = |verdict: Verdict| verdicts.iter().filter(|one| **one == verdict).count() * 2;
    match cells {
        Cells::All => Verdict::all(verdicts),
        Cells::Any => Verdict::any(verdicts),
        Cells::Most if share(Verdict::Holds) > verdicts.len() => Verdict::Holds,
        Cells::Most if share(Verdict::Fails) > verdicts.len() => Verdict::Fails,
        Cells::Most => Verdict::Untold,
    }
}

/// `so in 40 of 56 cells, not in 3, not told in 13`.
fn tally(verdicts: &[(usize, Verdict)]) -> String {
    let count = |verdict: Verdict| verdicts.iter().filter(|(_, one)| *one == verdict).count();
    let (holds, fails, untold) = (
        count(Verdict::Holds),
        count(Verdict::Fails),
        count(Verdict::Untold),
    );
    let all = verdicts.len();
    let mut text = format!("so in {holds} of {all}");
    if fails > 0 {
        text += &format!(", not in {fails}");
    }
    if untold > 0 {
        text += &format!(", not told in {untold}");
    }
    text
}

/// Error up to which a number counts as reproduced here, as a fraction: what is promised of it in
/// virtual time, where that is more than what is usual.
pub(super) fn tolerance(judged: &judge::JudgedNumber) -> f64 {
    judged.allowed.unwrap_or(judge::USUAL).max(judge::USUAL)
}

/// What was printed: a value or a range.
pub(super) fn printed(number: &PublishedNumber) -> String {
    match number.to {
        Some(to) => format!("{} to {}", short(number.value), short(to)),
        None => short(number.value),
    }
}
