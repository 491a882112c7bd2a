//! Faults of a controller while it is served.

use crate::fault::{Fault, FaultPlan, Faulted};
use crate::shared::Shared;
use std::fmt;
use std::sync::Arc;

/// Commits faults in a served controller. Made by [`Server::injector`](super::Server::injector).
#[derive(Clone)]
pub struct Injector(pub(super) Arc<Shared>);

impl Injector {
    /// Commits `fault` now, or, if it is a fault of a command, on the next I/O command that is fetched.
    pub fn inject(&self, fault: Fault) {
        self.0.inject(fault);
    }

    /// Replaces the faults that are still planned; permanent faults remain.
    pub fn plan_faults(&self, plan: &FaultPlan) {
        self.0.plan_faults(plan);
    }

    /// Returns the counts of faults committed so far.
    pub fn faulted(&self) -> Faulted {
        self.0.controller_first().activity().faults
    }
}

impl fmt::Debug for Injector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Injector").field(&self.0.name).finish()
    }
}
