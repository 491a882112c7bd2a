//! One seed of a scenario: results of each policy and each oracle on the same device, I/O by I/O.

use super::judged_run::JudgedRun;
use super::{GridError, GridSweep, Mechanism, Scenario, View};
use crate::{Oracle, TwinError, TwinRun, TwinSetup, run_oracle, run_policy, wait_costs};
use joulio_job::{Arrivals, CompletionMode, EngineName, Job, Method};
use joulio_units::{Nanos, Percentile, Slo, SloLimit, Watts};
use joulio_wait::{Adaptive, AnyPolicy, Goal, Objective, Promised, WaitCosts};

/// The user-space driver, whose policies are compared.
const DRIVER: Method = Method {
    engine: EngineName::Nvme,
    mode: CompletionMode::Poll,
};

/// I/Os of the run that measures the rate of a closed loop.
const FIRST: u64 = 4_000;

/// Knowledge of an oracle about the future, and its use of late I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knows {
    /// The time when each I/O completes.
    Completions,
    /// Completions, and a fraction of the I/Os may be late, as the promise allows.
    Spending,
    /// Completions, late I/Os, and the next arrival.
    Everything,
}

/// A scenario with every seed.
pub(crate) struct Replicates {
    /// One replicate for each seed; at least one, and all have the same policies.
    pub(crate) seeds: Vec<Replicate>,
    /// Difference between the first seed and another, in polling's 99th and 99.9th percentiles: the larger divided
    /// by the smaller, less one.
    pub(crate) noise: (f64, f64),
    /// Policy whose latencies are the promise, if the user gave none.
    pub(crate) slo_of: Option<String>,
}

/// Results of a scenario with one seed.
pub(crate) struct Replicate {
    pub(crate) slo: Slo,
    /// Outcomes by policy, polling first.
    pub(crate) outcomes: Vec<JudgedRun>,
    pub(crate) oracles: Vec<(Oracle, JudgedRun)>,
    /// Oracles that are tried in each view, as indices of `oracles`.
    pub(crate) tries: Vec<Vec<(Knows, usize)>>,
}

/// Runs of all policies for one job.
struct Policies {
    job: Job,
    /// Outcomes by policy, polling first.
    outcomes: Vec<JudgedRun>,
}

impl GridSweep {
    /// Simulates every policy and every oracle with each seed.
    pub(super) fn replicates(
        &self,
        scenario: &Scenario,
        setup: &TwinSetup<'_>,
        views: &[View],
    ) -> Result<Replicates, GridError> {
        let seeds = (0..u64::from(self.replicates.max(1))).map(|n| self.seed.wrapping_add(n));
        let simulated = seeds.map(|seed| self.policies(scenario, setup, seed));
        let simulated = simulated.collect::<Result<Vec<_>, _>>()?;
        let reference = self.reference(scenario, &simulated);
        let slo_of = match self.slo {
            Some(_) => None,
            None => Some(simulated[0].outcomes[reference].name.clone()),
        };
        let noise = self.noise(scenario, setup, &simulated)?;
        let seeds = simulated.into_iter().map(|Policies { job, mut outcomes }| {
            // If the user gave a promise, the outcomes are judged by it already.
            let slo = self.slo.unwrap_or_else(|| {
                let slo = like(&outcomes[reference]);
                outcomes.iter_mut().for_each(|outcome| outcome.judge(&slo));
                slo
            });
            self.with_oracles(&job, slo, outcomes, setup, views)
        });
        Ok(Replicates {
            seeds: seeds.collect::<Result<_, _>>()?,
            noise,
            slo_of,
        })
    }

    /// Simulates every policy with `seed`.
    fn policies(
        &self,
        scenario: &Scenario,
        setup: &TwinSetup<'_>,
        seed: u64,
    ) -> Result<Policies, GridError> {
        let (job, polled) = self.polled(scenario, setup, seed)?;
        let outcome = |name: &str, mechanism, done: &TwinRun| {
            JudgedRun::of(&self.machine, (name, mechanism), done, self.slo.as_ref())
        };
        let mut outcomes = vec![outcome("poll", Mechanism::Eventfd, &polled)];
        for candidate in &self.candidates {
            let done = run_policy(&job, DRIVER, setup, |_| candidate.policy());
            let done = match done {
                // The machine lacks a step that the policy needs.
                Err(TwinError::Step { .. }) => continue,
                done => done?,
            };
            outcomes.push(outcome(&candidate.name, candidate.mechanism, &done));
        }
        Ok(Policies { job, outcomes })
    }

