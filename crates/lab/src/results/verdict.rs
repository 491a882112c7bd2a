//! Findings of a bench in sentences: for each workload the method with the least energy, the one with the most I/Os per
//! second, and ties.

use super::energy_column::EnergyColumn;
use super::means::{MeanOf, MeanRow};
use super::varied::Varied;
use crate::statistics::{Correction, SIGNIFICANCE, TTest};
use crate::sweep::Factor;

/// Largest number of workloads that get a sentence each; if there are more, they are counted.
const MAX_SENTENCES: usize = 8;

/// Returns sentences on the differences between the methods of each workload: the least energy, the most IOPS, and
/// ties; none if no workload has two methods or two devices. A tie by noise is a difference that is not significant by
/// Welch's t-test, corrected for all comparisons of the table by Holm's rule. A tie by the model's bands is called so.
pub fn verdict(
    varied: &Varied,
    rows: &[MeanRow<'_>],
    column: Option<&EnergyColumn>,
) -> Vec<String> {
    let iops = contests(MeanOf::Iops, varied, rows, column);
    if iops.is_empty() && varied.has(Factor::Device) {
        return verdict(&varied.without(Factor::Device), &by_device(rows), column);
    }
    let energy = contests(MeanOf::MicrojoulesPerIo, varied, rows, column);
    let spoiled = rows
        .iter()
        .filter(|row| row.runs.is_empty() && row.apart > 0);
    let spoiled: Vec<_> = spoiled.map(|row| row.name.as_str()).collect();
    if iops.is_empty() {
        return match rows.len() > 1 && !spoiled.is_empty() {
            true => vec![
                "No verdict: the runs that are to be compared were spoiled, are not finished, or are not what was requested."
                    .into(),
            ],
            false => Vec::new(),
        };
    }
    let mut lines: Vec<String> = match iops.len() > MAX_SENTENCES {
        true => counted(&iops, &energy, column),
        false => iops
            .iter()
            .map(|iops| {
                let energy = energy.iter().find(|energy| energy.place == iops.place);
                let place = iops.place.iter().map(|place| format!("{place}: "));
                place.collect::<String>() + &sentence(iops, energy, column)
            })
            .collect(),
    };
    if energy.is_empty() {
        lines.push("The energy of these runs is not known: no meter and no model has it.".into());
    }
    if !spoiled.is_empty() {
        lines.push(format!(
            "Not compared, as every run was spoiled or is not what was requested: {}.",
            spoiled.join(", ")
        ));
    }
    let measured = |row: &MeanRow<'_>| row.runs.iter().any(|run| !run.result.modelled);
    if rows.iter().any(|row| row.runs.len() == 1 && measured(row)) {
        lines.push(
            "One run of each cannot tell a difference from noise: use --replicates 5.".into(),
        );
    }
    lines
}

/// Names `rows` by their devices if nothing else differs, so that devices are compared.
fn by_device<'a>(rows: &[MeanRow<'a>]) -> Vec<MeanRow<'a>> {
    let alike = rows.windows(2).all(|pair| pair[0].name == pair[1].name);
    let named = rows.iter().map(|row| {
        let device = Factor::Device.text(row.point).unwrap_or("-");
        let name = match alike {
            true => device.to_owned(),
            false => format!("{device} {}", row.name),
        };
        MeanRow {
            name,
            ..row.clone()
        }
    });
    named.collect()
}

/// Result of comparing another row with the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tie {
    /// Significantly worse.
    No,
    /// The difference is not significant.
    Noise,
    /// The bands of the model overlap.
    Band,
}

/// Rows of a workload compared in one figure, the best first.
struct Contest<'r, 'a> {
    place: Option<String>,
    best: (&'r MeanRow<'a>, f64),
    others: Vec<(&'r MeanRow<'a>, f64, Tie)>,
}

fn contests<'r, 'a>(
    figure: MeanOf,
    varied: &Varied,
    rows: &'r [MeanRow<'a>],
    column: Option<&EnergyColumn>,
) -> Vec<Contest<'r, 'a>> {
    let mut places: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let place = varied.values(row.point);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mean = |row: &MeanRow<'_>| row.summary(figure, column).map(|one| one.mean.value);
    let contests = places.into_iter().filter_map(|place| {
        let here = rows.iter().filter(|row| varied.values(row.point) == place);
        let mut here: Vec<_> = here.filter_map(|row| Some((row, mean(row)?))).collect();
        here.sort_by(|a, b| match figure {
            MeanOf::Iops => b.1.total_cmp(&a.1),
            _ => a.1.total_cmp(&b.1),
        });
        let mut rows = here.into_iter();
        let best = rows.next()?;
        let others: Vec<_> = rows.map(|(row, value)| (row, value, Tie::No)).collect();
        (!others.is_empty()).then(|| Contest {
            place: varied.place(best.0.point),
            best,
            others,
        })
    });
    let mut contests: Vec<_> = contests.collect();
    find_ties(figure, &mut contests, column);
    contests
}

