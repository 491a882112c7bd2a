//! Memory on loan to a controller: a host memory buffer (Base 5.27.1.11) and its descriptor list.

use crate::NvmeError;
use joulio_device::{Device, DmaMemory};
use joulio_nvme_spec::feature::{HostMemoryBuffer, HostMemoryDescriptor};
use joulio_nvme_spec::{Command, PAGE_SIZE};
use std::sync::Arc;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

/// Memory lent to the controller, or why it has none.
#[derive(Default)]
pub(super) enum Loan {
    /// The controller wants none.
    #[default]
    None,
    Lent(Lent),
    Missing(String),
}

/// Ranges of memory that a controller takes.
#[derive(Clone, Copy)]
pub(super) struct Ranges {
    /// Maximum number of ranges, at least 1.
    pub(super) max: u64,
    /// Least size of a range in bytes, a multiple of a page.
    pub(super) min_bytes: u64,
}

impl Ranges {
    /// Maximum number of ranges that the page of the descriptor list has room for.
    pub(super) const MAX: u64 = (PAGE_SIZE / size_of::<HostMemoryDescriptor>()) as u64;
}

/// Ranges of memory, each contiguous for the device, and the descriptor list that names them.
pub(super) struct Lent {
    _memory: Vec<Arc<DmaMemory>>,
    list: Arc<DmaMemory>,
    ranges: u32,
    pages: u32,
}

impl Lent {
    /// Allocates `bytes` on `device`, a multiple of a page: in one range or, where there is no such piece of memory, in
    /// as few as there are pieces for. A rest that is too short for a range is left out.
    ///
    /// # Errors
    /// The device has not so much memory in so few pieces.
    pub(super) fn allocate<D: Device>(
        device: &D,
        bytes: u64,
        ranges: Ranges,
    ) -> Result<Lent, NvmeError> {
        let list = Arc::new(device.allocate(PAGE_SIZE)?);
        let mut memory = Vec::new();
        let (mut left, mut longest) = (bytes, bytes);
        while left >= ranges.min_bytes {
            let len = longest.min(left);
            match device.allocate(len as usize) {
                Ok(range) => {
                    let descriptor = HostMemoryDescriptor {
                        badd: U64::new(range.iova().0),
                        bsize: U32::new(pages(len)),
                        ..HostMemoryDescriptor::default()
                    };
                    let offset = memory.len() * size_of::<HostMemoryDescriptor>();
                    list.write(offset, descriptor.as_bytes());
                    memory.push(Arc::new(range));
                    left -= len;
                }
                Err(error) => {
                    longest = len / 2 / ranges.min_bytes * ranges.min_bytes;
                    if longest == 0 || memory.len() as u64 + left.div_ceil(longest) > ranges.max {
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(Lent {
            ranges: memory.len() as u32,
            _memory: memory,
            list,
            pages: pages(bytes - left),
        })
    }

    /// Bytes that are lent.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.pages) * PAGE_SIZE as u64
    }

    /// The command that lends the memory; `returned`: the controller had it before a reset, and it is unchanged.
    pub(super) fn command(&self, returned: bool) -> Command {
        let control = HostMemoryBuffer::new().with_ehm(true).with_mr(returned);
        Command::set_host_memory(control, self.pages, (self.list.iova().0, self.ranges))
    }
}

/// Number of pages in `bytes`.
fn pages(bytes: u64) -> u32 {
    (bytes / PAGE_SIZE as u64) as u32
}
