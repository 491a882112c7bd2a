//! Additional options of an experiment in virtual time.

use super::frequency::CoreFrequency;
use joulio_nvme_spec::feature::InterruptCoalescing;

/// Settings that only virtual time can make; every run is done with each combination of them.
#[derive(Clone, Debug, Default)]
pub struct TwinOptions {
    /// Frequencies of the jobs' cores; empty: the machine's reference.
    pub frequencies: Vec<CoreFrequency>,
    /// Interrupt coalescing values of the devices; empty: off.
    pub coalescing: Vec<InterruptCoalescing>,
    /// Surroundings of all runs: threads beside the jobs, schedulers in the I/O path.
    pub surroundings: VirtualSurroundings,
}

/// Surroundings of the jobs: threads beside them, schedulers in the I/O path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtualSurroundings {
    /// Number of threads on each CPU of the jobs that compute all the time.
    pub neighbours: usize,
    /// Interrupts per second of other queues and devices on each CPU of the jobs.
    pub other_irqs: u32,
    /// True if the interrupt remapper posts the interrupts of a job's devices into one descriptor.
    pub posted_interrupts: bool,
    /// True if I/Os go through a file system.
    pub file_system: bool,
    /// True if a kernel thread hands requests to the driver.
    pub kworker: bool,
}
