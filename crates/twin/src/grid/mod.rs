//! Simulation of every policy on every load: the costs of each, and which policy is best.
//!
//! A [`Scenario`] is a device with a load; all policies meet the same device there, I/O by I/O. A [`View`] is what
//! the scenario is judged by: the mechanisms that the processor has, and the boundary of the energy. A scenario in
//! a view is a cell, and [`GridSweep::simulate`] returns the [`GridCell`] of each.

mod axes;
mod judge;
mod judged_run;
mod replicate;
mod scenario;
mod simulate;
mod sweep;

pub use axes::{GridAxes, View};
pub use judge::{GridCell, Judged, OracleJoules, SeedFigures};
pub use scenario::{LoadKind, Scenario, UnknownLoad};
pub use sweep::{GridCandidate, GridError, GridSweep};

use joulio_model::{CoreState, MachineProfile, Pick, power};
use joulio_units::{Joules, Nanos};
use joulio_wait::{Adaptive, Objective, StepKind, StepSet};
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::TwinRun;

/// Mechanisms of a processor and a kernel beyond spins, timers and interrupts; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Spins, timers, and interrupts through an eventfd.
    Eventfd,
    /// `tpause`, `umwait`, and all of [`Mechanism::Eventfd`].
    Tpause,
    /// User interrupts, and all of [`Mechanism::Tpause`].
    UserInterrupt,
}

impl Mechanism {
    /// All mechanisms, the least first.
    pub const ALL: [Mechanism; 3] = [
        Mechanism::Eventfd,
        Mechanism::Tpause,
        Mechanism::UserInterrupt,
    ];

    /// Returns the first mechanism that has all `steps` of a policy.
    pub fn of(steps: StepSet) -> Mechanism {
        if steps.has(StepKind::UserInterrupt) {
            Mechanism::UserInterrupt
        } else if steps.has(StepKind::Pause) || steps.has(StepKind::Monitor) {
            Mechanism::Tpause
        } else {
            Mechanism::Eventfd
        }
    }

    /// Returns the steps that are available with the mechanism.
    pub(crate) fn steps(self) -> StepSet {
        let waits = Adaptive::STEPS
            .with(StepKind::Pause)
            .with(StepKind::Monitor);
        match self {
            Mechanism::Eventfd => Adaptive::STEPS,
            Mechanism::Tpause => waits,
            Mechanism::UserInterrupt => waits.with(StepKind::UserInterrupt),
        }
    }

    /// Returns the light steps that are available with the mechanism.
    pub(crate) fn light(self) -> StepSet {
        let light = StepSet::NONE.with(StepKind::Pause).with(StepKind::Monitor);
        self.steps().and(light)
    }

    /// Returns the name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Eventfd => "eventfd",
            Mechanism::Tpause => "tpause",
            Mechanism::UserInterrupt => "user-interrupt",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the joules of `done` within the boundary `objective`, with those of other programs' threads.
pub(crate) fn joules(objective: Objective, machine: &MachineProfile, done: &TwinRun) -> Joules {
    match objective {
        Objective::Wall => done.parts.total(),
        Objective::Package => power::package(machine, &done.parts, done.window, Pick::Value),
        Objective::Cores => {
            let floor = machine.core_watts(CoreState::C6);
            let asleep = Joules((floor * done.window).0 * done.cores.len() as f64);
            asleep + done.parts.cores + done.parts.wakes
        }
    }
}

/// Returns the joules that other programs' threads added to those of `done`, within every boundary alike.
pub(crate) fn neighbours_joules(machine: &MachineProfile, done: &TwinRun) -> Joules {
    let others = done.cores.iter().map(|core| core.neighbour);
    let others = others.fold(Nanos::ZERO, |sum, time| sum + time);
    let spin = machine.core_watts(CoreState::Spin);
    let floor = machine.core_watts(CoreState::C6);
    Joules((spin * others).0 - (floor * others).0)
}
