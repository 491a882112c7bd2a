//! Descriptions of targets.

use joulio_job::{EngineName, Job};
use joulio_kernel_io::Disk;
use joulio_model::DeviceProfile;
use joulio_units::Direction;

/// Facts about a target that are known when it is opened.
#[derive(Clone, Debug)]
pub struct TargetInfo {
    /// Name with which the user chose the target.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Logical block size in bytes.
    pub block_size: u32,
    /// True if the queues share the device by the weights of their priority classes.
    pub weighted: bool,
    /// Largest number of bytes of one transfer; longer I/Os are split.
    pub max_transfer: u32,
    /// Available engines, each with the largest queue depth of a job.
    pub engines: Vec<(EngineName, usize)>,
    /// Largest number of jobs at once.
    pub max_jobs: usize,
    /// True if data on the target may be overwritten.
    pub may_write: bool,
    /// True if the target may have data that is older than its opening: jobs that only read do not change it.
    pub holds_data: bool,
    /// Disk that the target is, or is on, for the kernel's counters; `None` if the kernel does not drive it.
    pub disk: Option<Disk>,
    /// NUMA node of the device; `None`: not known, or the machine has no nodes.
    pub numa_node: Option<u32>,
    /// True if an IOMMU confines the device to the memory mapped for it; `None` if joulio does not drive the device
    /// over PCIe.
    pub iommu: Option<bool>,
    /// Profile of an emulated device; `None` for a real one.
    pub profile: Option<DeviceProfile>,
}

impl TargetInfo {
    /// Returns true if `job`, which verifies, may write the blocks that it is to read.
    pub(crate) fn lays_out(&self, job: &Job) -> bool {
        self.may_write && (job.does(Direction::Write) || !self.holds_data)
    }

    /// Returns the largest queue depth of a job with `engine`; zero if the target does not have that engine.
    pub fn max_depth(&self, engine: EngineName) -> usize {
        let mut engines = self.engines.iter();
        engines
            .find(|(name, _)| *name == engine)
            .map_or(0, |(_, depth)| *depth)
    }
}
