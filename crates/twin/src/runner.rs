//! Runners: threads that take turns on a CPU, jobs and the threads beside them.

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

    pub(crate) fn is_other_irqs(&self) -> bool {
        matches!(self, Runner::OtherIrqs(_))
    }

    /// Returns the error that ended the thread, if one did.
    pub(crate) fn refused(&self, machine: &MachineProfile) -> Option<TwinError> {
        match self {
            Runner::Job(job) => job.refused(machine),
            Runner::Neighbour(_) | Runner::OtherIrqs(_) => None,
        }
    }

    /// Returns true if the thread's next action is to ring a doorbell.
    #[inline]
    pub(crate) fn rings(&self) -> bool {
        match self {
            Runner::Job(job) => job.phase == ThreadPhase::Ring,
            Runner::Neighbour(_) | Runner::OtherIrqs(_) => false,
        }
    }

    /// Returns true if the thread takes turns, and has its turn now.
    pub(crate) fn has_its_turn(&self) -> bool {
        match self {
            Runner::Job(job) => !job.is_off(),
            Runner::Neighbour(neighbour) => !neighbour.is_off(),
            Runner::OtherIrqs(_) => false,
        }
    }
}

/// A thread that takes turns with others on its CPU.
pub(crate) trait TakesTurns {
    const IS_JOB: bool;

    fn cpu(&self) -> usize;

    /// Returns true if the thread does not have its CPU.
    fn is_off(&self) -> bool;

    /// Takes the CPU from the thread for another one, at `at`.
    fn preempted(&mut self, at: Nanos);

    /// Runs the thread from `at` on, up to `limit` at most, as long as it has its CPU and rings no doorbell.
    /// Returns the time of its next action; `None`: there is none.
    fn steps(&mut self, at: Nanos, limit: Nanos, seat: &mut Seat<'_, '_>) -> Option<Nanos>;
}

impl TakesTurns for JobThread<'_> {
    const IS_JOB: bool = true;

    #[inline]
    fn cpu(&self) -> usize {
        self.cpu
    }

    #[inline]
    fn is_off(&self) -> bool {
        self.phase == ThreadPhase::Woken
    }

    fn preempted(&mut self, at: Nanos) {
        self.has_lost_its_cpu(at);
    }

    #[inline]
    fn steps(&mut self, at: Nanos, limit: Nanos, seat: &mut Seat<'_, '_>) -> Option<Nanos> {
        let next = self.until(at, limit, seat);
        self.goes_on().then_some(next)
    }
}

impl TakesTurns for Neighbour {
    const IS_JOB: bool = false;

    fn cpu(&self) -> usize {
        self.cpu
    }

    fn is_off(&self) -> bool {
        self.off
    }

    fn preempted(&mut self, _: Nanos) {
        self.off = true;
    }

    fn steps(&mut self, at: Nanos, limit: Nanos, seat: &mut Seat<'_, '_>) -> Option<Nanos> {
        self.computes(at, limit, seat)
    }
}
