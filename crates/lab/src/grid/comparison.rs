//! Comparison of one policy of a grid with the others, cell by cell.

use super::summary::{Spread, policy_names, simulated};
use joulio_twin::grid::{GridCell, Judged, LoadKind};
use joulio_wait::Objective;

/// Largest excess in joules, as a fraction of another policy's, with which a policy counts as as good.
const AS_GOOD: f64 = 0.01;

/// Largest difference that another seed makes in polling's p99.9 for the promise to count as steady.
const STEADY: f64 = 0.05;

/// Energy of an I/O of one policy relative to another's, over the cells in which both keep the promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the other policy, of a group such as "the best other", or of a part of the cells.
    pub other: String,
    /// Number of cells in which both keep the promise.
    pub cells: usize,
    /// Mean of the ratio of the joules, minus one.
    pub mean: f64,
    /// Spread of the ratio, minus one.
    pub spread: Spread,
    /// Fraction of the cells in which the policy uses at most 1 % more, 0 to 1.
    pub as_good: f64,
}

/// Numbers of cells of one load in which a policy keeps the promise with every seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPromises {
    /// Load; `None`: all loads together.
    pub load: Option<LoadKind>,
    /// Cells in which the policy was simulated.
    pub cells: usize,
    /// Cells among `cells` in which the policy keeps the promise.
    pub keeps: usize,
    /// Cells in which another seed changes polling's p99.9 by less than 5 %.
    pub steady: usize,
    /// Cells among `steady` in which the policy keeps the promise.
    pub steady_keeps: usize,
}

/// Comparison of a policy with others on shared CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedCpus {
    /// Number of cells.
    pub cells: usize,
    /// CPU time of an I/O relative to that of the policy with the least CPU time among those that keep the promise (or
    /// among all if none does), minus one.
    pub cpu: Spread,
    /// Cells in which that is at most 5 %.
    pub frugal: usize,
    /// Cells in which neither polling nor interrupts have p99 and p99.9 both more than 10 % lower.
    pub unbeaten: usize,
    /// Cells with a thread that computes beside each job.
    pub neighbours: usize,
    /// Cells among `neighbours` in which that thread gets at least 95 % of the CPU time that it gets beside the best
    /// policy.
    pub considerate: usize,
}

/// Compares the policy called `name` with the best of the others, with the oracle that knows completions, and with each
/// other policy.
pub fn comparisons(rows: &[&GridCell], name: &str) -> Vec<Comparison> {
    let kept = kept(rows, name);
    let oracle = |row: &GridCell| Some(row.oracle_joules_per_io?.completions);
    let mut all: Vec<Comparison> = Vec::new();
    all.extend(over(&kept, "the best other", &|row| best_other(row, name)));
    all.extend(over(&kept, "the oracle", &oracle));
    let names = policy_names(rows.iter().copied()).into_iter();
    all.extend(names.filter(|other| *other != name).filter_map(|other| {
        over(&kept, other, &|row| {
            let there = row.policies.iter().find(|one| one.policy == other);
            there.filter(|one| one.keeps).map(|one| one.joules_per_io)
        })
    }));
    all
}

/// Compares the policy called `name` with the best of the others in parts of the cells: at each boundary, and under
/// each load. The name of the part stands for that of the other policy.
pub fn comparisons_by_part(rows: &[&GridCell], name: &str) -> Vec<Comparison> {
    let part = |part: String, is: &dyn Fn(&GridCell) -> bool| {
        let here: Vec<&GridCell> = rows.iter().copied().filter(|row| is(row)).collect();
        over(&kept(&here, name), &part, &|row| best_other(row, name))
    };
    let boundaries = Objective::ALL.into_iter();
    let boundaries = boundaries.filter_map(|boundary| {
        let name = format!("at the {boundary}");
        part(name, &|row| row.view.boundary == boundary)
    });
    let loads = loads(rows).into_iter();
    let loads = loads.filter_map(|load| {
        let name = load.to_string();
        part(name, &|row| row.scenario.load == load)
    });
    boundaries.chain(loads).collect()
}

/// Returns the cells in which the policy called `name` keeps the promise, with its results.
fn kept<'a>(rows: &[&'a GridCell], name: &str) -> Vec<(&'a GridCell, &'a Judged)> {
    let kept = simulated(rows, name).filter(|(_, one)| one.keeps);
    kept.collect()
}

