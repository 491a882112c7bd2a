//! A sweep over scenarios.

use super::judge::{Cell, Outcome, ScenarioPromise, judge};
use super::{Mechanism, Meter, Scenario, View};
use crate::job_check::check_load;
use crate::{Oracle, TwinError, TwinRun, TwinSetup, run_oracle, run_policy};
use joulio_job::{Arrivals, CompletionMode, EngineName, Job, Load, Method};
use joulio_model::{DeviceProfile, MachineProfile, MeteredAt, ServiceModel};
use joulio_units::{Direction, Nanos, Watts};
use joulio_wait::{AnyPolicy, Policy, SkiRental, StepKind, StepSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Why a grid cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The promise is one that the device breaks alone.
    #[error(
        "slo: {} us is under what {device} itself takes for {what} of {bs} bytes, {} us",
        micros(*.slo), micros(*.takes)
    )]
    Slo {
        /// The device's profile.
        device: String,
        /// `a read` or `a write`.
        what: &'static str,
        /// Bytes of the I/O.
        bs: u32,
        /// Nanoseconds that were promised.
        slo: Nanos,
        /// Nanoseconds of the mean service time.
        takes: Nanos,
    },
    /// A view that the machine has no watts for.
    #[error("{machine} has no watts at the wall: its profile is of the package")]
    Wall {
        /// The machine's profile.
        machine: String,
    },
    /// A scenario cannot be simulated.
    #[error(transparent)]
    Twin(#[from] TwinError),
}

fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

/// A policy that takes part.
pub struct Candidate {
    /// Name of the policy.
    pub name: String,
    /// Mechanism that the policy needs.
    pub mechanism: Mechanism,
    make: Box<dyn Fn() -> AnyPolicy + Send + Sync>,
}

impl Candidate {
    /// The policies that `make` makes.
    pub fn new(make: impl Fn() -> AnyPolicy + Send + Sync + 'static) -> Candidate {
        let one = make();
        Candidate {
            name: one.name().into_owned(),
            mechanism: Mechanism::of(one.steps()),
            make: Box::new(make),
        }
    }

    /// Every policy that does not only spin, ski-rental by the break-even of `machine`.
    pub fn all(machine: &MachineProfile) -> Vec<Candidate> {
        let watts = &machine.core_watts;
        let even = SkiRental::break_even(
            watts.spin.watts(),
            watts.c1.watts(),
            machine.wake.interrupt_joules.joules(),
        );
        let own = |mode: CompletionMode| match (mode, even) {
            (CompletionMode::SkiRental(_), Some(even)) => CompletionMode::SkiRental(even),
            (mode, _) => mode,
        };
        let modes = CompletionMode::ALL.into_iter().map(own);
        // The oracle's own baseline is a spin: what only spins is no candidate beside it.
        let spins = StepSet::NONE.with(StepKind::Spin);
        let modes = modes.filter(|mode| mode.policy().is_some_and(|one| one.steps() != spins));
        modes
            .map(|mode| Candidate::new(move || mode.policy().unwrap_or(AnyPolicy::POLL)))
            .collect()
    }
}

/// A sweep: what all its scenarios have in common.
pub struct Sweep {
    /// The machine.
    pub machine: MachineProfile,
    /// The policies, polling not among them: it always takes part.
    pub candidates: Vec<Candidate>,
    /// I/Os of a run, of all jobs.
    pub ios: u64,
    /// Nanoseconds before the measured part, so that each policy has learnt.
    pub ramp_time: Nanos,
    /// The latency that 99 of 100 I/Os may not exceed; `None`: polling's and a hundredth.
    pub slo: Option<Nanos>,
    /// Seed of every random number.
    pub seed: u64,
    /// Flag that ends a scenario in the middle once it is set ([`TwinError::Stopped`]).
    pub stop: Arc<AtomicBool>,
}

impl Sweep {
    /// An epoch of the policy with the longest, and some.
    pub const RAMP: Nanos = Nanos::from_millis(110);
}

/// The user-space driver, whose policies are compared.
const DRIVER: Method = Method {
    engine: EngineName::Nvme,
    mode: CompletionMode::Poll,
};

/// I/Os that show what a closed loop does.
const FIRST: u64 = 4_000;

impl Sweep {
    /// Refuses I/Os that `scenario`'s device does not do, and a promise that it breaks alone.
    ///
    /// # Errors
    /// [`GridError`], saying which.
    pub fn check(&self, scenario: &Scenario, device: &DeviceProfile) -> Result<(), GridError> {
        let load = Load {
            read_percent: scenario.read_percent,
            bs: scenario.bs,
            arrivals: Arrivals::Closed,
        };
        check_load(&load, std::slice::from_ref(device))?;
        let Some(slo) = self.slo else { return Ok(()) };
        let service = ServiceModel::new(device, self.seed);
        let sides = [
            (scenario.read_percent > 0, Direction::Read, "a read"),
            (scenario.read_percent < 100, Direction::Write, "a write"),
        ];
        for (done, direction, what) in sides {
            let takes = service.mean(direction, scenario.bs);
            if done && slo < takes {
                return Err(GridError::Slo {
                    device: device.name.clone(),
                    what,
                    bs: scenario.bs,
                    slo,
                    takes,
                });
            }
        }
        Ok(())
    }

