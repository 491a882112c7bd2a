//! Description of a target.

use joulio_job::EngineName;
use joulio_kernel_io::Disk;
use joulio_model::DeviceProfile;

/// Facts about a target, from when it was opened.
#[derive(Clone, Debug)]
pub struct TargetInfo {
    /// Name by which the user chose it.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Logical block size in bytes.
    pub block_size: u32,
    /// True if its queues share it by the weights of their priority classes.
    pub weighted: bool,
    /// Bytes that it transfers at once; longer I/Os go out in parts.
    pub max_transfer: u32,
    /// Engines that it has, each with the greatest queue depth of a job.
    pub engines: Vec<(EngineName, usize)>,
    /// Most jobs at once.
    pub max_jobs: usize,
    /// True if data on the target may be overwritten.
    pub may_write: bool,
    /// Disk that it is, or is on, for the kernel's counters; none for what the kernel does not
    /// drive.
    pub disk: Option<Disk>,
    /// NUMA node of the device; `None`: not known, or there is none.
    pub numa_node: Option<u32>,
    /// True if an IOMMU keeps the device from memory that is not its own; `None` where joulio does not drive the
    /// device over PCIe.
    pub iommu: Option<bool>,
    /// Profile of the device that it emulates, if it does.
    pub profile: Option<DeviceProfile>,
}

impl TargetInfo {
    /// Greatest queue depth of a job by `engine`; zero when it has no such engine.
    pub fn max_depth(&self, engine: EngineName) -> usize {
        let mut engines = self.engines.iter();
        engines
            .find(|(name, _)| *name == engine)
            .map_or(0, |(_, depth)| *depth)
    }
}