fn find_ties(figure: MeanOf, contests: &mut [Contest<'_, '_>], column: Option<&EnergyColumn>) {
    let values = |row: &MeanRow<'_>| row.values(figure, column);
    let pairs = contests.iter().flat_map(|contest| {
        let others = contest.others.iter();
        others.map(|(other, ..)| (contest.best.0, *other))
    });
    let p = pairs.map(|(best, other)| {
        let compared = TTest::Welch.compare(&values(best), &values(other));
        compared.map(|comparison| comparison.p)
    });
    let p: Vec<Option<f64>> = p.collect();
    // Single runs cannot be tested.
    let tested: Vec<f64> = p.iter().copied().flatten().collect();
    let mut corrected = Correction::Holm.apply(&tested).into_iter();
    let mut p = p.into_iter();
    for contest in contests {
        let best = contest.best.0;
        for (other, _, tie) in &mut contest.others {
            let tested = p.next().flatten().and_then(|_| corrected.next());
            *tie = match tested {
                _ if figure.is_energy() && overlaps(best, other, column) => Tie::Band,
                Some(p) if p > SIGNIFICANCE => Tie::Noise,
                _ => Tie::No,
            };
        }
    }
}

fn overlaps(best: &MeanRow<'_>, other: &MeanRow<'_>, column: Option<&EnergyColumn>) -> bool {
    let band = |row: &MeanRow<'_>| row.band(column?);
    match (band(best), band(other)) {
        (Some((_, high)), Some((low, _))) => low <= high,
        _ => false,
    }
}

impl Contest<'_, '_> {
    fn tied(&self, by: Tie) -> Vec<&str> {
        let tied = self.others.iter().filter(|(.., tie)| *tie == by);
        tied.map(|(row, ..)| row.name.as_str()).collect()
    }

    /// Returns true if `name` is the best or ties with it.
    fn is_best(&self, name: &str) -> bool {
        let mut others = self.others.iter();
        self.best.0.name == name || others.any(|(row, _, tie)| row.name == name && *tie != Tie::No)
    }

    fn value(&self, name: &str) -> Option<f64> {
        let others = self.others.iter().map(|(row, value, _)| (*row, *value));
        let mut all = std::iter::once(self.best).chain(others);
        all.find(|(row, _)| row.name == name)
            .map(|(_, value)| value)
    }
}

/// Returns the verdict on one workload.
fn sentence(
    iops: &Contest<'_, '_>,
    energy: Option<&Contest<'_, '_>>,
    column: Option<&EnergyColumn>,
) -> String {
    let (fast, most) = (&iops.best.0.name, iops.best.1);
    let slowest = iops
        .others
        .last()
        .map(|(row, value, _)| (&row.name, *value));
    let of_slowest = slowest.and_then(|(name, value)| {
        let times = times(most, value)?;
        Some(format!(", {times} those of {name}"))
    });
    let of_slowest = of_slowest.unwrap_or_default();
    let mut parts = Vec::new();
    match (energy, column) {
        (Some(energy), Some(column)) => {
            let (frugal, joules) = (&energy.best.0.name, energy.best.1);
            let star = column.star();
            let least = format!(
                "{frugal}: least energy ({}), {} uJ/IO{star}",
                column.zone,
                digits(joules)
            );
            if iops.is_best(frugal) {
                parts.push(format!("{least}, and the most IOPS{of_slowest}"));
            } else {
                parts.push(least);
                let more = energy.value(fast).and_then(|its| {
                    let times = times(its, joules)?;
                    Some(format!(", for {times} the energy"))
                });
                let of_frugal = iops.value(frugal).and_then(|its| {
                    let times = times(most, its)?;
                    Some(format!(", {times} those of {frugal}"))
                });
                let (more, of_frugal) = (more.unwrap_or_default(), of_frugal.unwrap_or_default());
                parts.push(format!("{fast}: most IOPS{of_frugal}{more}"));
            }
            for (tie, why) in [
                (Tie::Band, "bands overlap"),
                (Tie::Noise, "not significant"),
            ] {
                let tied = energy.tied(tie);
                if !tied.is_empty() {
                    let names = together(frugal, &tied);
                    parts.push(format!(
                        "the joules of {names} cannot be told apart ({why})"
                    ));
                }
            }
        }
        _ => parts.push(format!("{fast}: most IOPS{of_slowest}")),
    }
    let tied = iops.tied(Tie::Noise);
    if !tied.is_empty() {
        let names = together(fast, &tied);
        parts.push(format!(
            "the IOPS of {names} cannot be told apart (not significant)"
        ));
    }
    parts.join("; ") + "."
}

