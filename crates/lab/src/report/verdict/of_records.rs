//! Verdicts on an experiment's own comparisons: metrics that rise along a factor, or lie in a range.

use super::{Judge, Part, change};
use crate::report::answers::Step;
use crate::report::data::{Cell, Estimate, ReportData, plain};
use crate::report::figure::name;
use crate::report::spec::{Cells, Rising, Within};
use crate::report::value::short;
use crate::report::words;
use crate::statistics::{Correction, SIGNIFICANCE};
use joulio_twin::check::judge::Verdict;
use std::collections::BTreeMap;

/// Two neighbouring values of a factor, in one combination of the other factors.
struct Pair<'a> {
    group: usize,
    from: &'a (String, Estimate),
    to: &'a (String, Estimate),
    /// Step that the second value should be above.
    step: Step,
    /// Significance level of this comparison, corrected for the others.
    level: f64,
}

impl Pair<'_> {
    /// Returns the fraction by which the second value is larger.
    fn change(&self) -> f64 {
        self.to.1.mean.value / self.from.1.mean.value - 1.0
    }

    /// Formats the change in percent with the ends of its interval: `+0.7 (-0.9 to +2.3) %`. If the values differ by
    /// more than a factor of ten, both are given instead, because percentages of something near zero mean little.
    fn words(&self) -> String {
        let (from, to) = (&self.from.1, &self.to.1);
        match (0.1..=10.0).contains(&(to.mean.value / from.mean.value)) {
            true => change(&from.ratio_of(to, self.level)),
            false => format!("{} against {}", with_noise(to), with_noise(from)),
        }
    }
}

/// Reason why energy figures are not compared.
const UNLIKE: &str = "the energy figures are of unlike boundaries or meters";

impl Judge<'_> {
    pub(super) fn rising(&self, rising: &Rising) -> Part {
        let words = match (rising.metric, &rising.count) {
            (Some(metric), _) => words::metric(metric),
            (None, count) => count.clone().unwrap_or_default(),
        };
        let what = format!("{words} rises along {}", rising.order.join(", "));
        // Metered and modelled figures, or figures of two boundaries, are not compared with each other.
        let alike = |(_, chain): &(String, Vec<(String, Estimate)>)| {
            let mut pairs = chain.windows(2);
            pairs.all(|pair| pair[0].1.is_of_boundary(&pair[1].1))
        };
        let (groups, unlike): (Vec<_>, Vec<_>) = self.groups(rising).into_iter().partition(alike);
        let step = 1.0 + rising.min_percent / 100.0;
        let pairs = groups.iter().enumerate().flat_map(|(group, (_, chain))| {
            let pairs = chain.windows(2);
            pairs.map(move |pair| Pair {
                group,
                from: &pair[0],
                to: &pair[1],
                step: Step::of(&pair[0].1, &pair[1].1, step),
                level: SIGNIFICANCE,
            })
        });
        let mut pairs: Vec<Pair<'_>> = pairs.collect();
        if pairs.is_empty() && !unlike.is_empty() {
            return Part::none(&what, UNLIKE.into());
        }
        if pairs.is_empty() {
            // In quotes, because a scheduler is called none.
            let values: Vec<_> = rising.order.iter().map(|one| format!("'{one}'")).collect();
            return Part::none(
                &what,
                format!("fewer than two of {} were run", values.join(", ")),
            );
        }
        let p: Vec<f64> = pairs.iter().map(|pair| pair.step.p).collect();
        let corrected = Correction::Holm.apply(&p).into_iter();
        let levels = Correction::Holm.levels(&p);
        let mut verdicts: BTreeMap<usize, Vec<Verdict>> = BTreeMap::new();
        for (pair, (p, level)) in pairs.iter_mut().zip(corrected.zip(levels)) {
            pair.level = level;
            let verdicts = verdicts.entry(pair.group).or_default();
            verdicts.push(pair.step.verdict(p));
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
                false => format!(" ({at})"),
            };
            // A number alone does not tell which factor it belongs to.
            let of = match pair.to.0.parse::<u64>() {
                Ok(_) => format!("{} ", words::factor(&rising.along)),
                Err(_) => String::new(),
            };
            format!(
                "{of}{} against {}{at}: {}",
                pair.to.0,
                pair.from.0,
                pair.words()
            )
        });
        let extreme = match (by_group.len(), verdict, rising.cells) {
            (1, ..) => format!("{words}: {extreme}"),
            (_, Verdict::Holds, Cells::Any) => {
                format!(
                    "{words}: {}; the largest step: {extreme}",
                    counted(&by_group)
                )
            }
            _ => format!(
                "{words}: {}; the smallest step: {extreme}",
                counted(&by_group)
            ),
        };
        let extreme = match unlike.len() {
            0 => extreme,
            points => format!("{extreme}; at {points} more {UNLIKE}"),
        };
        Part {
            what,
            outcome: verdict.into(),
            because: extreme,
            basis: None,
            off_percent: None,
            known: None,
            bands_overlap: pairs
                .iter()
                .any(|pair| pair.from.1.bands_overlap(&pair.to.1)),
            modelled: pairs
                .iter()
                .any(|pair| pair.from.1.modelled || pair.to.1.modelled),
        }
    }

    /// Returns chains of estimates along the factor, by the values of the other factors.
    fn groups(&self, rising: &Rising) -> Vec<(String, Vec<(String, Estimate)>)> {
        let cells = self.data.select(&rising.sweep, &rising.filter);
        let mut others: Vec<String> = Vec::new();
        for cell in &cells {
            let factors = cell.point.keys().filter(|factor| **factor != rising.along);
            for factor in factors {
                let varied = ReportData::values(&cells, factor).len() > 1;
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
                let value = plain(&rising.along, value);
                let mut cells = cells.iter();
                let cell = cells.find(|cell| name(cell, along).as_ref() == Some(&value))?;
                Some((
                    value,
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

    pub(super) fn within(&self, within: &Within) -> Part {
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
                () => Verdict::Undecided,
            }
        };
        let verdict = in_cells(within.cells, found.iter().map(verdict));
        Part {
            what,
            outcome: verdict.into(),
            because: match found.len() {
                1 => format!("{words}: {}", short(least)),
                _ => format!("{words}: {} to {}", short(least), short(most)),
            },
            basis: None,
            off_percent: None,
            known: None,
            bands_overlap: false,
            modelled: found.iter().any(|estimate| estimate.modelled),
        }
    }
}

/// Formats a value with half of its interval, if it has one: `1499 ± 50`.
fn with_noise(estimate: &Estimate) -> String {
    let (value, half) = (estimate.mean.value, estimate.noise());
    match half.is_finite() && half > 0.0 {
        true => format!("{} ± {}", short(value), short(half)),
        false => short(value),
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
        Cells::Most => Verdict::Undecided,
    }
}

/// Describes the counts: `holds at 40 of 56 points, not at 3, undecided at 13`.
fn counted(verdicts: &[(usize, Verdict)]) -> String {
    let count = |verdict: Verdict| verdicts.iter().filter(|(_, one)| *one == verdict).count();
    let (holds, fails, undecided) = (
        count(Verdict::Holds),
        count(Verdict::Fails),
        count(Verdict::Undecided),
    );
    let all = verdicts.len();
    let mut text = format!("holds at {holds} of {all} points");
    if fails > 0 {
        text += &format!(", not at {fails}");
    }
    if undecided > 0 {
        text += &format!(", undecided at {undecided}");
    }
    text
}