    /// Adds the oracles of each of `views` to the policies' `outcomes` of `job`.
    fn with_oracles(
        &self,
        job: &Job,
        slo: Slo,
        outcomes: Vec<JudgedRun>,
        setup: &TwinSetup<'_>,
        views: &[View],
    ) -> Result<Replicate, GridError> {
        let mut outcomes = outcomes;
        for (index, view) in views.iter().enumerate() {
            outcomes.extend(self.adaptive((index, *view), job, &outcomes[0], slo, setup)?);
        }
        let mut oracles: Vec<(Oracle, JudgedRun)> = Vec::new();
        let mut tries = Vec::new();
        for view in views {
            let mut here = Vec::new();
            for (knows, oracle) in self.tries(job, *view, &outcomes[0], slo) {
                let known = oracles.iter().position(|(other, _)| *other == oracle);
                let at = match known {
                    Some(at) => at,
                    None => {
                        let done = run_oracle(job, DRIVER, setup, oracle)?;
                        let named = ("oracle", view.mechanism);
                        let outcome = JudgedRun::of(&self.machine, named, &done, Some(&slo));
                        oracles.push((oracle, outcome));
                        oracles.len() - 1
                    }
                };
                here.push((knows, at));
            }
            tries.push(here);
        }
        Ok(Replicate {
            slo,
            outcomes,
            oracles,
            tries,
        })
    }

    /// Simulates the adaptive policy with the promise and the boundary of the view at `index`.
    fn adaptive(
        &self,
        (index, view): (usize, View),
        job: &Job,
        polled: &JudgedRun,
        slo: Slo,
        setup: &TwinSetup<'_>,
    ) -> Result<Option<JudgedRun>, GridError> {
        let costs = WaitCosts {
            package: Watts(polled.others(Objective::Package)),
            wall: Watts(polled.others(Objective::Wall)),
            ..wait_costs(job, DRIVER, setup)?
        };
        let promised = match self.slo {
            Some(slo) => Promised::Slo(slo),
            None => Promised::Budget {
                share: LIKE,
                floor: Nanos::ZERO,
                polled: Some(scaled(slo.limits().iter().copied(), 1.0 / (1.0 + LIKE))),
            },
        };
        let goal = Goal {
            objective: view.boundary,
            promised,
        };
        let policy = Adaptive::new(costs, goal, job.numjobs, view.mechanism.steps());
        let own = |_| AnyPolicy::Adaptive(policy.clone());
        let done = match run_policy(job, DRIVER, setup, own) {
            // The machine lacks a step that the policy needs.
            Err(TwinError::Step { .. }) => return Ok(None),
            done => done?,
        };
        let named = ("adaptive", view.mechanism);
        let mut outcome = JudgedRun::of(&self.machine, named, &done, Some(&slo));
        outcome.view = Some(index);
        Ok(Some(outcome))
    }

    /// Returns the job of `scenario` with `seed`, and the run of it with polling.
    fn polled(
        &self,
        scenario: &Scenario,
        setup: &TwinSetup<'_>,
        seed: u64,
    ) -> Result<(Job, TwinRun), TwinError> {
        let poll = |job: &Job| run_policy(job, DRIVER, setup, |_| AnyPolicy::POLL);
        let cpus = self.machine.cpus();
        let capacity = poll(&scenario.closed(FIRST, Nanos::ZERO, seed, cpus))?.iops();
        let job = scenario.job(self.ios, self.ramp_time, seed, (capacity, cpus));
        let done = poll(&job)?;
        Ok((job, done))
    }

