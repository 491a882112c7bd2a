//! Commands of the NVM command set (NVM 3.2), and their dwords.

use super::{Command, NamespaceId};
use crate::opcode::NvmOpcode;
use bitfield_struct::bitfield;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Dword 12 of the commands with a range of logical blocks: Read, Write, Compare, Verify and Write Zeroes (NVM
/// 3.2.1 and 3.2.4 to 3.2.8). The specification says at each command which of the bits it has.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct BlockControl {
    /// NLB: number of logical blocks, 0's based.
    pub nlb: u16,
    #[bits(8)]
    _reserved: u8,
    /// STC: storage tag check.
    pub stc: bool,
    /// DEAC of Write Zeroes: deallocate, so that the blocks read as zeroes. In Write the highest bit of DTYPE;
    /// otherwise reserved.
    pub deac: bool,
    /// PRINFO: protection information.
    #[bits(4)]
    pub prinfo: u8,
    /// FUA: forced unit access, to and from non-volatile media.
    pub fua: bool,
    /// LR: limited retry.
    pub lr: bool,
}

impl Command {
    /// Returns a Read, Write, Compare or Verify of `blocks` (1 to 65536) logical blocks from `slba` (NVM 3.2.1 and
    /// 3.2.4 to 3.2.6: SLBA in dwords 10 and 11, NLB 0's based in dword 12).
    pub fn transfer(opcode: NvmOpcode, nsid: NamespaceId, slba: u64, blocks: u32) -> Command {
        let mut command = Command::nvm(opcode, nsid);
        command.cdw10[0] = U32::new(slba as u32);
        command.cdw10[1] = U32::new((slba >> 32) as u32);
        command.cdw10[2] = U32::new(blocks.wrapping_sub(1) & 0xffff);
        command
    }

    /// Returns Write Zeroes to `blocks` (1 to 65536) logical blocks from `slba` (NVM 3.2.8), which transfers no
    /// data. `deallocate` (DEAC) asks the controller to deallocate the blocks, if they then read as zeroes: see
    /// [`crate::identify::Dlfeat`].
    pub fn write_zeroes(nsid: NamespaceId, slba: u64, blocks: u32, deallocate: bool) -> Command {
        let mut command = Command::transfer(NvmOpcode::WRITE_ZEROES, nsid, slba, blocks);
        let control = command.block_control().with_deac(deallocate);
        command.cdw10[2] = U32::new(control.into());
        command
    }

    /// Returns Dataset Management with `ranges` (1 to 256) ranges (NVM 3.2.3: NR, 0's based, in dword 10;
    /// attributes in dword 11). Its data is as many [`DsmRange`]s.
    pub fn dataset_management(
        nsid: NamespaceId,
        ranges: usize,
        attributes: DsmAttributes,
    ) -> Command {
        let mut command = Command::nvm(NvmOpcode::DATASET_MANAGEMENT, nsid);
        command.cdw10[0] = U32::new(ranges.wrapping_sub(1) as u32 & 0xff);
        command.cdw10[1] = U32::new(attributes.into());
        command
    }

    /// Returns the command with FUA set: a Read, Write, Compare, Verify or Write Zeroes that bypasses any volatile
    /// cache.
    pub fn with_fua(mut self) -> Command {
        self.cdw10[2] = U32::new(self.block_control().with_fua(true).into());
        self
    }

    /// Returns the command with LR set: the controller may give up instead of retrying.
    pub fn with_limited_retry(mut self) -> Command {
        self.cdw10[2] = U32::new(self.block_control().with_lr(true).into());
        self
    }

    /// Returns SLBA of a command with a range of logical blocks.
    pub fn slba(&self) -> u64 {
        u64::from(self.cdw10[0].get()) | u64::from(self.cdw10[1].get()) << 32
    }

    /// Returns the number of logical blocks of a command with a range of them, 1 to 65536.
    pub fn blocks(&self) -> u32 {
        (self.cdw10[2].get() & 0xffff) + 1
    }

