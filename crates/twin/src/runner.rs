//! What has turns on a CPU: the jobs, and the threads beside them.

use crate::TwinError;
use crate::neighbour::Neighbour;
use crate::thread::{JobThread, ThreadPhase};
use crate::world::World;
use joulio_units::Nanos;

/// A thread of the run.
pub(crate) enum Runner<'r, 'a> {
    Job(&'r mut JobThread<'a>),
    Neighbour(&'r mut Neighbour),
}

impl Runner<'_, '_> {
    pub(crate) fn cpu(&self) -> usize {
        match self {
            Runner::Job(job) => job.cpu,
            Runner::Neighbour(neighbour) => neighbour.cpu,
        }
    }

    /// Returns true if it does not have its CPU.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        match self {
            Runner::Job(job) => job.is_off(),
            Runner::Neighbour(neighbour) => neighbour.off,
        }
    }

    /// Its CPU is taken for another thread, at `at`.
    pub(crate) fn preempted(&mut self, at: Nanos) {
        match self {
            Runner::Job(job) => job.preempted(at),
            Runner::Neighbour(neighbour) => neighbour.off = true,
        }
    }

    /// Does the next thing at `at`; when the one after is to be done, or nothing more.
    #[inline]
    pub(crate) fn step(
        &mut self,
        at: Nanos,
        world: &mut World<'_>,
    ) -> Result<Option<Nanos>, TwinError> {
        match self {
            Runner::Job(job) => job.step(at, world),
            Runner::Neighbour(neighbour) => Ok(neighbour.step(at, world)),
        }
    }

    /// Returns true if what comes next is seen by nobody on another CPU.
    #[inline]
    pub(crate) fn alone(&self) -> bool {
        match self {
            Runner::Job(job) => job.phase != ThreadPhase::Ring,
            Runner::Neighbour(_) => true,
        }
    }
}
