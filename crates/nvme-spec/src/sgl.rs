//! Scatter gather lists (Base 4.1.2).
//!
//! A command whose PSDT is [`Psdt::SGL`] has its first descriptor in place of its PRP entries: in the 16 bytes of
//! PRP1 and PRP2.

use crate::Command;
use bitfield_struct::bitfield;
use open_enum::open_enum;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// PSDT, bits 15:14 of dword 0: the kind of a command's data pointer (Base figure 86).
pub struct Psdt;

impl Psdt {
    /// PRP entries.
    pub const PRP: u8 = 0b00;
    /// An SGL; metadata, if there is any, is one buffer at MPTR.
    pub const SGL: u8 = 0b01;
    /// An SGL; metadata has an SGL of its own, at MPTR.
    pub const SGL_METADATA: u8 = 0b10;
}

/// The type of a descriptor (Base 4.1.2, SGL Descriptor Type).
#[open_enum]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SglType {
    /// Data.
    DATA_BLOCK = 0x0,
    /// Bytes that are read and discarded.
    BIT_BUCKET = 0x1,
    /// A segment that is not the last.
    SEGMENT = 0x2,
    /// The last segment.
    LAST_SEGMENT = 0x3,
    /// Data with a key (fabrics).
    KEYED_DATA_BLOCK = 0x4,
    /// Data that the transport transfers (fabrics).
    TRANSPORT_DATA_BLOCK = 0x5,
}

/// Byte 15 of a descriptor: the SGL identifier.
#[bitfield(u8)]
#[derive(PartialEq, Eq)]
pub struct SglIdentifier {
    /// SGL Descriptor Sub Type: 0h is an address in memory.
    #[bits(4)]
    pub subtype: u8,
    /// SGL Descriptor Type; see [`SglType`].
    #[bits(4)]
    pub type_bits: u8,
}

/// An SGL descriptor: 16 bytes, in the common layout of Data Block, Segment and Last Segment (Base 4.1.2).
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct SglDescriptor {
    /// Address of the data, or of the segment, which is then a multiple of 8.
    pub address: U64,
    /// Length in bytes. That of a segment is one or more whole descriptors.
    pub length: U32,
    /// Reserved.
    pub reserved12: [u8; 3],
    /// Type and sub type; see [`SglIdentifier`].
    pub identifier: u8,
}

const _: () = assert!(size_of::<SglDescriptor>() == 16);

impl SglDescriptor {
    /// Returns a descriptor of `length` bytes of data at `address`.
    pub fn data_block(address: u64, length: u32) -> SglDescriptor {
        SglDescriptor::of(SglType::DATA_BLOCK, address, length)
    }

    /// Returns a descriptor of a segment: `length` bytes of descriptors at `address`, the last of which is that of
    /// another segment.
    pub fn segment(address: u64, length: u32) -> SglDescriptor {
        SglDescriptor::of(SglType::SEGMENT, address, length)
    }

    /// Returns a descriptor of the last segment: `length` bytes of descriptors of data at `address`.
    pub fn last_segment(address: u64, length: u32) -> SglDescriptor {
        SglDescriptor::of(SglType::LAST_SEGMENT, address, length)
    }

    fn of(kind: SglType, address: u64, length: u32) -> SglDescriptor {
        let identifier = SglIdentifier::new().with_type_bits(kind.0);
        SglDescriptor {
            address: U64::new(address),
            length: U32::new(length),
            reserved12: [0; 3],
            identifier: identifier.into(),
        }
    }

    /// Returns the type.
    pub fn kind(&self) -> SglType {
        SglType(SglIdentifier::from(self.identifier).type_bits())
    }

    /// Returns the sub type: 0h is an address in memory.
    pub fn subtype(&self) -> u8 {
        SglIdentifier::from(self.identifier).subtype()
    }
}

impl Command {
    /// Returns the command with `descriptor` as its data pointer, and with the PSDT for it.
    pub fn with_sgl(mut self, descriptor: SglDescriptor) -> Command {
        let halves: [U64; 2] = zerocopy::transmute!(descriptor);
        [self.prp1, self.prp2] = halves;
        self.cdw0 = U32::new(self.dword0().with_psdt(Psdt::SGL).into());
        self
    }

    /// Returns the descriptor in the data pointer of a command whose PSDT selects an SGL.
    pub fn sgl(&self) -> SglDescriptor {
        zerocopy::transmute!([self.prp1, self.prp2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamespaceId, NvmOpcode};

    #[test]
    fn a_descriptor_has_its_type_in_the_high_half_of_byte_15() {
        // In Linux NVME_SGL_FMT_LAST_SEG_DESC is 3, and is stored shifted left by 4.
        let last = SglDescriptor::last_segment(0x1_0000_1000, 32);
        let bytes: [u8; 16] = zerocopy::transmute!(last);
        assert_eq!(
            bytes,
            [0, 0x10, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0x30]
        );
        assert_eq!((last.kind(), last.subtype()), (SglType::LAST_SEGMENT, 0));
        assert_eq!(SglDescriptor::data_block(1, 2).kind(), SglType::DATA_BLOCK);
    }

    #[test]
    fn the_data_pointer_is_the_first_descriptor() {
        let data = SglDescriptor::data_block(0x2000, 4096);
        let c = Command::nvm(NvmOpcode::READ, NamespaceId(1)).with_sgl(data);
        let words: [U32; 16] = zerocopy::transmute!(c);
        assert_eq!(words[0].get(), 0x4002);
        assert_eq!((words[6].get(), words[8].get()), (0x2000, 4096));
        assert_eq!(c.sgl(), data);
    }
}
