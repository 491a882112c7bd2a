//! A sweep over scenarios.

use super::{Mechanism, Scenario};
use crate::TwinError;
use crate::job_check::check_load;
use joulio_job::{Arrivals, CompletionMode, Load};
use joulio_model::{DeviceProfile, MachineProfile, ServiceModel};
use joulio_units::{Direction, Nanos, Percentile, Slo};
use joulio_wait::{AnyPolicy, Policy, SkiRental, StepKind, StepSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Why a grid cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The device alone takes longer than the promised limit.
    #[error(
        "slo: {percentile} of {} us is under what {device} itself takes for {what} of {bs} bytes, {} us",
        micros(*.slo), micros(*.takes)
    )]
    Slo {
        /// The device's profile.
        device: String,
        /// `a read` or `a write`.
        what: &'static str,
        /// Bytes of the I/O.
        bs: u32,
        /// Percentile of the promise.
        percentile: Percentile,
        /// Promised limit in nanoseconds.
        slo: Nanos,
        /// Nanoseconds of the mean service time.
        takes: Nanos,
    },
    /// The run has too few I/Os for a percentile.
    #[error(
        "slo: {percentile} is of one in {one_in} I/Os, and a run has {ios}: give --number_ios more"
    )]
    FewIos {
        /// Percentile of the promise.
        percentile: Percentile,
        /// Number of I/Os of which one may exceed the limit.
        one_in: u64,
        /// I/Os of a run.
        ios: u64,
    },
    /// A view needs watts at the wall, which the machine's profile lacks.
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

/// A policy that takes part in a sweep.
pub struct GridCandidate {
    /// Name of the policy.
    pub name: String,
    /// Mechanism that the policy needs.
    pub mechanism: Mechanism,
    make: Box<dyn Fn() -> AnyPolicy + Send + Sync>,
}

impl GridCandidate {
    /// Returns a candidate with the policies that `make` returns.
    pub fn new(make: impl Fn() -> AnyPolicy + Send + Sync + 'static) -> GridCandidate {
        let one = make();
        GridCandidate {
            name: one.name().into_owned(),
            mechanism: Mechanism::of(one.steps()),
            make: Box::new(make),
        }
    }

    /// Returns a new policy.
    pub(super) fn policy(&self) -> AnyPolicy {
        (self.make)()
    }

    /// Returns all policies that do more than spin; ski-rental has the break-even time of `machine`.
    pub fn all(machine: &MachineProfile) -> Vec<GridCandidate> {
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
        let modes = modes.filter(|mode| !mode.is_for_comparison());
        // Adaptive is simulated in each view, with its promise and boundary.
        let modes = modes.filter(|mode| *mode != CompletionMode::Adaptive);
        // The oracles may spin all the time, so that a policy that only spins is no candidate.
        let spins = StepSet::NONE.with(StepKind::Spin);
        let modes = modes.filter(|mode| mode.policy().is_some_and(|one| one.steps() != spins));
        modes
            .map(|mode| GridCandidate::new(move || mode.policy().unwrap_or(AnyPolicy::POLL)))
            .collect()
    }
}

/// A sweep: the settings common to all its scenarios.
pub struct GridSweep {
    /// The machine.
    pub machine: MachineProfile,
    /// The policies without polling, which always takes part.
    pub candidates: Vec<GridCandidate>,
    /// I/Os of a run, over all jobs.
    pub ios: u64,
    /// Nanoseconds before the measured part, in which the policies learn.
    pub ramp_time: Nanos,
    /// The promise; `None`: polling's 99th and 99.9th percentiles plus one percent, or on shared CPUs those of
    /// interrupts if their 99.9th percentile is lower.
    pub slo: Option<Slo>,
    /// Seed of all random numbers, for the first replicate.
    pub seed: u64,
    /// Number of seeds: `seed` and those after it; at least 1.
    pub replicates: u32,
    /// Flag that ends a scenario before its end once it is set ([`TwinError::Stopped`]).
    pub stop: Arc<AtomicBool>,
}

impl GridSweep {
    /// Ramp that is longer than the longest epoch of any policy.
    pub const RAMP: Nanos = Nanos::from_millis(110);
}

impl GridSweep {
    /// Checks that `scenario`'s device can do the I/Os, and does not break the promise by its service time alone.
    ///
    /// # Errors
    /// [`GridError`], with the reason.
    pub fn check(&self, scenario: &Scenario, device: &DeviceProfile) -> Result<(), GridError> {
        let load = Load {
            read_percent: scenario.read_percent,
            bs: scenario.bs,
            arrivals: Arrivals::Closed,
        };
        check_load(&load, std::slice::from_ref(device))?;
        let Some(slo) = self.slo else { return Ok(()) };
        for percentile in slo.limits().iter().map(|limit| limit.percentile) {
            let one_in = (1.0 / percentile.above()).round() as u64;
            if self.ios < one_in {
                return Err(GridError::FewIos {
                    percentile,
                    one_in,
                    ios: self.ios,
                });
            }
        }
        let service = ServiceModel::new(device, self.seed);
        let sides = [
            (scenario.read_percent > 0, Direction::Read, "a read"),
            (scenario.read_percent < 100, Direction::Write, "a write"),
        ];
        for (done, direction, what) in sides {
            let takes = service.mean(direction, scenario.bs);
            let mut limits = slo.limits().iter();
            // A lower percentile may well be below the mean.
            let broken =
                limits.find(|limit| limit.latency < takes && limit.percentile >= Percentile::P99);
            if let Some(limit) = broken.filter(|_| done) {
                return Err(GridError::Slo {
                    device: device.name.clone(),
                    what,
                    bs: scenario.bs,
                    percentile: limit.percentile,
                    slo: limit.latency,
                    takes,
                });
            }
        }
        Ok(())
    }
}
