//! Figures by which a run is judged.

use super::{Mechanism, View, joules};
use crate::TwinRun;
use joulio_model::MachineProfile;
use joulio_units::{Nanos, PastTdp, Percentile, Slo};
use joulio_wait::Objective;

/// The run of a policy or of an oracle.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) mechanism: Mechanism,
    /// Index of the only view that the run was simulated for; `None`: all views that include its mechanism.
    pub(crate) view: Option<usize>,
    /// Joules per I/O, by objective.
    joules: [f64; Objective::ALL.len()],
    /// Watts of everything except the jobs' cores, by objective.
    others: [f64; Objective::ALL.len()],
    pub(crate) iops: f64,
    pub(crate) mean: f64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) cpu_ns: f64,
    pub(crate) neighbour_percent: Option<f64>,
    pub(crate) past_tdp: Option<PastTdp>,
    /// True if the run keeps the promise.
    pub(crate) keeps: bool,
}

impl Outcome {
    /// Returns the figures of `done`, judged by the promise `slo`; without a promise, as not keeping it.
    pub(crate) fn of(
        machine: &MachineProfile,
        (name, mechanism): (&str, Mechanism),
        done: &TwinRun,
        slo: Option<&Slo>,
    ) -> Outcome {
        let all = done.all();
        let quantile = |quantile: f64| all.latency.value_at_quantile(quantile);
        // The lowest latency in the same bucket of the histogram.
        let least = |percentile: Percentile| {
            Nanos(
                all.latency
                    .lowest_equivalent(quantile(percentile.quantile())),
            )
        };
        let read = Objective::ALL.map(|objective| joules(objective, machine, done).0);
        let seconds = done.window.seconds();
        Outcome {
            name: name.into(),
            mechanism,
            view: None,
            joules: read.map(|all| all / done.ios().max(1) as f64),
            others: read.map(|all| match seconds {
                0.0 => 0.0,
                seconds => ((all - done.parts.cores.0) / seconds).max(0.0),
            }),
            iops: done.iops(),
            mean: all.mean().unwrap_or(0.0),
            p99: quantile(Percentile::P99.quantile()),
            p999: quantile(Percentile::P99_9.quantile()),
            cpu_ns: done.cpu_per_io().unwrap_or(0.0),
            neighbour_percent: done.neighbour_percent,
            past_tdp: done.result.past_tdp,
            keeps: slo.is_some_and(|slo| slo.keeps(least)),
        }
    }

    /// Returns true if the outcome takes part in `view`, which has `index` in the sweep.
    pub(crate) fn is_in(&self, index: usize, view: View) -> bool {
        self.mechanism <= view.mechanism && self.view.is_none_or(|only| only == index)
    }

    /// Returns the joules per I/O within the boundary `objective`.
    pub(crate) fn joules(&self, objective: Objective) -> f64 {
        self.joules[objective as usize]
    }

    /// Returns the watts of everything except the jobs' cores, within the boundary `objective`.
    pub(crate) fn others(&self, objective: Objective) -> f64 {
        self.others[objective as usize]
    }

    /// Judges the outcome by `slo`, a promise of the 99th and 99.9th percentiles.
    pub(crate) fn judge(&mut self, slo: &Slo) {
        self.keeps = slo.keeps(|percentile| match percentile {
            Percentile::P99 => Nanos(self.p99),
            _ => Nanos(self.p999),
        });
    }
}