/// Lists `first` and the others in a sentence: `poll, adaptive and hybrid`.
fn together(first: &str, others: &[&str]) -> String {
    let mut names = first.to_owned();
    for (at, other) in others.iter().enumerate() {
        let before = match at + 1 == others.len() {
            true => " and",
            false => ",",
        };
        names += &format!("{before} {other}");
    }
    names
}

/// Counts how often each method is the best of many workloads.
fn counted(
    iops: &[Contest<'_, '_>],
    energy: &[Contest<'_, '_>],
    column: Option<&EnergyColumn>,
) -> Vec<String> {
    let line = |what: &str, contests: &[Contest<'_, '_>]| {
        let mut wins: Vec<(&str, usize)> = Vec::new();
        for contest in contests {
            let name = contest.best.0.name.as_str();
            match wins.iter_mut().find(|(of, _)| *of == name) {
                Some((_, count)) => *count += 1,
                None => wins.push((name, 1)),
            }
        }
        wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let wins: Vec<_> = wins
            .iter()
            .map(|(name, n)| format!("{name} in {n}"))
            .collect();
        let tied = contests.iter().filter(|contest| {
            let mut others = contest.others.iter();
            others.any(|(.., tie)| *tie != Tie::No)
        });
        let tied = match tied.count() {
            0 => String::new(),
            tied => format!("; in {tied} another cannot be told apart from it"),
        };
        format!(
            "{what}, of {} workloads: {}{tied}.",
            contests.len(),
            wins.join(", ")
        )
    };
    let mut lines = Vec::new();
    if let Some(column) = column.filter(|_| !energy.is_empty()) {
        lines.push(line(
            &format!("Least energy ({}){}", column.zone, column.star()),
            energy,
        ));
    }
    lines.push(line("Most IOPS", iops));
    lines
}

/// Formats `value` as a multiple of `of`: `1.6 x`; `None` if `of` is zero.
fn times(value: f64, of: f64) -> Option<String> {
    (of > 0.0).then(|| format!("{} x", digits(value / of)))
}

