//! The Identify Namespace data structure of the NVM command set (NVM figure 97).

use super::{Dlfeat, Nsfeat};
use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// An LBA format: 4 bytes (NVM figure 98).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct LbaFormat {
    /// MS: bytes of metadata per block.
    pub ms: U16,
    /// LBADS: the block size is 2^LBADS bytes; below 9 the format is not available.
    pub lbads: u8,
    /// RP: relative performance, in bits 1:0.
    pub rp: u8,
}

/// CNS 00h: 4096 bytes. Field names are the specification's.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct IdentifyNamespace {
    /// Namespace size, logical blocks.
    pub nsze: U64,
    /// Namespace capacity, logical blocks.
    pub ncap: U64,
    /// Namespace utilisation, logical blocks.
    pub nuse: U64,
    /// Namespace features.
    pub nsfeat: u8,
    /// Number of LBA formats, 0's based.
    pub nlbaf: u8,
    /// Formatted LBA size: index in bits 3:0 and 6:5, extended metadata in bit 4.
    pub flbas: u8,
    /// Metadata capabilities.
    pub mc: u8,
    /// End-to-end data protection capabilities.
    pub dpc: u8,
    /// End-to-end data protection settings.
    pub dps: u8,
    /// Namespace multi-path I/O and sharing capabilities.
    pub nmic: u8,
    /// Reservation capabilities.
    pub rescap: u8,
    /// Format progress indicator.
    pub fpi: u8,
    /// Deallocate logical block features.
    pub dlfeat: u8,
    /// Namespace atomic write unit normal.
    pub nawun: U16,
    /// Namespace atomic write unit power fail.
    pub nawupf: U16,
    /// Namespace atomic compare and write unit.
    pub nacwu: U16,
    /// Namespace atomic boundary size normal.
    pub nabsn: U16,
    /// Namespace atomic boundary offset.
    pub nabo: U16,
    /// Namespace atomic boundary size power fail.
    pub nabspf: U16,
    /// Namespace optimal I/O boundary.
    pub noiob: U16,
    /// NVM capacity, bytes.
    pub nvmcap: U128,
    /// Namespace preferred write granularity.
    pub npwg: U16,
    /// Namespace preferred write alignment.
    pub npwa: U16,
    /// Namespace preferred deallocate granularity.
    pub npdg: U16,
    /// Namespace preferred deallocate alignment.
    pub npda: U16,
    /// Namespace optimal write size.
    pub nows: U16,
    /// Maximum single source range length.
    pub mssrl: U16,
    /// Maximum copy length.
    pub mcl: U32,
    /// Maximum source range count.
    pub msrc: u8,
    /// Reserved.
    pub reserved81: [u8; 11],
    /// ANA group identifier.
    pub anagrpid: U32,
    /// Reserved.
    pub reserved96: [u8; 3],
    /// Namespace attributes.
    pub nsattr: u8,
    /// NVM set identifier.
    pub nvmsetid: U16,
    /// Endurance group identifier.
    pub endgid: U16,
    /// Namespace globally unique identifier.
    pub nguid: [u8; 16],
    /// IEEE extended unique identifier.
    pub eui64: [u8; 8],
    /// LBA formats.
    pub lbaf: [LbaFormat; 64],
    /// Vendor specific.
    pub vs: [U64; 464],
}

const _: () = assert!(size_of::<IdentifyNamespace>() == 4096);
const _: () = assert!(core::mem::offset_of!(IdentifyNamespace, nguid) == 104);
const _: () = assert!(core::mem::offset_of!(IdentifyNamespace, lbaf) == 128);

impl IdentifyNamespace {
    /// Returns the index of the present format: bits 3:0 of FLBAS and, with more than 16 formats, bits 6:5.
    pub fn format_index(&self) -> usize {
        let low = self.flbas & 0xf;
        let high = if self.nlbaf > 15 {
            (self.flbas >> 5) & 3
        } else {
            0
        };
        usize::from(high << 4 | low)
    }

    /// Returns the present format.
    pub fn format(&self) -> LbaFormat {
        self.lbaf[self.format_index()]
    }

    /// Returns NSFEAT, decoded.
    pub fn features(&self) -> Nsfeat {
        Nsfeat::from(self.nsfeat)
    }

    /// Returns DLFEAT, decoded: among others the content of deallocated blocks.
    pub fn deallocation(&self) -> Dlfeat {
        Dlfeat::from(self.dlfeat)
    }

    /// Returns true if the namespace is write protected (NSATTR bit 0).
    pub fn is_write_protected(&self) -> bool {
        self.nsattr & 1 != 0
    }
}
