//! A controller that is run by calls.

use crate::controller::Progress;
use crate::fault::Fault;
use crate::shared::Shared;
use joulio_units::Nanos;
use std::fmt;
use std::sync::Arc;

/// Steps a controller that has no thread, in a time that the caller chooses.
pub struct Stepper {
    shared: Arc<Shared>,
}

impl Stepper {
    pub(crate) fn new(shared: Arc<Shared>) -> Stepper {
        Stepper { shared }
    }

    /// Advances the controller to `now`. Time does not go back: an earlier `now` counts as the latest one.
    pub fn step(&self, now: Nanos) -> Progress {
        let mut controller = self.shared.controller();
        let progress = controller.step(now);
        if progress.fetched == 0 && progress.posted == 0 {
            controller.sweep();
        }
        progress
    }

    /// Commits `fault` at the time of the latest step, or, if it is a fault of a command, on the next I/O command that
    /// is fetched.
    pub fn inject(&self, fault: Fault) {
        self.shared.inject(fault);
    }
}

impl fmt::Debug for Stepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepper")
            .field("device", &self.shared.name)
            .finish_non_exhaustive()
    }
}
