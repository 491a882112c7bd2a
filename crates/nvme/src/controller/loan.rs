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

/// One range of memory, contiguous for the device, and the descriptor list that names it.
pub(super) struct Lent {
    _memory: Arc<DmaMemory>,
    list: Arc<DmaMemory>,
    pages: u32,
}

impl Lent {
    /// Allocates `bytes` on `device`, a multiple of a page.
    ///
    /// # Errors
    /// The device has not so much memory in one piece.
    pub(super) fn allocate<D: Device>(device: &D, bytes: u64) -> Result<Lent, NvmeError> {
        let (memory, list) = (
            Arc::new(device.allocate(bytes as usize)?),
            Arc::new(device.allocate(PAGE_SIZE)?),
        );
        let pages = (bytes / PAGE_SIZE as u64) as u32;
        let range = HostMemoryDescriptor {
            badd: U64::new(memory.iova().0),
            bsize: U32::new(pages),
            ..HostMemoryDescriptor::default()
        };
        list.write(0, range.as_bytes());
        Ok(Lent {
            _memory: memory,
            list,
            pages,
        })
    }

    /// Bytes that are lent.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.pages) * PAGE_SIZE as u64
    }

    /// The command that lends the memory; `returned`: the controller had it before a reset, and it is unchanged.
    pub(super) fn command(&self, returned: bool) -> Command {
        let control = HostMemoryBuffer::new().with_ehm(true).with_mr(returned);
        Command::set_host_memory(control, self.pages, (self.list.iova().0, 1))
    }
}
