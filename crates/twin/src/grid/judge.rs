//! Choice of the best candidate.

use super::judged_run::JudgedRun;
use super::replicate::{Knows, Replicate, Replicates};
use super::{Scenario, View};
use joulio_units::{PastTdp, Slo};
use serde::{Deserialize, Serialize};

/// Costs of a policy in a cell, means over the seeds. All of them are modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Name of the policy.
    pub policy: String,
    /// Joules per I/O, within the cell's boundary.
    pub joules_per_io: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile of the latency in nanoseconds.
    pub p99_ns: f64,
    /// 99.9th percentile of the latency in nanoseconds.
    pub p999_ns: f64,
    /// CPU time per I/O in nanoseconds.
    pub cpu_ns_per_io: f64,
    /// Percentage of the time of the jobs' CPUs that threads of another program had; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour_percent: Option<f64>,
    /// True if the policy keeps the promise with every seed.
    pub keeps: bool,
    /// Set if the package would draw more than its thermal design power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_tdp: Option<PastTdp>,
    /// Joules per I/O divided by the least joules of any policy that keeps the promise with every seed, less one:
    /// the mean over the seeds, each compared with itself. Below zero for a policy that uses less because it breaks
    /// the promise; `None` if no policy keeps it.
    pub regret: Option<f64>,
    /// Joules per I/O divided by those of the oracle of completions, less one.
    pub regret_oracle: Option<f64>,
    /// Figures of each seed, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_seed: Vec<SeedFigures>,
}

/// Figures of a policy with one seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedFigures {
    /// Joules per I/O, within the cell's boundary.
    pub joules_per_io: f64,
    /// True if the promise is kept.
    pub keeps: bool,
    /// Joules per I/O divided by those of the best policy with this seed, less one.
    pub regret: Option<f64>,
    /// Joules per I/O divided by those of the oracle of completions with this seed, less one.
    pub regret_oracle: Option<f64>,
}

/// Joules per I/O of three oracles. The figure of each is the least of its own tries, of those of the oracles above
/// it, and of all policies that keep the promise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OracleJoules {
    /// Oracle that knows when each I/O in flight completes.
    pub completions: f64,
    /// Oracle that also lets as many I/Os be late as the promise allows.
    pub spending: f64,
    /// Oracle that also knows when the next I/O arrives.
    pub everything: f64,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridCell {
    /// Device and load.
    #[serde(flatten)]
    pub scenario: Scenario,
    /// Mechanism and energy that the cell is judged by.
    #[serde(flatten)]
    pub view: View,
    /// Limits in nanoseconds for percentiles of the latency, with the first seed.
    pub slo_ns: Slo,
    /// Policy whose latencies are the promise; absent if the user gave a promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo_of: Option<String>,
    /// Difference between the first seed and another in polling's 99th percentile: the larger divided by the
    /// smaller, less one.
    pub p99_noise: f64,
    /// Difference between the first seed and another in polling's 99.9th percentile: the larger divided by the
    /// smaller, less one.
    pub p999_noise: f64,
    /// Policy with the least joules per I/O, as a mean over the seeds, among those that keep the promise with every
    /// seed; `None`: no policy keeps it.
    pub best: Option<String>,
    /// Policies that use the least with some seeds with which the best does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ties: Vec<String>,
    /// Joules per I/O of the second-best policy divided by the best's, less one; 0 if all that keep the promise use
    /// the same; `None` if no other policy keeps it.
    pub margin: Option<f64>,
    /// Joules per I/O of the oracles; `None` if there is no best policy.
    pub oracle_joules_per_io: Option<OracleJoules>,
    /// Results of the policies, in the order of the sweep.
    pub policies: Vec<Judged>,
}

impl GridCell {
    /// Returns true if another policy is the best with some of the seeds.
    pub fn is_tie(&self) -> bool {
        !self.ties.is_empty()
    }
}

/// Ratio of joules up to which two policies count as equal.
const TIE: f64 = 1.001;

/// Joules with one seed in a view.
struct Seen<'a> {
    replicate: &'a Replicate,
    /// Joules per I/O of each outcome.
    joules: Vec<f64>,
    least: Option<f64>,
    oracles: Option<OracleJoules>,
}