    /// Returns dword 12 of a command with a range of logical blocks, decoded.
    pub fn block_control(&self) -> BlockControl {
        BlockControl::from(self.cdw10[2].get())
    }

    /// Returns the number of ranges of Dataset Management, 1 to 256.
    pub fn ranges(&self) -> usize {
        (self.cdw10[0].get() & 0xff) as usize + 1
    }

    /// Returns dword 11 of Dataset Management, decoded.
    pub fn dsm_attributes(&self) -> DsmAttributes {
        DsmAttributes::from(self.cdw10[1].get())
    }
}

/// Dword 11 of Dataset Management (NVM 3.2.3).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct DsmAttributes {
    /// IDR: the ranges will be read as a unit.
    pub idr: bool,
    /// IDW: the ranges will be written as a unit.
    pub idw: bool,
    /// AD: the ranges may be deallocated.
    pub ad: bool,
    #[bits(29)]
    _reserved: u32,
}

/// A range of Dataset Management: 16 bytes (NVM 3.2.3).
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct DsmRange {
    /// Context attributes: hints about the use of the range.
    pub context_attributes: U32,
    /// Length in logical blocks; 1 is one block.
    pub blocks: U32,
    /// The first logical block.
    pub slba: U64,
}

const _: () = assert!(size_of::<DsmRange>() == 16);

impl DsmRange {
    /// Largest number of ranges of a command; together they take 4 KiB.
    pub const MAX: usize = 256;

    /// Returns a range of `blocks` logical blocks from `slba`, without hints.
    pub fn new(slba: u64, blocks: u32) -> DsmRange {
        DsmRange {
            context_attributes: U32::ZERO,
            blocks: U32::new(blocks),
            slba: U64::new(slba),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NSID: NamespaceId = NamespaceId(3);

    #[test]
    fn a_read_puts_its_words_where_the_specification_has_them() {
        let c = Command::transfer(NvmOpcode::READ, NSID, 0x1_2345_6789, 65536);
        let words: [U32; 16] = zerocopy::transmute!(c);
        assert_eq!(words[0].get(), 0x02);
        assert_eq!(words[1].get(), 3);
        assert_eq!(words[10].get(), 0x2345_6789);
        assert_eq!(words[11].get(), 1);
        assert_eq!(words[12].get(), 0xffff);
        assert_eq!((c.slba(), c.blocks()), (0x1_2345_6789, 65536));
    }

    #[test]
    fn the_flags_of_dword_12_stand_at_25_30_and_31() {
        let plain = Command::write_zeroes(NSID, 7, 8, false);
        assert_eq!(plain.cdw10[2].get(), 7);
        let c = Command::write_zeroes(NSID, 7, 8, true);
        assert_eq!(c.cdw10[2].get(), 1 << 25 | 7);
        assert_eq!(c.with_fua().cdw10[2].get(), 1 << 30 | 1 << 25 | 7);
        assert_eq!(
            plain.with_limited_retry().with_fua().cdw10[2].get(),
            3 << 30 | 7
        );
        assert_eq!(c.with_fua().blocks(), 8);
    }

    #[test]
    fn ranges_count_from_one_and_attributes_are_the_kernels() {
        // NVME_DSMGMT_AD in Linux is 1 << 2.
        let ad = DsmAttributes::new().with_ad(true);
        let c = Command::dataset_management(NSID, 256, ad);
        assert_eq!((c.cdw10[0].get(), c.cdw10[1].get()), (255, 4));
        assert_eq!(c.ranges(), 256);
        assert!(c.dsm_attributes().ad() && !c.dsm_attributes().idw());
        let bytes: [u8; 16] = zerocopy::transmute!(DsmRange::new(0x1_0000_0002, 3));
        assert_eq!(bytes[4], 3);
        assert_eq!((bytes[8], bytes[12]), (2, 1));
    }
}