    /// Returns the difference between the first seed and another, in polling's 99th and 99.9th percentiles: the
    /// larger divided by the smaller, less one.
    fn noise(
        &self,
        scenario: &Scenario,
        setup: &TwinSetup<'_>,
        simulated: &[Policies],
    ) -> Result<(f64, f64), GridError> {
        let polled = |one: &Policies| (one.outcomes[0].p99, one.outcomes[0].p999);
        let first = polled(&simulated[0]);
        let other = match simulated.get(1) {
            Some(other) => polled(other),
            None => {
                let (_, done) = self.polled(scenario, setup, self.seed.wrapping_add(1))?;
                let all = done.all().latency;
                (all.value_at_quantile(0.99), all.value_at_quantile(0.999))
            }
        };
        let over = |a: u64, b: u64| a.max(b) as f64 / a.min(b).max(1) as f64 - 1.0;
        Ok((over(first.0, other.0), over(first.1, other.1)))
    }

    /// Returns the oracles to try: above depth 1, with and without leaving completions for later; in a load whose
    /// I/Os arrive by themselves, with and without naps. An oracle that knows more also has the tries of those that
    /// know less.
    fn tries(&self, job: &Job, view: View, polled: &JudgedRun, slo: Slo) -> Vec<(Knows, Oracle)> {
        let deep = job.iodepth > 1;
        // In a closed loop an I/O is always in flight.
        let closed = job.phases.is_empty() && job.arrivals == Arrivals::Closed;
        // Watts of the rest of the machine per job of a closed loop: drawn while the job waits, whatever its core
        // does.
        let share = match closed {
            true => polled.others(view.boundary) / job.numjobs as f64,
            false => 0.0,
        };
        let oracle = |batch: bool, nap: bool| Oracle {
            slo,
            share: Watts(share),
            can: view.mechanism.light(),
            batch,
            nap,
            arrivals: false,
            spend: false,
        };
        let batches: &[bool] = if deep { &[false, true] } else { &[false] };
        let naps: &[bool] = if closed { &[true] } else { &[false, true] };
        let mut tries = Vec::new();
        for &nap in naps {
            for &batch in batches {
                tries.push((Knows::Completions, oracle(batch, nap)));
            }
            let spending = Oracle {
                spend: true,
                ..oracle(deep, nap)
            };
            tries.push((Knows::Spending, spending));
        }
        // A closed loop has no arrivals to know.
        for spend in [false, true].into_iter().filter(|_| !closed) {
            let everything = Oracle {
                arrivals: true,
                spend,
                ..oracle(deep, true)
            };
            tries.push((Knows::Everything, everything));
        }
        tries
    }

    /// Returns the index of the policy whose latencies are the promise: polling. On shared CPUs, where a thread
    /// that spins may have to wait for a whole tick, it is polling or interrupts, whichever has the lower 99.9th
    /// percentile.
    fn reference(&self, scenario: &Scenario, simulated: &[Policies]) -> usize {
        let p999 = |index: usize| -> u64 {
            let seeds = simulated.iter();
            seeds.map(|one| one.outcomes[index].p999).sum()
        };
        let mut outcomes = simulated[0].outcomes.iter();
        let interrupt = outcomes.position(|one| one.name == "interrupt");
        match interrupt.filter(|_| scenario.shares_cpus(&self.machine)) {
            Some(interrupt) if p999(interrupt) < p999(0) => interrupt,
            _ => 0,
        }
    }
}

/// Fraction by which polling's percentiles may be exceeded, if the user gave no promise.
const LIKE: f64 = 0.01;

/// Returns a promise of the latencies of `outcome`, with one percent added.
fn like(outcome: &JudgedRun) -> Slo {
    let limit = |percentile, ns: u64| SloLimit {
        percentile,
        latency: Nanos(ns),
    };
    let p99 = limit(Percentile::P99, outcome.p99);
    let p999 = limit(Percentile::P99_9, outcome.p999);
    scaled([p99, p999].into_iter(), 1.0 + LIKE)
}

/// Returns a promise of `limits`, each multiplied by `times`.
fn scaled(limits: impl Iterator<Item = SloLimit>, times: f64) -> Slo {
    let limits = limits.map(|one| SloLimit {
        latency: Nanos::nearest(one.latency.0 as f64 * times).max(Nanos(1)),
        ..one
    });
    let limits: Vec<SloLimit> = limits.collect();
    Slo::new(&limits).unwrap_or_else(|_| Slo::of(limits[0].percentile, limits[0].latency))
}