    /// Simulates `scenario`, and judges it in each of `views`.
    ///
    /// # Errors
    /// [`GridError`], if the scenario cannot be simulated or the machine has no such view.
    pub fn simulate(
        &self,
        scenario: &Scenario,
        device: &DeviceProfile,
        views: &[View],
    ) -> Result<Vec<Cell>, GridError> {
        self.check(scenario, device)?;
        let package = self.machine.boundary == MeteredAt::Package;
        if package && views.iter().any(|view| view.boundary == Meter::Wall) {
            let machine = self.machine.name.clone();
            return Err(GridError::Wall { machine });
        }
        let devices = std::slice::from_ref(device);
        let setup = TwinSetup {
            neighbours: scenario.load.neighbours(),
            stop: Some(&*self.stop),
            ..TwinSetup::new(&self.machine, devices)
        };
        let poll = |job: &Job| run_policy(job, DRIVER, &setup, |_| AnyPolicy::POLL);
        let capacity = poll(&scenario.closed(FIRST, Nanos::ZERO, self.seed))?.iops();
        let job = scenario.job(self.ios, self.ramp_time, self.seed, capacity);
        let polled = poll(&job)?;
        let noise = poll(&Job {
            seed: self.seed.wrapping_add(1),
            ..job.clone()
        })?;
        let p99 = |done: &TwinRun| done.all().latency.value_at_quantile(0.99) as f64;
        let verdict = ScenarioPromise {
            limit: match self.slo {
                Some(slo) => slo,
                None => Nanos::nearest(p99(&polled) * 1.01),
            },
            noise: (p99(&noise) / p99(&polled).max(1.0) - 1.0).abs(),
        };
        let mut outcomes = vec![Outcome::of("poll", Mechanism::Eventfd, polled)];
        for candidate in &self.candidates {
            let done = run_policy(&job, DRIVER, &setup, |_| (candidate.make)());
            let done = match done {
                // The machine lacks what it needs.
                Err(TwinError::Step { .. }) => continue,
                done => done?,
            };
            outcomes.push(Outcome::of(&candidate.name, candidate.mechanism, done));
        }
        let mut simulated: Vec<(Oracle, Outcome)> = Vec::new();
        let mut rows = Vec::new();
        for view in views {
            let tries = self.oracles(&job, *view, &outcomes[0], verdict.limit);
            for oracle in &tries {
                if simulated.iter().all(|(other, _)| other != oracle) {
                    let done = run_oracle(&job, DRIVER, &setup, *oracle)?;
                    simulated.push((*oracle, Outcome::of("oracle", view.mechanism, done)));
                }
            }
            let tried = simulated
                .iter()
                .filter(|(oracle, _)| tries.contains(oracle));
            let tried: Vec<_> = tried.map(|(_, outcome)| outcome).collect();
            let row = judge(&self.machine, scenario, *view, &outcomes, &tried, verdict);
            rows.push(row);
        }
        Ok(rows)
    }

    /// The oracle's tries: napping or not, and above depth 1 batching or not.
    fn oracles(&self, job: &Job, view: View, polled: &Outcome, limit: Nanos) -> Vec<Oracle> {
        let batches: &[bool] = if job.iodepth > 1 {
            &[false, true]
        } else {
            &[false]
        };
        // A closed loop has no time in which nothing is out.
        let closed = job.phases.is_empty() && job.arrivals == Arrivals::Closed;
        let naps: &[bool] = if closed { &[true] } else { &[false, true] };
        let share = self.share(closed, view.boundary, job, polled);
        let tries = batches.iter().flat_map(|&batch| {
            naps.iter().map(move |&nap| Oracle {
                limit,
                share,
                can: view.mechanism.light(),
                batch,
                nap,
            })
        });
        tries.collect()
    }

    /// Watts of `meter` that flow while a job of a closed loop waits, whatever its core does: all
    /// that polling draws, without its cores, a job.
    fn share(&self, closed: bool, meter: Meter, job: &Job, polled: &Outcome) -> Watts {
        let seconds = polled.done.window.seconds();
        if !closed || seconds == 0.0 {
            return Watts(0.0);
        }
        let all = meter.read(&self.machine, &polled.done).0;
        let others = all - polled.done.parts.cores.0;
        Watts((others / seconds / job.numjobs as f64).max(0.0))
    }
}
