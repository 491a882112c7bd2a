//! The Identify Controller data structure of the NVM command set (NVM 4.1.5.2): limits of commands
//! that MDTS does not limit, because they transfer no data.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// CNS 06h, CSI 00h: 4096 bytes. A limit of 0 means no limit.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct IdentifyNvmController {
    /// Verify size limit, 2^VSL minimum pages.
    pub vsl: u8,
    /// Write Zeroes size limit, 2^WZSL minimum pages.
    pub wzsl: u8,
    /// Write Uncorrectable size limit, 2^WUSL minimum pages.
    pub wusl: u8,
    /// Dataset Management ranges limit.
    pub dmrl: u8,
    /// Dataset Management range size limit, logical blocks.
    pub dmrsl: U32,
    /// Dataset Management size limit, logical blocks.
    pub dmsl: U64,
    /// Reserved.
    pub reserved16: [u8; 4080],
}

const _: () = assert!(size_of::<IdentifyNvmController>() == 4096);
