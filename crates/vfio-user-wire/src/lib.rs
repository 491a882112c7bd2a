//! The constants and structures of the vfio-user protocol, without behaviour.
//!
//! The two processes talk over a UNIX socket on one machine, so every field is in the byte order of the host. Sizes
//! are asserted at compile time. The [specification][vfio-user] is QEMU's docs/interop/vfio-user.rst. Structures that
//! it takes from the kernel are those of include/uapi/linux/vfio.h, the interface of [VFIO]. Both are cited by the
//! names of their commands and structures, as their sections have no numbers.
//!
//! [VFIO]: https://docs.kernel.org/driver-api/vfio.html
//! [vfio-user]: https://www.qemu.org/docs/master/interop/vfio-user.html
//!
//! ```
//! use joulio_vfio_user_wire::{Header, RegionAccess, command, pci};
//! use zerocopy::{FromBytes, IntoBytes};
//!
//! // A read of a controller's version register, as a client sends it.
//! let body = RegionAccess { offset: 8, region: pci::BAR0, count: 4 };
//! let header = Header {
//!     id: 1,
//!     command: command::REGION_READ,
//!     size: (Header::BYTES + RegionAccess::BYTES) as u32,
//!     ..Header::default()
//! };
//! let sent = [header.as_bytes(), body.as_bytes()].concat();
//! assert_eq!(sent.len(), 32);
//! assert!(!header.is_reply());
//! assert_eq!(RegionAccess::read_from_bytes(&sent[Header::BYTES..]).ok(), Some(body));
//! ```
#![warn(clippy::missing_errors_doc)]
#![no_std]
#![forbid(unsafe_code)]

mod body;

pub use body::{
    CapabilityHeader, DeviceInfo, DmaMap, DmaUnmap, IrqInfo, IrqSet, RegionAccess, RegionInfo,
    SparseArea, SparseHeader, Version,
};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Major version of the protocol that joulio speaks: 0.1, as all implementations do.
pub const MAJOR: u16 = 0;
/// Minor version: see [`MAJOR`].
pub const MINOR: u16 = 1;

/// Largest number of bytes of one region access, unless the other side gives another limit (`max_data_xfer_size`).
pub const MAX_DATA: usize = 1 << 20;

/// The beginning of every message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Header {
    /// Identifier chosen by the sender of the command, and repeated in its reply.
    pub id: u16,
    /// Number of the command: see [`command`].
    pub command: u16,
    /// Length in bytes of the whole message, this header included.
    pub size: u32,
    /// Flags: see [`flags`].
    pub flags: u32,
    /// An errno, in a reply with [`flags::ERROR`]; 0 otherwise.
    pub error: u32,
}

const _: () = assert!(size_of::<Header>() == 16);

impl Header {
    /// Bytes of the header.
    pub const BYTES: usize = size_of::<Header>();

    /// Whether the message is a reply; else it is a command.
    pub fn is_reply(&self) -> bool {
        self.flags & flags::TYPE == flags::REPLY
    }

    /// Whether the reply says that the command failed.
    pub fn is_error(&self) -> bool {
        self.flags & flags::ERROR != 0
    }
}

/// Header flags.
pub mod flags {
    /// Mask of the bits that distinguish commands (0) from replies.
    pub const TYPE: u32 = 0xf;
    /// A reply.
    pub const REPLY: u32 = 1;
    /// A command without a reply.
    pub const NO_REPLY: u32 = 1 << 4;
    /// A reply to a command that failed.
    pub const ERROR: u32 = 1 << 5;
}

/// Command numbers.
pub mod command {
    /// [`Version`](crate::Version), then JSON and a NUL. The first message of the client.
    pub const VERSION: u16 = 1;
    /// [`DmaMap`](crate::DmaMap), with a file descriptor where the memory can be mapped.
    pub const DMA_MAP: u16 = 2;
    /// [`DmaUnmap`](crate::DmaUnmap), which the reply repeats.
    pub const DMA_UNMAP: u16 = 3;
    /// [`DeviceInfo`](crate::DeviceInfo).
    pub const DEVICE_GET_INFO: u16 = 4;
    /// [`RegionInfo`](crate::RegionInfo), with capabilities after it in the reply.
    pub const DEVICE_GET_REGION_INFO: u16 = 5;
    /// File descriptors to ring instead of a region write. Not used here.
    pub const DEVICE_GET_REGION_IO_FDS: u16 = 6;
    /// [`IrqInfo`](crate::IrqInfo).
    pub const DEVICE_GET_IRQ_INFO: u16 = 7;
    /// [`IrqSet`](crate::IrqSet), with an eventfd for each vector or none.
    pub const DEVICE_SET_IRQS: u16 = 8;
    /// [`RegionAccess`](crate::RegionAccess); the reply has the data after it.
    pub const REGION_READ: u16 = 9;
    /// [`RegionAccess`](crate::RegionAccess) and the data; the reply has no data.
    pub const REGION_WRITE: u16 = 10;
    /// Sent by the server: reads memory that was mapped without a descriptor.
    pub const DMA_READ: u16 = 11;
    /// Sent by the server: writes memory that was mapped without a descriptor.
    pub const DMA_WRITE: u16 = 12;
    /// Resets the device; has no body.
    pub const DEVICE_RESET: u16 = 13;

    /// Returns a command's name in the specification.
    pub const fn name(number: u16) -> &'static str {
        match number {
            VERSION => "VERSION",
            DMA_MAP => "DMA_MAP",
            DMA_UNMAP => "DMA_UNMAP",
            DEVICE_GET_INFO => "DEVICE_GET_INFO",
            DEVICE_GET_REGION_INFO => "DEVICE_GET_REGION_INFO",
            DEVICE_GET_IRQ_INFO => "DEVICE_GET_IRQ_INFO",
            DEVICE_SET_IRQS => "DEVICE_SET_IRQS",
            REGION_READ => "REGION_READ",
            REGION_WRITE => "REGION_WRITE",
            DEVICE_RESET => "DEVICE_RESET",
            _ => "a command",
        }
    }
}

/// PCI regions and interrupt indices (`VFIO_PCI_*_INDEX`).
pub mod pci {
    /// BAR0; BAR1 to BAR5 follow it.
    pub const BAR0: u32 = 0;
    /// PCI configuration space.
    pub const CONFIG: u32 = 7;
    /// Regions of a PCI device, VGA included.
    pub const REGIONS: u32 = 9;
    /// The MSI-X interrupts.
    pub const MSIX: u32 = 2;
    /// Kinds of interrupt of a PCI device.
    pub const IRQS: u32 = 5;
}
