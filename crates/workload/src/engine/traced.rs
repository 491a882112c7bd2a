//! Events and faults that an engine records in addition to its I/O.

use super::{EngineError, RequestError};
use joulio_engine::Engine;
use joulio_kernel_io::KernelEngine;
use joulio_nvme::Faults;
use joulio_trace::Recorded;
use std::collections::BTreeSet;

/// An engine that a job can run on. The user-space driver records events and counts the faults of its device; the
/// kernel's engines do neither.
pub trait Traced: Engine<Error: Into<EngineError>, Failure: Into<RequestError>> {
    /// Records events from now on, keeping the last `capacity` events of each queue.
    fn start_trace(&mut self, _capacity: usize) {}

    /// Ends the recording, and returns the recorded events of each queue.
    fn take_trace(&mut self) -> Vec<Recorded> {
        Vec::new()
    }

    /// Returns the CPUs that handle the engine's interrupts, and the reason if they are not directed to the job's CPU.
    fn interrupt_cpus(&self) -> (BTreeSet<u32>, Option<String>) {
        (BTreeSet::new(), None)
    }

    /// Returns the faults of the device since the engine was created.
    fn faults(&self) -> Faults {
        Faults::default()
    }
}

impl<E: KernelEngine> Traced for E {}
