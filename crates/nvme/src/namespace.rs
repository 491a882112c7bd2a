//! A namespace, with the data that an I/O needs.

use crate::{NvmeError, SubmitError};
use joulio_nvme_spec::NamespaceId;
use joulio_nvme_spec::identify::{IdentifyNamespace, Oncs};
use std::sync::atomic::{AtomicU32, Ordering};

/// Identifier of an open controller, unique in the process. Its DMA domain is not: the devices of an IOMMU group share
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControllerId(u32);

impl ControllerId {
    /// Returns an identifier that was not given before.
    pub(crate) fn unique() -> ControllerId {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        ControllerId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A namespace of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Namespace {
    pub(crate) controller: ControllerId,
    id: NamespaceId,
    shift: u8,
    blocks: u64,
    attributes: NamespaceAttributes,
}

/// Attributes of a namespace and its controller beyond size and format (NVM 1.0, figure 97).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamespaceAttributes {
    /// True if the namespace is write protected at present (NSATTR bit 0).
    pub write_protected: bool,
    /// True if fewer blocks may be allocated than the namespace has: thin provisioning (NSFEAT bit 0).
    pub thin: bool,
    /// True if deallocated blocks read as zeroes (DLFEAT bits 2:0 = 1).
    pub deallocated_reads_zero: bool,
    /// Number of blocks whose multiples reads and writes should not cross (NOIOB, or a quirk of the drive); 0: none.
    pub io_boundary: u16,
    /// True if the controller supports Compare (ONCS).
    pub compare: bool,
    /// True if the controller supports Dataset Management (ONCS).
    pub deallocate: bool,
    /// True if the controller supports Write Zeroes (ONCS).
    pub write_zeroes: bool,
    /// True if the controller supports Verify (ONCS).
    pub verify: bool,
}

impl NamespaceAttributes {
    fn new(identify: &IdentifyNamespace, oncs: Oncs) -> NamespaceAttributes {
        NamespaceAttributes {
            write_protected: identify.nsattr & 1 != 0,
            thin: identify.nsfeat & 1 != 0,
            deallocated_reads_zero: identify.dlfeat & 0b111 == 1,
            io_boundary: identify.noiob.get(),
            compare: oncs.compare(),
            deallocate: oncs.dsm(),
            write_zeroes: oncs.write_zeroes(),
            verify: oncs.verify(),
        }
    }
}

/// An optional command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    Compare,
    Deallocate,
    WriteZeroes,
    Verify,
}

/// Maximum number of blocks of one command (NLB).
const MAX_BLOCKS: u32 = 65_536;

impl Namespace {
    /// Reads the size and format from `identify`. Refuses formats that this driver would get wrong: metadata, and
    /// blocks of other sizes than 512 and 4096 bytes.
    pub(crate) fn new(
        device: &str,
        controller: ControllerId,
        id: NamespaceId,
        identify: &IdentifyNamespace,
        oncs: Oncs,
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
            controller,
            id,
            shift: format.lbads,
            blocks,
            attributes: NamespaceAttributes::new(identify, oncs),
        })
    }

    /// Sets the boundary that I/Os should not cross to multiples of `bytes`, if these are a power of two of blocks.
    pub(crate) fn with_boundary(mut self, bytes: u32) -> Namespace {
        let blocks = u16::try_from(bytes >> self.shift);
        if let Some(blocks) = blocks.ok().filter(|blocks| blocks.is_power_of_two()) {
            self.attributes.io_boundary = blocks;
        }
        self
    }

    /// NSID.
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    /// Size of a logical block in bytes: 512 or 4096.
    #[inline]
    pub fn block_size(&self) -> u32 {
        1 << self.shift
    }

    /// The block size as a power of two.
    #[inline]
    pub(crate) fn shift(&self) -> u8 {
        self.shift
    }

    /// Size in logical blocks.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.blocks << self.shift
    }

    /// Returns the attributes, as of when the namespace was identified.
    pub fn attributes(&self) -> NamespaceAttributes {
        self.attributes
    }

    /// Checks that the controller supports an optional command.
    pub(crate) fn able(&self, ability: Ability) -> Result<(), SubmitError> {
        let has = self.attributes;
        let (able, command) = match ability {
            Ability::Compare => (has.compare, "Compare"),
            Ability::Deallocate => (has.deallocate, "Dataset Management"),
            Ability::WriteZeroes => (has.write_zeroes, "Write Zeroes"),
            Ability::Verify => (has.verify, "Verify"),
        };
        if able {
            Ok(())
        } else {
            Err(SubmitError::Unsupported { command })
        }
    }

    /// Checks that `blocks` blocks from `lba` on lie inside the namespace.
    #[inline]
    pub(crate) fn check_range(&self, lba: u64, blocks: u32) -> Result<(), SubmitError> {
        let size = self.blocks;
        match self.has_range(lba, blocks) {
            true => Ok(()),
            false => Err(SubmitError::Range { lba, blocks, size }),
        }
    }

    /// Returns whether `blocks` blocks from `lba` on lie inside the namespace.
    #[inline]
    pub(crate) fn has_range(&self, lba: u64, blocks: u32) -> bool {
        // An `lba` inside the namespace plus 32 bits cannot overflow.
        (lba < self.blocks) & (u64::from(blocks) <= self.blocks.wrapping_sub(lba))
    }

    /// Checks the range of a command that moves no data, so that only NLB limits its length.
    pub(crate) fn check_dataless(&self, lba: u64, blocks: u32) -> Result<(), SubmitError> {
        if blocks == 0 || blocks > MAX_BLOCKS {
            return Err(SubmitError::Blocks { blocks });
        }
        self.check_range(lba, blocks)
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
        let controller = ControllerId::unique();
        match Namespace::new("dev", controller, NamespaceId(1), &identify, Oncs::new()) {
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