/// Formats `value` with three significant digits.
fn digits(value: f64) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RunRecord;
    use crate::record::sample::{run, runs};
    use crate::sweep::Axes;
    use joulio_workload::{CompletionMode, Spoiled, SpoiledBy};

    const POLL: CompletionMode = CompletionMode::Poll;
    const HYBRID: CompletionMode = CompletionMode::Hybrid;
    const INTERRUPT: CompletionMode = CompletionMode::Interrupt;

    /// Returns the verdict on `records` with modelled energy, whose band is 10 %.
    fn found(records: &[RunRecord]) -> Vec<String> {
        found_by(&Varied::default(), records)
    }

    fn found_by(varied: &Varied, records: &[RunRecord]) -> Vec<String> {
        let records: Vec<_> = records.iter().collect();
        let mut points: Vec<_> = Vec::new();
        for record in &records {
            if !points.contains(&record.point) {
                points.push(record.point.clone());
            }
        }
        let results: Vec<_> = records.iter().map(|record| &record.result).collect();
        let column = EnergyColumn::of(&results);
        let rows = MeanRow::of(&records, &points);
        verdict(varied, &rows, column.as_ref())
    }

    #[test]
    fn one_method_has_no_verdict() {
        assert_eq!(found(&runs(POLL, 1, 1_000.0, 1.0, 40.0)), [""; 0]);
    }

    #[test]
    fn the_best_of_both_is_one_sentence_and_a_tie_by_the_band_is_named() {
        let mut records = runs(POLL, 1, 1_600.0, 1.0, 40.0);
        records.extend(runs(HYBRID, 1, 1_500.0, 1.0, 40.0));
        records.extend(runs(INTERRUPT, 1, 1_000.0, 1.0, 40.0));
        assert_eq!(
            found(&records),
            [
                "psync poll: least energy (wall), 25000 uJ/IO*, and the most IOPS, 1.60 x those of \
                 psync interrupt; the joules of psync poll and psync hybrid cannot be told apart (bands \
                 overlap)."
            ]
        );
    }

    #[test]
    fn devices_are_compared_where_nothing_else_is() {
        let on = |device: &str, iops, watts| {
            let mut one = run(POLL, 1, 1, iops, watts);
            one.point.insert("device".into(), device.into());
            one
        };
        let mut records = vec![on("./a", 2_000.0, 40.0), on("./b", 1_000.0, 40.0)];
        let mut axes = Axes::default();
        axes.set(Factor::Device, ["./a", "./b"]).unwrap();
        let said = |records: &[RunRecord]| found_by(&Varied::new(&axes), records)[0].clone();
        assert_eq!(
            said(&records),
            "./a: least energy (wall), 20000 uJ/IO*, and the most IOPS, 2.00 x those of ./b."
        );
        records.push({
            let mut one = run(INTERRUPT, 1, 1, 500.0, 40.0);
            one.point.insert("device".into(), "./c".into());
            one
        });
        assert!(said(&records).ends_with("4.00 x those of ./c psync interrupt."));
        records.push(on("./a", 100.0, 40.0));
        records[3]
            .point
            .insert("completion".into(), "interrupt".into());
        // Each device is a workload of its own now.
        assert!(said(&records).starts_with("device ./a: "));
    }

    #[test]
    fn what_is_fastest_and_what_is_frugal_are_told_with_the_price() {
        let mut records = runs(POLL, 1, 2_000.0, 1.0, 120.0);
        records.extend(runs(INTERRUPT, 1, 1_000.0, 1.0, 40.0));
        assert_eq!(
            found(&records),
            [
                "psync interrupt: least energy (wall), 40000 uJ/IO*; psync poll: most IOPS, 2.00 x those \
                 of psync interrupt, for 1.50 x the energy."
            ]
        );
    }

    #[test]
    fn nothing_is_a_multiple_of_no_energy() {
        let mut records = runs(POLL, 1, 2_000.0, 1.0, 0.0);
        records.extend(runs(INTERRUPT, 1, 1_000.0, 1.0, 0.0));
        let found = found(&records).concat();
        assert!(found.contains("0.00 uJ/IO"), "{found}");
        assert!(
            !found.contains("NaN") && !found.contains("the energy"),
            "{found}"
        );
    }

    #[test]
    fn a_tie_by_noise_is_another_thing_than_one_by_the_band() {
        let mut records = runs(POLL, 1, 1_000.0, 200.0, 40.0);
        records.extend(runs(INTERRUPT, 1, 990.0, 200.0, 80.0));
        let found = found(&records);
        assert!(
            found[0].ends_with(
                "; the IOPS of psync poll and psync interrupt cannot be told apart (not significant)."
            ),
            "{found:?}"
        );
        assert!(!found[0].contains("joules of"), "{found:?}");
    }

    #[test]
    fn single_runs_and_unknown_energy_are_said() {
        let mut records = vec![
            run(POLL, 1, 1, 1_000.0, 40.0),
            run(INTERRUPT, 1, 1, 500.0, 40.0),
        ];
        for record in &mut records {
            record.result.counts.as_mut().unwrap().energy.clear();
        }
        assert_eq!(
            found(&records),
            [
                "psync poll: most IOPS, 2.00 x those of psync interrupt.",
                "The energy of these runs is not known: no meter and no model has it.",
                "One run of each cannot tell a difference from noise: use --replicates 5.",
            ]
        );
    }

    #[test]
    fn spoiled_runs_are_compared_with_nothing() {
        let mut records = runs(POLL, 1, 1_000.0, 1.0, 40.0);
        let mut spoiled = run(HYBRID, 1, 1, 9_000.0, 1.0);
        spoiled.result.spoiled = vec![Spoiled {
            by: SpoiledBy::Throttled,
            share: None,
            why: "the clock fell".into(),
        }];
        records.push(spoiled.clone());
        assert_eq!(
            found(&records),
            [
                "No verdict: the runs that are to be compared were spoiled, are not finished, or are not \
                 what was requested."
            ]
        );
        records.extend(runs(INTERRUPT, 1, 500.0, 1.0, 40.0));
        let found = found(&records);
        assert!(!found[0].contains("hybrid"), "{found:?}");
        assert!(
            found[1].ends_with("is not what was requested: psync hybrid."),
            "{found:?}"
        );
    }
}
