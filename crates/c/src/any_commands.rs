//! Commands on a queue pair of any back end.

use joulio_device::{BufferList, DmaBuffer};
use joulio_nvme::{NvmeError, PolicyError, Rejected, RejectedList, SubmitError, Transfer};
use joulio_nvme_spec::Command;
use joulio_units::CpuList;
use joulio_wait::AnyPolicy;
use std::ops::Range;

/// Commands on a queue pair of any back end.
pub(crate) trait Commands: Send {
    /// Submits `what` with a buffer's memory and the driver's tag.
    fn transfer(&mut self, what: What<'_>, memory: DmaBuffer, tag: u64) -> Result<(), Rejected>;
    fn transfer_list(
        &mut self,
        what: Scattered,
        memory: BufferList,
        tag: u64,
    ) -> Result<(), RejectedList>;
    fn submit(&mut self, command: Command, tag: u64) -> Result<(), SubmitError>;
    fn flush(&mut self, tag: u64) -> Result<(), SubmitError>;
    fn outstanding(&mut self) -> usize;
    /// Calls `each` with the driver's tag of each outstanding command.
    fn each_tag(&mut self, each: &mut dyn FnMut(u64));
    fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError>;
    /// Directs the interrupts to `cpu`, and returns the CPUs that then take them; `None`: no CPU does.
    fn direct_interrupts(&mut self, cpu: usize) -> Result<Option<CpuList>, NvmeError>;
}

/// A command that transfers data, other than the usual reads and writes.
pub(crate) enum What<'a> {
    /// First block and number of blocks, to or from an offset of the buffer.
    Blocks(Transfer, (u64, u32), usize),
    Raw(&'a Command),
    Deallocate(&'a [Range<u64>]),
}

/// A command with a list of buffers.
pub(crate) enum Scattered {
    /// First block and number of blocks.
    Read(u64, u32),
    Write(u64, u32),
    Raw(Command),
}