/// Returns the joules of an I/O of the best policy of `row` other than `name`.
fn best_other(row: &GridCell, name: &str) -> Option<f64> {
    let others = row.policies.iter();
    let others = others.filter(|one| one.keeps && one.policy != name);
    others.map(|one| one.joules_per_io).min_by(f64::total_cmp)
}

/// Compares the results in the cells `kept` with `joules`, those of an I/O of `other` where it keeps the promise;
/// `None` if it does so in none of them.
fn over(
    kept: &[(&GridCell, &Judged)],
    other: &str,
    joules: &dyn Fn(&GridCell) -> Option<f64>,
) -> Option<Comparison> {
    let ratio = |(row, one): &(&GridCell, &Judged)| Some(one.joules_per_io / joules(row)? - 1.0);
    let ratios: Vec<f64> = kept.iter().filter_map(ratio).collect();
    Some(Comparison {
        other: other.into(),
        cells: ratios.len(),
        mean: ratios.iter().sum::<f64>() / ratios.len() as f64,
        as_good: ratios.iter().filter(|ratio| **ratio <= AS_GOOD).count() as f64
            / ratios.len() as f64,
        spread: Spread::of(ratios.into_iter())?,
    })
}

/// Returns the loads of `rows`, each once.
fn loads(rows: &[&GridCell]) -> Vec<LoadKind> {
    let mut loads: Vec<LoadKind> = Vec::new();
    for row in rows {
        if !loads.contains(&row.scenario.load) {
            loads.push(row.scenario.load);
        }
    }
    loads
}

/// Counts the promises that the policy called `name` keeps: for each load, then for all.
pub fn kept_promises(rows: &[&GridCell], name: &str) -> Vec<KeptPromises> {
    let loads = loads(rows).into_iter().map(Some).chain([None]);
    let count = |load: Option<LoadKind>| {
        let here = simulated(rows, name)
            .filter(|(row, _)| load.is_none_or(|load| row.scenario.load == load));
        let here: Vec<_> = here.collect();
        let steady = |one: &&(&GridCell, &Judged)| one.0.p999_noise < STEADY;
        let keeps = |one: &&(&GridCell, &Judged)| one.1.keeps;
        KeptPromises {
            load,
            cells: here.len(),
            keeps: here.iter().filter(keeps).count(),
            steady: here.iter().filter(steady).count(),
            steady_keeps: here.iter().filter(steady).filter(keeps).count(),
        }
    };
    loads.map(count).collect()
}

/// Compares the policy called `name` with others on shared CPUs; `None` if there are no such cells.
pub fn on_shared_cpus(rows: &[&GridCell], name: &str) -> Option<SharedCpus> {
    let here: Vec<(&GridCell, &Judged)> = simulated(rows, name).collect();
    let cpu: Vec<f64> = here
        .iter()
        .map(|(row, one)| one.cpu_ns_per_io / least_cpu(row) - 1.0)
        .collect();
    let unbeaten = |(row, one): &&(&GridCell, &Judged)| {
        let beats = |other: &Judged| {
            ["poll", "interrupt"].contains(&other.policy.as_str())
                && other.p99_ns < 0.9 * one.p99_ns
                && other.p999_ns < 0.9 * one.p999_ns
        };
        !row.policies.iter().any(beats)
    };
    let beside = here
        .iter()
        .filter(|(row, _)| row.scenario.load.neighbours() > 0);
    let beside: Vec<_> = beside.collect();
    let considerate = |(row, one): &&&(&GridCell, &Judged)| {
        let best = row.policies.iter();
        let best = best.filter(|other| Some(&other.policy) == row.best.as_ref());
        let best = best.filter_map(|best| best.neighbour_percent).next();
        one.neighbour_percent.unwrap_or(0.0) >= 0.95 * best.unwrap_or(0.0)
    };
    Some(SharedCpus {
        cells: here.len(),
        frugal: cpu.iter().filter(|more| **more <= 0.05).count(),
        cpu: Spread::of(cpu.into_iter())?,
        unbeaten: here.iter().filter(unbeaten).count(),
        neighbours: beside.len(),
        considerate: beside.iter().filter(considerate).count(),
    })
}

/// Returns the least CPU time of an I/O among policies that keep the promise, or among all if none does.
fn least_cpu(row: &GridCell) -> f64 {
    let least = |keeps: bool| {
        let policies = row.policies.iter().filter(|one| one.keeps || !keeps);
        policies.map(|one| one.cpu_ns_per_io).min_by(f64::total_cmp)
    };
    least(true).or_else(|| least(false)).unwrap_or(f64::NAN)
}
