//! Runners: what has turns on a CPU, the jobs and the threads beside them.

use crate::TwinError;
use crate::neighbour::Neighbour;
use crate::other_irqs::OtherIrqs;
use crate::seat::Seat;
use crate::thread::{JobThread, ThreadPhase};
use joulio_model::MachineProfile;
use joulio_units::Nanos;

/// A thread of the run.
pub(crate) enum Runner<'r, 'a> {
    Job(&'r mut JobThread<'a>),
    Neighbour(&'r mut Neighbour),
    OtherIrqs(&'r mut OtherIrqs),
}

impl Runner<'_, '_> {
    pub(crate) fn cpu(&self) -> usize {
        match self {
            Runner::Job(job) => job.cpu,
            Runner::Neighbour(neighbour) => neighbour.cpu,
            Runner::OtherIrqs(irqs) => irqs.cpu,
        }
    }

    pub(crate) fn is_job(&self) -> bool {
        matches!(self, Runner::Job(_))
    }

    /// Returns true if it has turns on its CPU, which others wait for.
    pub(crate) fn takes_turns(&self) -> bool {
        !matches!(self, Runner::OtherIrqs(_))
    }

    /// The error that ended it, if one did.
    pub(crate) fn refused(&self, machine: &MachineProfile) -> Option<TwinError> {
        match self {
            Runner::Job(job) => job.refused(machine),
            Runner::Neighbour(_) | Runner::OtherIrqs(_) => None,
        }
    }

    /// Returns true if it is about to ring a doorbell.
    #[inline]
    pub(crate) fn rings(&self) -> bool {
        match self {
            Runner::Job(job) => job.phase == ThreadPhase::Ring,
            Runner::Neighbour(_) | Runner::OtherIrqs(_) => false,
        }
    }

    /// Returns true if it does not have its CPU.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        match self {
            Runner::Job(job) => job.is_off(),
            Runner::Neighbour(neighbour) => neighbour.off,
            Runner::OtherIrqs(_) => false,
        }
    }

    /// Takes the CPU away for another thread, at `at`.
    pub(crate) fn preempted(&mut self, at: Nanos) {
        match self {
            Runner::Job(job) => job.preempted(at),
            Runner::Neighbour(neighbour) => neighbour.off = true,
            Runner::OtherIrqs(_) => {}
        }
    }

    /// Does the next thing at `at`, and those that come before `limit` as long as it has its CPU and rings
    /// no doorbell; when the one after is to be done, or nothing more.
    #[inline]
    pub(crate) fn steps(
        &mut self,
        at: Nanos,
        limit: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Option<Nanos> {
        match self {
            Runner::Job(job) => {
                let next = job.steps(at, limit, seat);
                job.goes_on().then_some(next)
            }
            Runner::Neighbour(neighbour) => neighbour.steps(at, limit, seat),
            Runner::OtherIrqs(irqs) => irqs.step(at, seat),
        }
    }
}
