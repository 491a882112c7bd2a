//! Summaries of a grid's rows: how each policy did, and how much figures vary.

use crate::statistics::Interval;
use joulio_twin::grid::{GridCell, Judged, OracleJoules};
use joulio_units::PastTdp;

/// Spread of a value over many cells: median, 90th percentile, largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub ninetieth: f64,
    /// Largest.
    pub worst: f64,
}

impl Spread {
    /// Computes the spread of `values`; `None` if there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        let worst = *all.last()?;
        let at = |rank: usize| all.get(rank - 1).copied().unwrap_or(worst);
        Some(Spread {
            median: at(all.len().div_ceil(2)),
            ninetieth: at((all.len() * 9).div_ceil(10)),
            worst,
        })
    }
}

/// Summary of a policy over many cells.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySummary {
    /// Name of the policy.
    pub policy: String,
    /// Cells in which it was simulated.
    pub cells: usize,
    /// Cells in which it keeps the promise with every seed.
    pub keeps: usize,
    /// Cells in which it is the best without a tie.
    pub best: usize,
    /// Cells in which it ties: it is the best with some of the seeds, and others are with other seeds.
    pub ties: usize,
    /// Joules of an I/O relative to the best policy's, minus one, over the cells in which it keeps the promise.
    pub regret: Option<Spread>,
    /// Half of the 95 % interval of the median regret over the seeds; `None`: fewer than two seeds.
    pub median_half: Option<f64>,
    /// Joules of an I/O relative to an oracle's, minus one, over the same cells.
    pub to_oracle: Option<Spread>,
    /// Median percentage of the CPU that a computing thread beside each job gets.
    pub neighbour_percent: Option<f64>,
}

/// Returns the name of every policy of `rows`, in the order of the sweep.
pub fn policy_names<'a>(rows: impl IntoIterator<Item = &'a GridCell>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for judged in rows.into_iter().flat_map(|row| &row.policies) {
        if !names.contains(&judged.policy.as_str()) {
            names.push(&judged.policy);
        }
    }
    names
}

/// Returns a summary of each policy of `rows`, in the order of the sweep.
pub fn policies(rows: &[&GridCell]) -> Vec<PolicySummary> {
    let names = policy_names(rows.iter().copied()).into_iter();
    names.map(|name| PolicySummary::of(name, rows)).collect()
}

impl PolicySummary {
    fn of(name: &str, rows: &[&GridCell]) -> PolicySummary {
        let there: Vec<(&GridCell, &Judged)> = simulated(rows, name).collect();
        let kept = there.iter().map(|one| one.1).filter(|one| one.keeps);
        let kept: Vec<&Judged> = kept.collect();
        let counted =
            |is: fn(&GridCell, &str) -> bool| there.iter().filter(|(row, _)| is(row, name)).count();
        let spread =
            |of: fn(&Judged) -> Option<f64>| Spread::of(kept.iter().filter_map(|one| of(one)));
        let neighbour = there.iter().filter_map(|(_, one)| one.neighbour_percent);
        PolicySummary {
            policy: name.into(),
            cells: there.len(),
            keeps: kept.len(),
            best: counted(is_best),
            ties: counted(is_tied),
            regret: spread(|one| one.regret),
            median_half: median_half(&kept),
            to_oracle: spread(|one| one.regret_oracle),
            neighbour_percent: Spread::of(neighbour).map(|all| all.median),
        }
    }
}

/// Returns the cells in which the policy called `name` was simulated, with its results.
pub(super) fn simulated<'a>(
    rows: &[&'a GridCell],
    name: &str,
) -> impl Iterator<Item = (&'a GridCell, &'a Judged)> {
    rows.iter().filter_map(move |row| {
        let one = row.policies.iter().find(|one| one.policy == name);
        Some((*row, one?))
    })
}

/// Returns true if the policy called `name` is the best of `row` without a tie.
pub fn is_best(row: &GridCell, name: &str) -> bool {
    !row.is_tie() && row.best.as_deref() == Some(name)
}

/// Returns true if the policy called `name` is one of several that are the best of `row` with some of the seeds.
fn is_tied(row: &GridCell, name: &str) -> bool {
    row.is_tie() && (row.best.as_deref() == Some(name) || row.ties.iter().any(|tie| tie == name))
}

/// Returns half of the 95 % interval of the median regret over the seeds.
fn median_half(kept: &[&Judged]) -> Option<f64> {
    let seeds = kept.iter().map(|one| one.by_seed.len()).min().unwrap_or(0);
    let medians = (0..seeds).filter_map(|seed| {
        let regrets = kept.iter().filter_map(|one| one.by_seed[seed].regret);
        Some(Spread::of(regrets)?.median)
    });
    let medians: Vec<f64> = medians.collect();
    (medians.len() > 1).then(|| Interval::of(&medians, 0.0).half())
}

/// Returns half of the 95 % interval of the joules of an I/O over the seeds; `None`: fewer than two seeds.
pub fn joules_half(judged: &Judged) -> Option<f64> {
    let joules = judged.by_seed.iter().map(|seed| seed.joules_per_io);
    let joules: Vec<f64> = joules.collect();
    (joules.len() > 1).then(|| Interval::of(&joules, 0.0).half())
}

/// Returns the percent by which oracles that know more use less energy than the one that only knows completions: one
/// also delays as many I/Os as the promise allows, the other also knows arrivals.
pub fn oracle_savings(rows: &[GridCell]) -> Option<(Spread, Spread)> {
    let less = |of: fn(&OracleJoules) -> f64| {
        let known = rows.iter().filter_map(|row| row.oracle_joules_per_io);
        Spread::of(known.map(|one| 100.0 * (1.0 - of(&one) / one.completions)))
    };
    less(|one| one.spending).zip(less(|one| one.everything))
}

/// Returns the number of cells in which some policy would draw more than the package's TDP, and the largest excess.
pub fn past_tdp(rows: &[GridCell]) -> Option<(usize, PastTdp)> {
    let past = |row: &GridCell| -> Vec<PastTdp> {
        let policies = row.policies.iter();
        policies.filter_map(|one| one.past_tdp).collect()
    };
    let past: Vec<_> = rows
        .iter()
        .map(past)
        .filter(|all| !all.is_empty())
        .collect();
    let most = past.iter().flatten();
    let most = most.max_by(|a, b| a.package_watts.total_cmp(&b.package_watts));
    Some((past.len(), *most?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_values_that_there_are() {
        let spread = Spread::of((1..=10).rev().map(f64::from)).unwrap();
        let expected = Spread {
            median: 5.0,
            ninetieth: 9.0,
            worst: 10.0,
        };
        assert_eq!(spread, expected);
        let one = Spread::of([2.0].into_iter()).unwrap();
        assert_eq!((one.median, one.ninetieth, one.worst), (2.0, 2.0, 2.0));
        assert_eq!(Spread::of(std::iter::empty()), None);
    }
}
