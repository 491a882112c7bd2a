//! What an experiment in virtual time has beside other experiments.

use super::frequency::CoreFrequency;
use joulio_nvme_spec::feature::InterruptCoalescing;

/// Settings that only virtual time can make, under each combination of which every run is done.
#[derive(Clone, Debug, Default)]
pub struct TwinOptions {
    /// Frequencies of the jobs' cores; none: the machine's reference.
    pub frequencies: Vec<CoreFrequency>,
    /// Interrupt coalescings of the devices; none: off.
    pub coalescing: Vec<InterruptCoalescing>,
}
