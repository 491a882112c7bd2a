//! Choice of the best candidate from the results of all candidates' runs.

use super::break_even::BreakEven;
use super::candidate::{Assessment, Candidate, Figures};
use super::error::{AdviseError, Microseconds};
use super::limits::{LimitSource, Limits};
use super::yardstick::Yardstick;
use crate::statistics::Interval;
use joulio_nvme::wait::{Objective, Promised};
use joulio_units::{Boundary, Nanos, Watts};
use joulio_workload::RunResult;
use serde::Serialize;

/// Options of an advice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdviceOptions {
    /// Boundary whose energy is compared; `None`: the narrowest boundary with measured energy, or else the jobs' cores.
    pub objective: Option<Objective>,
    /// Latency limits that the job promises to keep.
    pub promised: Promised,
    /// Highest power within the boundary in watts: among candidates that draw no more, the one with the most I/Os a
    /// second is chosen, or in an open loop the one with the lowest mean latency. `None`: the least energy is sought.
    pub cap: Option<Watts>,
    /// Boundary of the cap; `None`: that of the objective.
    pub cap_boundary: Option<Boundary>,
    /// True in an open loop: I/Os arrive at their own times, not when one completes.
    pub open: bool,
    /// Watts of a busy core of the machine, if they are known.
    pub spin_watts: Option<f64>,
}

impl AdviceOptions {
    /// Returns the boundary whose figures are compared, if one was requested.
    fn boundary(&self) -> Option<Boundary> {
        let objective = self.objective.map(|objective| match objective {
            Objective::Wall => Boundary::Wall,
            Objective::Package => Boundary::Package,
            Objective::Cores => Boundary::Cores,
        });
        self.cap.and(self.cap_boundary).or(objective)
    }
}

/// Figure that the advice makes as good as it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sought {
    /// The least energy of an I/O.
    Energy,
    /// The most I/Os a second, within a cap.
    Iops,
    /// The least mean latency, within a cap.
    Latency,
}

/// Advice: the best candidate, and the reasons.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Figure that was sought.
    pub sought: Sought,
    /// Figure that candidates were compared by.
    pub yardstick: Yardstick,
    /// The promise, as nanoseconds by percentile.
    #[cfg_attr(feature = "schema", schemars(with = "super::limits::PromiseInJson"))]
    pub promise: Limits,
    /// Index of the best candidate.
    pub best: usize,
    /// Indices of candidates whose difference from this one is a tie.
    pub ties: Vec<usize>,
    /// Comparisons of the best with the best of each other kind.
    pub rivals: Vec<Rival>,
    /// The cheapest candidate that breaks the promise, if it is cheaper than the best.
    pub too_late: Option<TooLate>,
    /// The best candidates within other boundaries, where these are others.
    pub other_boundaries: Vec<OtherBoundary>,
    /// Index of the best with all of the model's figures at the low ends of their bands, and at the high
    /// ends, where it is another.
    pub at_band_ends: [Option<usize>; 2],
    /// Candidates that were tried, the cheapest of those that keep the promise first.
    pub candidates: Vec<Assessment>,
}

/// A comparison of the best candidate with another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rival {
    /// Index of the other candidate.
    pub index: usize,
    /// Percent by which the best takes less energy, has the lower latency, or does more I/Os a second, as
    /// is sought.
    pub better_percent: Interval,
    /// True if it keeps the promise.
    pub keeps: bool,
    /// Watts of a busy core at which the other takes as little.
    pub break_even: Option<BreakEven>,
}

/// A candidate that would take less energy than the best, and breaks the promise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TooLate {
    /// Index of the candidate.
    pub index: usize,
    /// Percent by which it takes less energy.
    pub saves_percent: f64,
}

/// The best candidate within another boundary.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherBoundary {
    /// Boundary.
    pub boundary: Boundary,
    /// True if the figures there are computed, false if they are measured.
    pub modelled: bool,
    /// Index of the candidate.
    pub index: usize,
}

