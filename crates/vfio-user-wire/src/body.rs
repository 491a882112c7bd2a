//! The structures that follow the header, one for each command.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

macro_rules! wire {
    ($(#[$doc:meta])* $name:ident, $bytes:literal { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        const _: () = assert!(size_of::<$name>() == $bytes);

        impl $name {
            /// Size of the structure in bytes: the value of `argsz`, where it has that field.
            pub const BYTES: usize = $bytes;
        }
    };
}

wire! {
    /// The version of a side; JSON with its capabilities and a NUL may follow.
    Version, 4 {
        /// Major version, which must be equal on both sides.
        major: u16,
        /// Minor version; the server's is at most the client's.
        minor: u16,
    }
}

wire! {
    /// Memory that the server may reach from now on.
    DmaMap, 32 {
        /// [`DmaMap::BYTES`].
        argsz: u32,
        /// [`DmaMap::READ`] and [`DmaMap::WRITE`].
        flags: u32,
        /// Offset in the file that comes along, in bytes.
        offset: u64,
        /// Device address of the range.
        address: u64,
        /// Length in bytes.
        size: u64,
    }
}

impl DmaMap {
    /// The device may read it.
    pub const READ: u32 = 1;
    /// The device may write it.
    pub const WRITE: u32 = 2;
}

wire! {
    /// Memory that the server must have unmapped before it replies.
    DmaUnmap, 24 {
        /// [`DmaUnmap::BYTES`].
        argsz: u32,
        /// [`DmaUnmap::ALL`], or 0.
        flags: u32,
        /// Device address of the range.
        address: u64,
        /// Length in bytes.
        size: u64,
    }
}

impl DmaUnmap {
    /// Flag: unmap everything that was ever mapped; address and size are 0.
    pub const ALL: u32 = 1 << 2;
}

wire! {
    /// The kind of device (`struct vfio_device_info`).
    DeviceInfo, 16 {
        /// [`DeviceInfo::BYTES`].
        argsz: u32,
        /// [`DeviceInfo::RESET`] and [`DeviceInfo::PCI`].
        flags: u32,
        /// Number of regions.
        regions: u32,
        /// Number of kinds of interrupt.
        irqs: u32,
    }
}

impl DeviceInfo {
    /// Flag: the device can be reset.
    pub const RESET: u32 = 1;
    /// Flag: the device is a PCI device.
    pub const PCI: u32 = 2;
}

wire! {
    /// A region (`struct vfio_region_info`).
    RegionInfo, 32 {
        /// Bytes of the client's room for the answer, or of the server's whole answer.
        argsz: u32,
        /// [`RegionInfo::READ`] and its like.
        flags: u32,
        /// Index of the region.
        index: u32,
        /// Offset of the first capability from the start of this structure, in bytes; 0: none.
        capabilities: u32,
        /// Length in bytes.
        size: u64,
        /// Offset in the file that comes along, in bytes.
        offset: u64,
    }
}

impl RegionInfo {
    /// Flag: the region can be read by messages.
    pub const READ: u32 = 1;
    /// Flag: the region can be written by messages.
    pub const WRITE: u32 = 2;
    /// Flag: the region, or the areas of its sparse capability, can be mapped.
    pub const MMAP: u32 = 4;
    /// Flag: capabilities follow.
    pub const CAPABILITIES: u32 = 8;
}

wire! {
    /// The beginning of each capability of a region (`struct vfio_info_cap_header`).
    CapabilityHeader, 8 {
        /// [`CapabilityHeader::SPARSE_MMAP`], or another.
        id: u16,
        /// Version of the capability: 1.
        version: u16,
        /// Offset of the next one from the start of the structure, in bytes; 0 at the end.
        next: u32,
    }
}

impl CapabilityHeader {
    /// Capability of the areas that can be mapped: [`SparseHeader`] and [`SparseArea`]s follow.
    pub const SPARSE_MMAP: u16 = 1;
}

wire! {
    /// Number of areas that follow.
    SparseHeader, 8 {
        /// Number of areas.
        areas: u32,
        /// Reserved: 0.
        reserved: u32,
    }
}

wire! {
    /// A part of a region that can be mapped.
    SparseArea, 16 {
        /// Offset in the region, in bytes.
        offset: u64,
        /// Length in bytes.
        size: u64,
    }
}

wire! {
    /// A kind of interrupt (`struct vfio_irq_info`).
    IrqInfo, 16 {
        /// [`IrqInfo::BYTES`].
        argsz: u32,
        /// [`IrqInfo::EVENTFD`] and its like.
        flags: u32,
        /// Index of the kind.
        index: u32,
        /// Number of vectors of this kind.
        count: u32,
    }
}

impl IrqInfo {
    /// Flag: vectors signal an eventfd.
    pub const EVENTFD: u32 = 1;
    /// Flag: vectors can be masked by [`IrqSet::MASK`].
    pub const MASKABLE: u32 = 2;
    /// Flag: vectors cannot be added to enabled ones.
    pub const NORESIZE: u32 = 8;
}

wire! {
    /// The change to a range of vectors (`struct vfio_irq_set`).
    IrqSet, 20 {
        /// [`IrqSet::BYTES`] and the data behind it.
        argsz: u32,
        /// One of the `DATA_*` flags and one action.
        flags: u32,
        /// Index of the kind.
        index: u32,
        /// The first vector.
        start: u32,
        /// Number of vectors; 0 with [`IrqSet::DATA_NONE`] and [`IrqSet::TRIGGER`] disables all.
        count: u32,
    }
}

impl IrqSet {
    /// The request has no data.
    pub const DATA_NONE: u32 = 1;
    /// The data is a byte for each vector: whether the action applies to it.
    pub const DATA_BOOL: u32 = 1 << 1;
    /// The data is an eventfd for each vector; without any, those of the range are removed.
    pub const DATA_EVENTFD: u32 = 1 << 2;
    /// Action: mask the vectors.
    pub const MASK: u32 = 1 << 3;
    /// Action: unmask the vectors.
    pub const UNMASK: u32 = 1 << 4;
    /// Action: set the eventfds, or raise the vectors.
    pub const TRIGGER: u32 = 1 << 5;
}

wire! {
    /// A read or write of a region; the data follows, if any.
    RegionAccess, 16 {
        /// Offset in the region, in bytes.
        offset: u64,
        /// Index of the region.
        region: u32,
        /// Bytes of data.
        count: u32,
    }
}
