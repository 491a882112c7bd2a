//! Options of an experiment in virtual time beside those that every experiment has.

use super::frequency::CoreFrequency;
use joulio_nvme_spec::feature::InterruptCoalescing;

/// Settings that only virtual time can make, under each combination of which every run is done.
#[derive(Clone, Debug, Default)]
pub struct TwinOptions {
    /// Frequencies of the jobs' cores; none: the machine's reference.
    pub frequencies: Vec<CoreFrequency>,
    /// Interrupt coalescings of the devices; none: off.
    pub coalescing: Vec<InterruptCoalescing>,
    /// Virtual surroundings of all runs: threads beside the jobs, schedulers in their path.
    pub surroundings: VirtualSurroundings,
}

/// Virtual surroundings of the jobs: threads beside them, schedulers in their path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtualSurroundings {
    /// Threads on each CPU of the jobs that compute without end.
    pub neighbours: usize,
    /// Interrupts a second of other queues and devices, on each CPU of the jobs.
    pub other_irqs: u32,
    /// True if the interrupt remapper posts the interrupts of a job's devices into one descriptor.
    pub posted_interrupts: bool,
    /// True if a file system is in the path.
    pub file_system: bool,
    /// True if a thread of the kernel hands requests to the driver.
    pub kworker: bool,
}
