//! Figures of a run by which it is judged.

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
    /// Index of the only view that it was simulated for; `None`: all that have its mechanism.
    pub(crate) view: Option<usize>,
    /// Joules of an I/O, by objective.
    joules: [f64; Objective::ALL.len()],
    /// Watts of all but the jobs' cores, by objective.
    others: [f64; Objective::ALL.len()],
    pub(crate) iops: f64,
    pub(crate) mean: f64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) cpu_ns: f64,
    pub(crate) neighbour_percent: Option<f64>,
    pub(crate) past_tdp: Option<PastTdp>,
    /// True if the promise is kept.
    pub(crate) keeps: bool,
}

impl Outcome {
    /// The figures of `done`, by the promise `slo`; without one none is kept yet.
    pub(crate) fn of(
        machine: &MachineProfile,
        (name, mechanism): (&str, Mechanism),
        done: &TwinRun,
        slo: Option<&Slo>,
    ) -> Outcome {
        let all = done.all();
        let quantile = |quantile: f64| all.latency.value_at_quantile(quantile);
        // The lowest latency that falls into the same bucket of the histogram.
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

    /// Returns true if it takes part in `view`, at `index` of the sweep's.
    pub(crate) fn is_in(&self, index: usize, view: View) -> bool {
        self.mechanism <= view.mechanism && self.view.is_none_or(|only| only == index)
    }

    /// Joules of an I/O within the boundary `objective`.
    pub(crate) fn joules(&self, objective: Objective) -> f64 {
        self.joules[objective as usize]
    }

    /// Watts within the boundary `objective` of all but the jobs' cores.
    pub(crate) fn others(&self, objective: Objective) -> f64 {
        self.others[objective as usize]
    }

    /// Judges by a promise of the 99th and 99.9th percentiles.
    pub(crate) fn judge(&mut self, slo: &Slo) {
        self.keeps = slo.keeps(|percentile| match percentile {
            Percentile::P99 => Nanos(self.p99),
            _ => Nanos(self.p999),
        });
    }
}