impl Advice {
    /// Returns the advice that follows from the `runs` of all candidates.
    ///
    /// # Errors
    /// No candidate has figures within the boundary, or none keeps the promise or the cap.
    pub fn of(runs: &[RunResult], options: &AdviceOptions) -> Result<Advice, AdviseError> {
        let yardsticks = Yardstick::all(runs);
        let Some(yardstick) = Yardstick::choose(&yardsticks, options.boundary()) else {
            return Err(no_figure(runs, options));
        };
        let others = yardsticks.iter();
        let others: Vec<_> = others
            .filter(|other| *other != yardstick && is_of_the_machine(other.boundary))
            .cloned()
            .collect();
        let mut all = Assessment::all(runs, yardstick, &others);
        let promise = Limits::of(&options.promised, &all)?;
        all.iter_mut().for_each(|one| promise.judge(one));
        check_promise(&all, &promise)?;
        let mut all = without_equals(all);
        let rank = Rank { options };
        all.sort_by(|a, b| {
            let (a, b) = (rank.of(a), rank.of(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        prefer_fewer_settings(&mut all, &rank);
        let Some(best) = all.first().filter(|one| rank.allowed(one)) else {
            return Err(check_cap(&all, options, yardstick.boundary));
        };
        let ties = ties(&all, &rank);
        let rivals = rivals(&all, &rank, best.figures.as_ref(), &ties);
        Ok(Advice {
            sought: rank.sought(),
            ties,
            too_late: too_late(&all, &rank),
            other_boundaries: others
                .iter()
                .filter_map(|other| other_boundary(&all, other, &rank))
                .collect(),
            at_band_ends: [0, 1].map(|end| at_band_end(&all, end, &rank)),
            rivals,
            yardstick: yardstick.clone(),
            promise,
            best: 0,
            candidates: all,
        })
    }

    /// Returns the best candidate.
    pub fn chosen(&self) -> &Assessment {
        &self.candidates[self.best]
    }

    /// Returns true if there is a promise and its limits are known.
    pub fn has_limits(&self) -> bool {
        !self.promise.limits.is_empty() && self.promise.source != LimitSource::NoPolling
    }
}

/// Order of candidates: a lower rank is better.
struct Rank<'a> {
    options: &'a AdviceOptions,
}

impl Rank<'_> {
    fn sought(&self) -> Sought {
        match (self.options.cap, self.options.open) {
            (None, _) => Sought::Energy,
            (Some(_), true) => Sought::Latency,
            (Some(_), false) => Sought::Iops,
        }
    }

    /// Returns the percent by which `best` is better than `other` in the figure that is sought, from pairs of runs of
    /// the same repetition.
    fn better(&self, best: &Assessment, other: &Assessment) -> Interval {
        let figure: fn(&Assessment) -> &[f64] = match self.sought() {
            Sought::Energy => |one| &one.joules,
            Sought::Latency => |one| &one.means,
            Sought::Iops => |one| &one.iops,
        };
        let each = paired(best, other, figure).into_iter();
        let each = each.map(|(best, other)| match self.sought() {
            Sought::Iops => 100.0 * (best / other - 1.0),
            Sought::Energy | Sought::Latency => 100.0 * (1.0 - best / other),
        });
        let each: Vec<f64> = each.collect();
        Interval::of(&each, 0.0)
    }

    /// Returns true if `one` keeps the promise and draws no more than the cap.
    fn allowed(&self, one: &Assessment) -> bool {
        let draws = one.figures.as_ref().map(|figures| figures.watts.value);
        let cap = self.options.cap.map_or(f64::INFINITY, |cap| cap.0);
        one.keeps && draws.is_some_and(|watts| watts <= cap)
    }

    /// Returns whether `one` breaks the promise or the cap, and the figure that is sought.
    fn of(&self, one: &Assessment) -> (bool, f64) {
        // Candidates without figures come last, just after those that break the promise or the cap.
        let Some(figures) = &one.figures else {
            return (true, f64::INFINITY);
        };
        let value = match self.sought() {
            Sought::Energy => figures.joules_per_io.value,
            Sought::Latency => figures.mean_ns.value,
            Sought::Iops => 1.0 / figures.iops.value.max(1e-9),
        };
        (!self.allowed(one), value)
    }
}

/// Pairs the values of `figure` of both candidates from repetitions that count for both; if there is no such
/// repetition, pairs the means.
fn paired(
    one: &Assessment,
    other: &Assessment,
    figure: fn(&Assessment) -> &[f64],
) -> Vec<(f64, f64)> {
    let values = one.counted.iter().zip(figure(one));
    let pairs = values.filter_map(|(repetition, value)| {
        let at = other.counted.iter().position(|one| one == repetition)?;
        Some((*value, *figure(other).get(at)?))
    });
    let pairs: Vec<_> = pairs.collect();
    match pairs.is_empty() {
        true => vec![(mean(figure(one)), mean(figure(other)))],
        false => pairs,
    }
}

fn is_of_the_machine(boundary: Boundary) -> bool {
    !matches!(boundary, Boundary::Dram | Boundary::Device)
}

/// Removes candidates whose settings change nothing: in virtual time all of their figures equal those of the same
/// method and depth with fewer settings or as many.
fn without_equals(all: Vec<Assessment>) -> Vec<Assessment> {
    let mut kept: Vec<Assessment> = Vec::with_capacity(all.len());
    for one in all {
        let same = |other: &Assessment| {
            other.candidate.is_same_method(&one.candidate)
                && other.candidate.iodepth == one.candidate.iodepth
                && other.candidate.settings.len() <= one.candidate.settings.len()
                && other.figures == one.figures
                && one.figures.is_some()
        };
        if !kept.iter().any(same) {
            kept.push(one);
        }
    }
    kept
}

/// Moves the candidate with the fewest settings to the front, among those of the best method that tie with the best.
fn prefer_fewer_settings(all: &mut [Assessment], rank: &Rank<'_>) {
    let Some(best) = all.first() else { return };
    let same = ties(all, rank).into_iter();
    let same = same.filter(|&index| all[index].candidate.is_same_method(&best.candidate));
    let settings = |index: usize| all[index].candidate.settings.len();
    let fewest = same.min_by_key(|&index| settings(index));
    if let Some(index) = fewest.filter(|&index| settings(index) < settings(0)) {
        all[..=index].rotate_right(1);
    }
}

fn ties(all: &[Assessment], rank: &Rank<'_>) -> Vec<usize> {
    let Some(best) = all.first() else {
        return Vec::new();
    };
    let rest = all.iter().enumerate().skip(1);
    let rest = rest.filter(|(_, one)| rank.allowed(one) && best.ran > 1);
    let ties = rest.filter(|(_, one)| !rank.better(best, one).is_above_zero());
    ties.map(|(index, _)| index).collect()
}

/// Compares the best candidate with polling, with interrupts, and with the next one of another completion mode whose
/// difference is not a tie.
fn rivals(
    all: &[Assessment],
    rank: &Rank<'_>,
    figures: Option<&Figures>,
    ties: &[usize],
) -> Vec<Rival> {
    let (Some(best), Some(figures)) = (all.first(), figures) else {
        return Vec::new();
    };
    let others = || {
        let others = all.iter().enumerate().skip(1);
        others.filter(|(index, one)| {
            let other = !one.candidate.is_same_method(&best.candidate);
            other && one.figures.is_some() && !ties.contains(index)
        })
    };
    let named = |mode: &str| {
        let mut named = others().filter(|(_, one)| one.candidate.completion == mode);
        named.next()
    };
    let next = others().find(|(_, one)| rank.allowed(one));
    let mut rivals: Vec<Rival> = Vec::new();
    for (index, one) in [next, named("poll"), named("interrupt")]
        .into_iter()
        .flatten()
    {
        let Some(other) = &one.figures else { continue };
        if rivals.iter().any(|rival| rival.index == index) {
            continue;
        }
        let watts = rank.options.spin_watts;
        let watts = watts.filter(|_| rank.sought() == Sought::Energy);
        rivals.push(Rival {
            index,
            better_percent: rank.better(best, one),
            keeps: one.keeps,
            break_even: watts.and_then(|watts| BreakEven::between(figures, other, watts)),
        });
    }
    rivals
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Smallest difference in percent of energy for which a later candidate is mentioned.
const WORTH: f64 = 1.0;

fn too_late(all: &[Assessment], rank: &Rank<'_>) -> Option<TooLate> {
    if rank.sought() != Sought::Energy {
        return None;
    }
    let best = mean(&all.first()?.joules);
    let late = all.iter().enumerate();
    let late = late.filter(|(_, one)| !one.keeps && !one.falls_behind && one.figures.is_some());
    let (index, cheapest) =
        late.min_by(|(_, a), (_, b)| mean(&a.joules).total_cmp(&mean(&b.joules)))?;
    let saves_percent = 100.0 * (1.0 - mean(&cheapest.joules) / best);
    (saves_percent > WORTH).then_some(TooLate {
        index,
        saves_percent,
    })
}

/// Returns the best candidate by the yardstick `other`, if it is of another method.
fn other_boundary(all: &[Assessment], other: &Yardstick, rank: &Rank<'_>) -> Option<OtherBoundary> {
    if rank.sought() != Sought::Energy {
        return None;
    }
    let joules = |one: &Assessment| {
        let figure = one.boundaries.iter().find(|(by, _)| by == other);
        figure.map(|(_, joules)| mean(joules))
    };
    let allowed = all.iter().enumerate().filter(|(_, one)| one.keeps);
    let figures = allowed.filter_map(|(index, one)| Some((index, joules(one)?)));
    let (index, _) = figures.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let best = &all.first()?.candidate;
    (!all[index].candidate.is_same_method(best)).then_some(OtherBoundary {
        boundary: other.boundary,
        modelled: other.column.modelled,
        index,
    })
}

/// Returns the best candidate with all of the model's figures at one end of their bands, if it is of another method.
fn at_band_end(all: &[Assessment], end: usize, rank: &Rank<'_>) -> Option<usize> {
    if rank.sought() != Sought::Energy {
        return None;
    }
    let at = |one: &Assessment| {
        let (low, high) = one.figures.as_ref()?.joules_per_io_band?;
        Some([low, high][end])
    };
    let allowed = all.iter().enumerate().filter(|(_, one)| one.keeps);
    let figures = allowed.filter_map(|(index, one)| Some((index, at(one)?)));
    let (index, _) = figures.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let best = &all.first()?.candidate;
    (!all[index].candidate.is_same_method(best)).then_some(index)
}

/// Returns the error that says why no run has an energy figure within the boundary.
fn no_figure(runs: &[RunResult], options: &AdviceOptions) -> AdviseError {
    let figures = runs.iter().filter_map(|run| run.counts.as_ref());
    if figures.count() > 0 {
        return AdviseError::NoFigure {
            flag: match options.cap.and(options.cap_boundary) {
                Some(_) => "--cap-boundary",
                None => "--objective",
            },
            boundary: options.boundary().unwrap_or(Boundary::Cores),
        };
    }
    let reasons = runs.iter().filter_map(|run| {
        let completion = &run.completion;
        let reason = completion.reason.as_ref()?;
        Some(format!("{}: {reason}", completion.requested))
    });
    AdviseError::Unavailable(reasons.take(1).collect())
}

/// Returns an error if no candidate keeps the promise or keeps up with the arrivals.
fn check_promise(all: &[Assessment], promise: &Limits) -> Result<(), AdviseError> {
    if all.iter().any(|one| one.keeps) {
        return Ok(());
    }
    // Candidates that fall behind are not rejected for their latencies.
    let (behind, all): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.falls_behind);
    if all.iter().all(|one| one.figures.is_none()) {
        let rates = behind.iter();
        let rates = rates.filter_map(|one| Some((one, one.figures.as_ref()?.iops.value)));
        if let Some((one, iops)) = rates.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
            let fastest = name(&one.candidate);
            return Err(AdviseError::Behind { fastest, iops });
        }
    }
    for limit in &promise.limits {
        let latency = |one: &Assessment| -> Option<Nanos> {
            one.figures.as_ref()?.percentile(limit.percentile)
        };
        let known = all.iter().filter_map(|one| Some((one, latency(one)?)));
        let quickest = known.min_by_key(|(_, latency)| *latency);
        if let Some((one, latency)) = quickest.filter(|(_, latency)| *latency > limit.latency) {
            return Err(AdviseError::Promise {
                percentile: limit.percentile,
                limit: Microseconds(limit.latency),
                quickest: name(&one.candidate),
                latency: Microseconds(latency),
            });
        }
    }
    // Each limit is kept by some candidate, but none keeps all of them.
    let first = promise.limits.first();
    let quickest = all
        .iter()
        .filter_map(|one| Some((one, one.figures.as_ref()?)));
    let quickest = quickest.min_by(|a, b| a.1.mean_ns.value.total_cmp(&b.1.mean_ns.value));
    match (first, quickest) {
        (Some(limit), Some((one, figures))) => Err(AdviseError::Promise {
            percentile: limit.percentile,
            limit: Microseconds(limit.latency),
            quickest: name(&one.candidate),
            latency: Microseconds(figures.percentile(limit.percentile).unwrap_or_default()),
        }),
        _ => Err(AdviseError::Unavailable("none has figures".into())),
    }
}

fn check_cap(all: &[Assessment], options: &AdviceOptions, boundary: Boundary) -> AdviseError {
    let figures = all.iter().filter(|one| one.keeps);
    let figures = figures.filter_map(|one| Some((one, one.figures.as_ref()?.watts.value)));
    match (options.cap, figures.min_by(|(_, a), (_, b)| a.total_cmp(b))) {
        (Some(cap), Some((one, watts))) => AdviseError::Cap {
            cap,
            boundary,
            candidate: name(&one.candidate),
            watts: Watts(watts),
        },
        _ => AdviseError::Unavailable("none has figures".into()),
    }
}

/// Name of a candidate in a message.
fn name(candidate: &Candidate) -> String {
    format!("{} {}", candidate.engine, candidate.completion)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::run;
    use joulio_workload::{CompletionMode, Spoiled, SpoiledBy};

    const POLL: CompletionMode = CompletionMode::Poll;
    const INTERRUPT: CompletionMode = CompletionMode::Interrupt;

    /// Runs at these watts, one a repetition; the repetitions in `spoiled` are spoiled.
    fn runs(mode: CompletionMode, watts: [f64; 4], spoiled: &[usize]) -> Vec<RunResult> {
        let runs = watts.iter().enumerate().map(|(at, watts)| {
            let mut result = run(mode, 1, 1, 1_000.0, *watts).result;
            if spoiled.contains(&at) {
                result.spoiled = vec![Spoiled {
                    by: SpoiledBy::Throttled,
                    share: None,
                    why: "the clock fell".into(),
                }];
            }
            result
        });
        runs.collect()
    }

    fn advice(runs: [Vec<RunResult>; 2]) -> Advice {
        Advice::of(&runs.concat(), &AdviceOptions::default()).unwrap()
    }

    #[test]
    fn a_spoiled_repetition_does_not_decide() {
        let poll = |spoiled| runs(POLL, [40.0, 400.0, 40.4, 40.2], spoiled);
        let interrupt = || runs(INTERRUPT, [60.0, 61.0, 60.6, 60.3], &[]);
        let found = advice([poll(&[1]), interrupt()]);
        assert_eq!(found.chosen().candidate.completion, "poll");
        assert!(found.ties.is_empty(), "{:?}", found.ties);
        let better = found.rivals[0].better_percent;
        // Mean over the repetitions that count for both: 1, 3 and 4.
        let each = [40.0 / 60.0, 40.4 / 60.6, 40.2 / 60.3];
        let percent = 100.0 * (1.0 - each.iter().sum::<f64>() / 3.0);
        assert!((better.value - percent).abs() < 1e-9, "{better:?}");
        // If all repetitions are spoiled, they count.
        let found = advice([poll(&[0, 1, 2, 3]), interrupt()]);
        assert_eq!(found.chosen().candidate.completion, "interrupt");
        assert!(found.candidates.iter().any(|one| one.spoiled.is_some()));
    }

    #[test]
    fn one_repetition_that_counts_cannot_be_told_from_another() {
        let poll = runs(POLL, [40.0, 400.0, 400.0, 400.0], &[1, 2, 3]);
        let interrupt = runs(INTERRUPT, [600.0, 60.0, 61.0, 62.0], &[0]);
        let found = advice([poll, interrupt]);
        assert_eq!(found.chosen().candidate.completion, "poll");
        assert_eq!(found.ties, [1]);
    }

    #[test]
    fn a_spoiled_repetition_that_falls_behind_excludes_nobody() {
        let mut poll = runs(POLL, [40.0, 40.2, 40.4, 40.1], &[1]);
        poll[1].counts.as_mut().unwrap().falls_behind = true;
        let found = advice([poll, runs(INTERRUPT, [60.0, 61.0, 60.6, 60.3], &[])]);
        assert_eq!(found.chosen().candidate.completion, "poll");
        assert!(!found.chosen().falls_behind);
    }

    #[test]
    fn of_those_that_are_late_the_cheapest_is_the_rival() {
        let poll = || run(POLL, 1, 1, 2_000.0, 40.0).result;
        let dear = || run(INTERRUPT, 1, 1, 1_000.0, 60.0).result;
        let cheap = || {
            let mut one = run(INTERRUPT, 1, 1, 1_000.0, 20.0).result;
            one.settings.insert("scheduler".into(), "bfq".into());
            one
        };
        let options = AdviceOptions {
            promised: Promised::Slo(joulio_workload::parse_slo("p50=600us").unwrap()),
            ..AdviceOptions::default()
        };
        let all = [poll(), poll(), dear(), dear(), cheap(), cheap()];
        let found = Advice::of(&all, &options).unwrap();
        assert_eq!(found.chosen().candidate.completion, "poll");
        let rival = &found.candidates[found.rivals[0].index].candidate;
        assert!(rival.settings.contains_key("scheduler"), "{rival:?}");
    }

    #[test]
    fn a_boundary_that_only_the_model_has_is_called_modelled() {
        let of = |mode, wall, package: f64| {
            let mut one = run(mode, 1, 1, 1_000.0, wall).result;
            let counts = one.counts.as_mut().unwrap();
            let mut metered = counts.energy[0].clone();
            metered.boundary = Boundary::Package;
            (metered.modelled, metered.band_joules) = (false, None);
            (metered.zone, metered.source) = ("package-0".into(), "rapl".into());
            (metered.watts, metered.joules_per_io) = (package, Some(package / 1_000.0));
            counts.energy.insert(0, metered);
            one
        };
        let poll = || of(POLL, 60.0, 20.0);
        let interrupt = || of(INTERRUPT, 40.0, 30.0);
        let all = [poll(), poll(), interrupt(), interrupt()];
        let found = Advice::of(&all, &AdviceOptions::default()).unwrap();
        assert!(!found.yardstick.column.modelled);
        assert_eq!(found.other_boundaries.len(), 1);
        assert!(found.other_boundaries[0].modelled);
    }

    #[test]
    fn a_cap_of_the_device_is_judged_by_the_device_alone() {
        let of = |mode, iops, device: f64| {
            let mut one = run(mode, 1, 1, iops, 60.0).result;
            let counts = one.counts.as_mut().unwrap();
            let mut metered = counts.energy[0].clone();
            metered.boundary = Boundary::Device;
            (metered.modelled, metered.band_joules) = (false, None);
            (metered.zone, metered.source) = ("nvme0".into(), "nvme0".into());
            (metered.watts, metered.joules_per_io) = (device, Some(device / iops));
            counts.energy.insert(0, metered);
            one
        };
        let all = || [of(POLL, 2_000.0, 8.0), of(INTERRUPT, 1_000.0, 5.0)];
        let options = |cap, cap_boundary| AdviceOptions {
            cap: Some(Watts(cap)),
            cap_boundary,
            promised: Promised::Nothing,
            ..AdviceOptions::default()
        };
        let device = Some(Boundary::Device);
        let found = Advice::of(&all(), &options(6.0, device)).unwrap();
        assert_eq!(found.chosen().candidate.completion, "interrupt");
        assert_eq!(found.yardstick.boundary, Boundary::Device);
        let found = Advice::of(&all(), &options(9.0, device)).unwrap();
        assert_eq!(found.chosen().candidate.completion, "poll");
        // Both draw as much at the wall.
        assert!(Advice::of(&all(), &options(6.0, Some(Boundary::Wall))).is_err());
        let none = Advice::of(&all(), &options(6.0, Some(Boundary::Psys)));
        let why = none.unwrap_err().to_string();
        assert!(why.starts_with("--cap-boundary psys: no figure"), "{why}");
    }

    #[test]
    fn the_median_of_two_repetitions_is_between_them() {
        let of = |p99| {
            let mut one = run(POLL, 1, 1, 1_000.0, 40.0).result;
            one.counts.as_mut().unwrap().all.latency_ns.p99 = p99;
            one
        };
        let found = Advice::of(&[of(90_000), of(106_000)], &AdviceOptions::default()).unwrap();
        let figures = found.chosen().figures.as_ref().unwrap();
        assert_eq!(figures.percentiles_ns["p99"], 98_000);
    }
}