impl<'a> Seen<'a> {
    /// Returns the joules with the seed of `replicate` in the view at `index`, where the policies at `kept` keep
    /// the promise with every seed.
    fn new((index, view): (usize, View), kept: &[usize], replicate: &'a Replicate) -> Seen<'a> {
        let outcomes = replicate.outcomes.iter();
        let joules: Vec<f64> = outcomes.map(|one| one.joules(view.boundary)).collect();
        let least = kept.iter().map(|&one| joules[one]).min_by(f64::total_cmp);
        let oracle = |knows: Knows, base: f64| {
            let tries = replicate.tries[index].iter().filter(|one| one.0 == knows);
            let tries = tries.map(|&(_, at)| &replicate.oracles[at].1);
            let kept = tries.filter(|one| one.keeps);
            kept.map(|one| one.joules(view.boundary))
                .fold(base, f64::min)
        };
        let oracles = least.map(|base| {
            let completions = oracle(Knows::Completions, base);
            let spending = oracle(Knows::Spending, completions);
            OracleJoules {
                completions,
                spending,
                everything: oracle(Knows::Everything, spending),
            }
        });
        Seen {
            joules,
            least,
            oracles,
            replicate,
        }
    }

    /// Returns true if no policy uses less with this seed, by more than the tolerance.
    fn is_best(&self, index: usize) -> bool {
        self.least
            .is_some_and(|least| self.joules[index] <= least * TIE)
    }

    fn figures(&self, index: usize) -> SeedFigures {
        let joules = self.joules[index];
        let over = |base: Option<f64>| base.map(|base| joules / base - 1.0);
        SeedFigures {
            joules_per_io: joules,
            keeps: self.replicate.outcomes[index].keeps,
            regret: over(self.least),
            regret_oracle: over(self.oracles.map(|oracles| oracles.completions)),
        }
    }
}

/// Judges `scenario` in the view at `index` of the sweep's views.
pub(crate) fn judge(
    scenario: &Scenario,
    (index, view): (usize, View),
    replicates: &Replicates,
) -> GridCell {
    let Replicates {
        seeds,
        noise,
        slo_of,
    } = replicates;
    let first = &seeds[0];
    let indices = 0..first.outcomes.len();
    let there: Vec<usize> = indices
        .filter(|&one| first.outcomes[one].is_in(index, view))
        .collect();
    let kept = there.iter().copied();
    let kept = kept.filter(|&one| seeds.iter().all(|seed| seed.outcomes[one].keeps));
    let kept: Vec<usize> = kept.collect();
    let seen = seeds.iter();
    let seen: Vec<_> = seen
        .map(|one| Seen::new((index, view), &kept, one))
        .collect();
    let joules = |one: usize| mean(seen.iter().map(|seed| seed.joules[one]));
    let least = kept.iter().map(|&one| joules(one)).min_by(f64::total_cmp);
    // Policies that differ by less count as equal: the first of them in the list is the best.
    let best = least.and_then(|least| {
        let mut kept = kept.iter().copied();
        kept.find(|&one| joules(one) <= least * TIE)
    });
    let name = |one: usize| first.outcomes[one].name.clone();
    let ties = best.map_or_else(Vec::new, |best| {
        let wins = |one: usize| {
            let mut seen = seen.iter();
            seen.any(|seed| seed.is_best(one) && !seed.is_best(best))
        };
        let ties = kept.iter().copied().filter(|&one| one != best && wins(one));
        ties.map(name).collect()
    });
    let margin = best.and_then(|best| {
        let others = kept.iter().map(|&one| joules(one) / joules(best));
        let others = others.filter(|over| *over > TIE);
        let next = others.min_by(f64::total_cmp).map(|over| over - 1.0);
        next.or((kept.len() > 1).then_some(0.0))
    });
    GridCell {
        scenario: scenario.clone(),
        view,
        slo_ns: first.slo,
        slo_of: slo_of.clone(),
        p99_noise: noise.0,
        p999_noise: noise.1,
        best: best.map(name),
        ties,
        margin,
        oracle_joules_per_io: best.and_then(|_| mean_oracles(&seen)),
        policies: there.iter().map(|&one| judged(&seen, one)).collect(),
    }
}

fn judged(seen: &[Seen<'_>], index: usize) -> Judged {
    let of = |figure: fn(&JudgedRun) -> f64| {
        mean(
            seen.iter()
                .map(|seed| figure(&seed.replicate.outcomes[index])),
        )
    };
    let outcomes = || seen.iter().map(|seed| &seed.replicate.outcomes[index]);
    let by_seed: Vec<_> = seen.iter().map(|seed| seed.figures(index)).collect();
    let all = |figure: fn(&SeedFigures) -> Option<f64>| {
        let all: Option<Vec<f64>> = by_seed.iter().map(figure).collect();
        all.map(|all| mean(all.into_iter()))
    };
    let neighbour = outcomes().map(|one| one.neighbour_percent);
    let neighbour: Option<Vec<f64>> = neighbour.collect();
    let past = outcomes().filter_map(|one| one.past_tdp);
    Judged {
        policy: seen[0].replicate.outcomes[index].name.clone(),
        joules_per_io: mean(by_seed.iter().map(|seed| seed.joules_per_io)),
        iops: of(|one| one.iops),
        mean_ns: of(|one| one.mean),
        p99_ns: of(|one| one.p99 as f64),
        p999_ns: of(|one| one.p999 as f64),
        cpu_ns_per_io: of(|one| one.cpu_ns),
        neighbour_percent: neighbour.map(|all| mean(all.into_iter())),
        keeps: by_seed.iter().all(|seed| seed.keeps),
        past_tdp: past.max_by(|a, b| a.package_watts.total_cmp(&b.package_watts)),
        regret: all(|seed| seed.regret),
        regret_oracle: all(|seed| seed.regret_oracle),
        by_seed: if seen.len() > 1 { by_seed } else { Vec::new() },
    }
}

fn mean_oracles(seen: &[Seen<'_>]) -> Option<OracleJoules> {
    let all: Option<Vec<OracleJoules>> = seen.iter().map(|seed| seed.oracles).collect();
    let all = all?;
    let of = |figure: fn(&OracleJoules) -> f64| mean(all.iter().map(figure));
    Some(OracleJoules {
        completions: of(|one| one.completions),
        spending: of(|one| one.spending),
        everything: of(|one| one.everything),
    })
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    values.sum::<f64>() / count as f64
}
