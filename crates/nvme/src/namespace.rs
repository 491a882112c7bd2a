//! A namespace, as far as an I/O needs it.

use crate::NvmeError;
use joulio_device::DmaDomain;
use joulio_nvme_spec::NamespaceId;
use joulio_nvme_spec::identify::IdentifyNamespace;

/// A namespace of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Namespace {
    pub(crate) domain: DmaDomain,
    id: NamespaceId,
    shift: u8,
    blocks: u64,
}

impl Namespace {
    /// Takes the size and format from `identify`. Refuses what this driver would get wrong:
    /// metadata, and blocks other than 512 and 4096 bytes.
    pub(crate) fn new(
        device: &str,
        domain: DmaDomain,
        id: NamespaceId,
        identify: &IdentifyNamespace,
    ) -> Result<Namespace, NvmeError> {
        let refuse = |what: String| NvmeError::Format {
            device: device.into(),
            nsid: id.0,
            what,
        };
        let format = identify.format();
        if format.ms.get() != 0 {
            return Err(refuse(format!(
                "its blocks carry {} bytes of metadata, which joulio does not do: choose another namespace or format it without",
                format.ms
            )));
        }
        if !matches!(format.lbads, 9 | 12) {
            return Err(refuse(format!(
                "its blocks are 2^{} bytes; joulio does 512 (2^9) and 4096 (2^12)",
                format.lbads
            )));
        }
        let blocks = identify.nsze.get();
        if blocks == 0 || blocks > u64::MAX >> format.lbads {
            return Err(refuse(format!("it claims a size of {blocks} blocks")));
        }
        Ok(Namespace {
            domain,
            id,
            shift: format.lbads,
            blocks,
        })
    }

    /// NSID.
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    /// Bytes of a logical block: 512 or 4096.
    #[inline]
    pub fn block_size(&self) -> u32 {
        1 << self.shift
    }

    /// The block size as a power of two.
    #[inline]
    pub(crate) fn shift(&self) -> u8 {
        self.shift
    }

    /// Logical blocks.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.blocks << self.shift
    }
}
