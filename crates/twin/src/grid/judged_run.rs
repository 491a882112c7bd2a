//! Figures by which a run is judged.

use super::{Mechanism, View, joules, neighbours_joules};
use crate::TwinRun;
use joulio_model::MachineProfile;
use joulio_units::{Nanos, PastTdp, Percentile, Slo};
use joulio_wait::Objective;

/// The run of a policy or of an oracle.
#[derive(Clone, Debug)]
pub(crate) struct JudgedRun {
    pub(crate) name: String,
    pub(crate) mechanism: Mechanism,
    /// Index of the only view that the run was simulated for; `None`: all views that include its mechanism.
    pub(crate) view: Option<usize>,
    /// Joules per I/O without those of other programs' threads, by objective.
    joules: [f64; Objective::ALL.len()],
    /// Watts of everything except the jobs' cores, by objective.
    others: [f64; Objective::ALL.len()],
    pub(crate) iops: f64,
    pub(crate) mean: f64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    /// Least latencies in the buckets of `p99` and `p999`, by which a promise is judged.
    least: [Nanos; 2],
    pub(crate) cpu_ns: f64,
    pub(crate) neighbour_percent: Option<f64>,
    pub(crate) past_tdp: Option<PastTdp>,
    /// True if the run keeps the promise.
    pub(crate) keeps: bool,
}

impl JudgedRun {
    /// Returns the figures of `done`, judged by the promise `slo`; without a promise, as not keeping it.
    pub(crate) fn of(
        machine: &MachineProfile,
        (name, mechanism): (&str, Mechanism),
        done: &TwinRun,
        slo: Option<&Slo>,
    ) -> JudgedRun {
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
        let added = neighbours_joules(machine, done).0;
        let seconds = done.window.seconds();
        JudgedRun {
            name: name.into(),
            mechanism,
            view: None,
            joules: read.map(|all| (all - added) / done.ios().max(1) as f64),
            others: read.map(|all| match seconds {
                0.0 => 0.0,
                seconds => ((all - done.parts.cores.0) / seconds).max(0.0),
            }),
            iops: done.iops(),
            mean: all.mean().unwrap_or(0.0),
            p99: quantile(Percentile::P99.quantile()),
            p999: quantile(Percentile::P99_9.quantile()),
            least: [Percentile::P99, Percentile::P99_9].map(least),
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
            Percentile::P99 => self.least[0],
            _ => self.least[1],
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TwinSetup, run_policy};
    use joulio_job::{CompletionMode, EngineName, Job, Method};
    use joulio_model::{DeviceProfile, Pick, power};
    use joulio_units::SloLimit;
    use joulio_wait::AnyPolicy;

    fn machine() -> MachineProfile {
        MachineProfile::builtin("generic-server").unwrap()
    }

    /// Polls for reads on CPU 0, beside so many threads of another program.
    fn polled(machine: &MachineProfile, neighbours: usize) -> TwinRun {
        let devices = [DeviceProfile::builtin("samsung-960-evo").unwrap()];
        let setup = TwinSetup {
            neighbours,
            ..TwinSetup::new(machine, &devices)
        };
        let method = Method {
            engine: EngineName::Nvme,
            mode: CompletionMode::Poll,
        };
        let job = Job::random_reads(2_000);
        run_policy(&job, method, &setup, |_| AnyPolicy::POLL).unwrap()
    }

    fn outcome(machine: &MachineProfile, done: &TwinRun, slo: Option<&Slo>) -> JudgedRun {
        JudgedRun::of(machine, ("poll", Mechanism::Eventfd), done, slo)
    }

    #[test]
    fn the_watts_of_the_rest_lose_those_of_a_neighbour_once() {
        let machine = machine();
        let done = polled(&machine, 1);
        assert!(done.cores[0].neighbour > Nanos::ZERO);
        let package = power::package(&machine, &done.parts, done.window, Pick::Value);
        let rest = (package.0 - done.parts.cores.0) / done.window.seconds();
        let others = outcome(&machine, &done, None).others(Objective::Package);
        assert!((others - rest).abs() < 1e-9, "{others} and {rest} W");
        // What the neighbour added is not the policy's.
        let joules = outcome(&machine, &done, None).joules(Objective::Package);
        let added = neighbours_joules(&machine, &done).0;
        let own = (package.0 - added) / done.ios() as f64;
        assert!(added > 0.0, "{added} J");
        assert!((joules - own).abs() < 1e-12, "{joules} and {own} J");
    }

    #[test]
    fn a_promise_is_judged_alike_whenever_it_is_made() {
        let machine = machine();
        let done = polled(&machine, 0);
        let latency = done.all().latency;
        let limit = |percentile: Percentile, less: u64| SloLimit {
            percentile,
            latency: Nanos(latency.value_at_quantile(percentile.quantile()) - less),
        };
        let p999 = limit(Percentile::P99_9, 0);
        let p99 = limit(Percentile::P99, 1);
        // The limit lies within the bucket of the 99th percentile.
        let least = latency.lowest_equivalent(p99.latency.0 + 1);
        assert!(least <= p99.latency.0, "{least} and {p99:?}");
        let under = SloLimit {
            latency: Nanos(least - 1),
            ..p99
        };
        for (p99, keeps) in [(p99, true), (under, false)] {
            let slo = Slo::new(&[p99, p999]).unwrap();
            let known = outcome(&machine, &done, Some(&slo));
            let mut later = outcome(&machine, &done, None);
            later.judge(&slo);
            assert_eq!((known.keeps, later.keeps), (keeps, keeps), "{slo}");
        }
    }
}
