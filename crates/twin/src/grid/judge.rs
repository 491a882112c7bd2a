//! Choice of the best candidate.

use super::{Mechanism, Scenario, View};
use crate::TwinRun;
use joulio_model::MachineProfile;
use joulio_units::{Nanos, PastTdp};
use serde::{Deserialize, Serialize};

/// The run of a policy in a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    name: String,
    mechanism: Mechanism,
    pub(crate) done: TwinRun,
    mean: f64,
    p99: u64,
    p999: u64,
}

/// The promise of a scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScenarioPromise {
    pub(crate) limit: Nanos,
    pub(crate) noise: f64,
}

impl Outcome {
    pub(crate) fn of(name: &str, mechanism: Mechanism, done: TwinRun) -> Outcome {
        let all = done.all();
        Outcome {
            name: name.into(),
            mechanism,
            mean: all.mean().unwrap_or(0.0),
            p99: all.latency.value_at_quantile(0.99),
            p999: all.latency.value_at_quantile(0.999),
            done,
        }
    }
}

/// Costs of a policy in a cell. Everything in it is modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Name of the policy.
    pub policy: String,
    /// Joules of an I/O, at the cell's boundary.
    pub joules_per_io: f64,
    /// I/Os a second.
    pub iops: f64,
    /// Mean latency in nanoseconds.
    pub mean_ns: f64,
    /// Nanoseconds of the 99th percentile.
    pub p99_ns: u64,
    /// Nanoseconds of the 99.9th percentile; 0 in rows of before it was kept.
    #[serde(default)]
    pub p999_ns: u64,
    /// CPU time of an I/O in nanoseconds.
    pub cpu_ns_per_io: f64,
    /// Percent of the jobs' CPUs that the thread beside each had; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour_percent: Option<f64>,
    /// 99 of 100 I/Os keep the limit.
    pub keeps: bool,
    /// The package would draw more than its thermal design power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_tdp: Option<PastTdp>,
    /// Joules an I/O over those of the best that keeps the promise, less one; below zero for one
    /// that does not keep it and uses less; `None` when there is no best.
    pub regret: Option<f64>,
    /// Joules an I/O over those of the oracle, less one.
    pub regret_oracle: Option<f64>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Device and load.
    #[serde(flatten)]
    pub scenario: Scenario,
    /// Mechanism and energy that the cell is judged by.
    #[serde(flatten)]
    pub view: View,
    /// Nanoseconds that 99 of 100 I/Os may not exceed.
    pub limit_ns: u64,
    /// Fraction by which another seed changes polling's 99th percentile.
    pub p99_noise: f64,
    /// The policy that uses least of those that keep the promise; `None`: polling does not keep it,
    /// and nobody does.
    pub best: Option<String>,
    /// Joules of an I/O of who knows the completion times; `None` when there is no best.
    pub oracle_joules_per_io: Option<f64>,
    /// Each policy, in the order of the sweep.
    pub policies: Vec<Judged>,
}

/// Joules that differ by less than a thousandth are the same.
const TIE: f64 = 1.001;

/// The row of `scenario` in `view`. An oracle knows what fixed policies know: the best of them is a
/// try of its own.
pub(crate) fn judge(
    machine: &MachineProfile,
    scenario: &Scenario,
    view: View,
    outcomes: &[Outcome],
    oracles: &[&Outcome],
    verdict: ScenarioPromise,
) -> Cell {
    let joules = |outcome: &Outcome| {
        let all = view.boundary.read(machine, &outcome.done).0;
        all / outcome.done.ios().max(1) as f64
    };
    let keeps = |outcome: &Outcome| outcome.p99 <= verdict.limit.0;
    let there = |outcome: &&Outcome| outcome.mechanism <= view.mechanism;
    let kept = || outcomes.iter().filter(there).filter(|one| keeps(one));
    let least = kept().map(joules).min_by(f64::total_cmp);
    // What differs by less is one policy by two names: the one that stands first has it.
    let best = least.and_then(|least| kept().find(|one| joules(one) <= least * TIE));
    let known = oracles
        .iter()
        .filter(|one| keeps(one))
        .map(|one| joules(one));
    let known = least.map(|least| known.fold(least, f64::min));
    let over = |joules: f64, base: Option<f64>| base.map(|base| joules / base - 1.0);
    let judged = |outcome: &Outcome| Judged {
        policy: outcome.name.clone(),
        joules_per_io: joules(outcome),
        iops: outcome.done.iops(),
        mean_ns: outcome.mean,
        p99_ns: outcome.p99,
        p999_ns: outcome.p999,
        cpu_ns_per_io: outcome.done.cpu_per_io().unwrap_or(0.0),
        neighbour_percent: outcome.done.neighbour_percent,
        keeps: keeps(outcome),
        past_tdp: outcome.done.result.past_tdp,
        regret: over(joules(outcome), least),
        regret_oracle: over(joules(outcome), known),
    };
    Cell {
        scenario: scenario.clone(),
        view,
        limit_ns: verdict.limit.0,
        p99_noise: verdict.noise,
        best: best.map(|best| best.name.clone()),
        oracle_joules_per_io: known,
        policies: outcomes.iter().filter(there).map(judged).collect(),
    }
}
