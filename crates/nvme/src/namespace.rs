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

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;
    use zerocopy::little_endian::{U16, U64};

    fn refused(change: impl FnOnce(&mut IdentifyNamespace)) -> String {
        let mut identify = IdentifyNamespace::new_zeroed();
        identify.nsze = U64::new(1000);
        identify.lbaf[0].lbads = 9;
        change(&mut identify);
        let domain = DmaDomain::unique();
        match Namespace::new("dev", domain, NamespaceId(1), &identify) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn metadata_and_odd_blocks_are_refused_with_a_clear_word() {
        assert_eq!(refused(|_| {}), "");
        assert!(refused(|ns| ns.lbaf[0].ms = U16::new(8)).contains("8 bytes of metadata"));
        assert!(refused(|ns| ns.lbaf[0].lbads = 16).contains("2^16 bytes"));
        assert!(refused(|ns| ns.lbaf[0].lbads = 0).contains("2^0 bytes"));
        assert!(refused(|ns| ns.nsze = U64::new(0)).contains("0 blocks"));
        assert!(refused(|ns| ns.nsze = U64::new(u64::MAX)).contains("size"));
        // The format in use counts, not the first.
        assert!(refused(|ns| ns.flbas = 3).contains("2^0"));
    }
}
