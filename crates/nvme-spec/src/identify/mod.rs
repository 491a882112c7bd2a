//! Identify (Base 5.17, figure 273).

mod capabilities;
mod controller;
mod namespace;
mod nvm_controller;
mod power_state;

pub use capabilities::{Ctratt, Dlfeat, Nsfeat, Oaes, Oncs, Sgls};
pub use controller::{EMULATED_SUBNQN, IdentifyController};
pub use namespace::{IdentifyNamespace, LbaFormat};
pub use nvm_controller::IdentifyNvmController;
pub use power_state::{PowerScale, PowerStateDescriptor, PowerStateFlags};

use open_enum::open_enum;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// CNS: the data structure that Identify returns (Base figure 273).
#[open_enum]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cns {
    /// Identify Namespace data structure (NVM figure 97).
    NAMESPACE = 0x00,
    /// Identify Controller data structure (Base figure 275).
    CONTROLLER = 0x01,
    /// Active Namespace ID list (Base 5.17.2.2).
    ACTIVE_NAMESPACES = 0x02,
    /// Namespace Identification Descriptor list (Base figure 277).
    NAMESPACE_DESCRIPTORS = 0x03,
    /// Identify Namespace data structure of an I/O command set: CSI as for 06h.
    COMMAND_SET_NAMESPACE = 0x05,
    /// Identify Controller data structure of an I/O command set (NVM 4.1.5.2): CSI in bits 31:24
    /// of dword 11, 00h for the NVM command set.
    COMMAND_SET_CONTROLLER = 0x06,
    /// Active Namespace ID list of an I/O command set: CSI as for 06h.
    COMMAND_SET_ACTIVE_NAMESPACES = 0x07,
    /// Identify I/O Command Set data structure: the combinations of command sets that the controller has.
    COMMAND_SETS = 0x1c,
}

/// CNS 02h: up to 1024 active namespaces above the requested NSID, ascending, zero-terminated.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ActiveNamespaces {
    /// The identifiers.
    pub nsid: [U32; 1024],
}

const _: () = assert!(size_of::<ActiveNamespaces>() == 4096);
