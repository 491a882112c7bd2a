//! Events that an engine records beside its I/O.

use super::{EngineError, RequestError};
use joulio_engine::Engine;
use joulio_kernel_io::KernelEngine;
use joulio_nvme::Faults;
use joulio_trace::Recorded;
use std::collections::BTreeSet;

/// An engine that a job can run on. The user-space driver records events and counts what its
/// device did wrong; the kernel's engines do neither.
pub trait Traced: Engine<Error: Into<EngineError>, Failure: Into<RequestError>> {
    /// Records events from now on, keeping the last `capacity` of each queue.
    fn start_trace(&mut self, _capacity: usize) {}

    /// Ends the recording, and returns what each queue recorded.
    fn take_trace(&mut self) -> Vec<Recorded> {
        Vec::new()
    }

    /// Returns the CPUs that take the engine's interrupts, and the reason if they could not be directed.
    fn interrupt_cpus(&self) -> (BTreeSet<u32>, Option<String>) {
        (BTreeSet::new(), None)
    }

    /// Faults of the device since the engine was made.
    fn faults(&self) -> Faults {
        Faults::default()
    }
}

impl<E: KernelEngine> Traced for E {}
