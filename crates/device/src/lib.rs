//! The interface between the driver and NVMe controllers, wherever they are.
//!
//! A [`Device`] has registers, doorbells, memory that it can reach, and interrupt vectors. Back ends: a PCIe function
//! through VFIO ([`vfio`]), a controller in another process behind a socket ([`vfio_user`]), and the emulated
//! controller of `joulio-emulator`. In addition, a controller that the kernel drives can report its power ([`kernel`]).
//! The driver is generic over the device, so that nothing on the path of an I/O is a virtual call.
//!
//! Data buffers are pieces of memory that a device can reach. Their bytes are copied in and out; where the device
//! is trusted to write them only during commands, they are slices ([`TrustedDevice`]).
//!
//! ```
//! use joulio_device::{DeviceError, SharedMemory, TrustedArena, TrustedDevice, TrustedMemory};
//!
//! /// A page of a cache on `device`, where its content is.
//! fn page(device: &impl TrustedDevice, content: &[u8]) -> Result<(), DeviceError> {
//!     let cache = TrustedArena::new(TrustedMemory::allocate(device, 1 << 20)?);
//!     let mut page = cache.take(4096).expect("it has room");
//!     page[..content.len()].copy_from_slice(content);
//!     let rest = page.split_off(512);
//!     assert_eq!((page.len(), rest.len()), (512, 3584));
//!     Ok(())
//! }
//!
//! // Memory that others may write at any time is copied in and out.
//! let memory = SharedMemory::allocate(4096)?;
//! memory.write(100, b"joules");
//! let mut copied = [0; 6];
//! memory.read(100, &mut copied);
//! assert_eq!(&copied, b"joules");
//! # Ok::<(), DeviceError>(())
//! ```
//!
//! The interfaces of the back ends are [VFIO] and [vfio-user]. Sections of the [specifications][Base] of NVM Express
//! are cited in short: "Base 4.1.1" is section 4.1.1 of the NVM Express Base Specification, and "PCIe" is the NVMe over
//! PCIe Transport Specification, in the versions that [`joulio_nvme_spec`] names. "PCI 3.0" is the [PCI Local Bus
//! Specification][PCI] of that revision.
//!
//! [Base]: https://nvmexpress.org/specifications/
//! [PCI]: https://pcisig.com/specifications
//! [VFIO]: https://docs.kernel.org/driver-api/vfio.html
//! [vfio-user]: https://www.qemu.org/docs/master/interop/vfio-user.html
#![warn(clippy::missing_errors_doc)]
mod admin_data;
mod allocate;
mod arena;
mod buffer;
mod bus;
mod dma;
mod error;
mod foreign;
mod huge_pages;
mod iova;
pub mod kernel;
mod list;
mod memory;
mod memory_place;
mod mmio;
mod page_kind;
pub mod pci;
mod ring;
mod signaller;
mod trusted;
mod vector;
mod vector_set;
pub mod vfio;
pub mod vfio_user;
mod zero;

pub use admin_data::AdminData;
pub use arena::{Arena, TrustedArena};
pub use buffer::DmaBuffer;
pub use dma::{DmaArray, DmaDomain, DmaMapping, DmaMemory, Entry};
pub use error::DeviceError;
pub use huge_pages::memory_pages;
pub use iova::{Iova, IovaSpace};
pub use joulio_cpu::fence;
pub use list::{BufferList, IntoBuffers};
pub use memory::SharedMemory;
pub use memory_place::{allocate_on, current_node, memory_node};
pub use mmio::MmioDoorbell;
pub use page_kind::PageKind;
pub use ring::DmaRing;
pub use signaller::Signaller;
pub use trusted::{TrustedBuffer, TrustedDevice, TrustedMemory};
pub use vector::{Vector, VectorControl};
pub use vector_set::VectorSet;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A controller as the driver accesses it, whatever its back end.
///
/// Register reads cannot fail: a device that is gone reads as all ones, as it does on PCIe.
pub trait Device: Send + Sync + 'static {
    /// The doorbell of this back end.
    type Doorbell: Doorbell;

    /// Returns the name that the user gave the device, for messages: `pcie:0000:01:00.0`.
    fn name(&self) -> &str;

    /// Returns the PCI identifiers of the device; `None` for a device that is no PCI function.
    fn pci_id(&self) -> Option<pci::PciId> {
        None
    }

    /// Returns the NUMA node that the device is attached to; `None` if it is not known, or there is none.
    fn numa_node(&self) -> Option<u32> {
        None
    }

    /// Whether an IOMMU confines the device to the memory mapped for it; `None` for a device that is no PCI function.
    fn has_iommu(&self) -> Option<bool> {
        None
    }

    /// Reads the 32-bit register at `offset` (below 1000h).
    fn read32(&self, offset: u32) -> u32;

    /// Reads the 64-bit register at `offset`.
    fn read64(&self, offset: u32) -> u64;

    /// Writes the 32-bit register at `offset`.
    fn write32(&self, offset: u32, value: u32);

    /// Writes the 64-bit register at `offset`.
    fn write64(&self, offset: u32, value: u64);

    /// Returns the doorbell at `offset` (1000h and above).
    ///
    /// # Errors
    /// [`DeviceError::Doorbell`] when the offset lies outside of the mapped registers.
    fn doorbell(&self, offset: u32) -> Result<Self::Doorbell, DeviceError>;

    /// Allocates `len` bytes of zeroed memory that the device can reach, contiguous in its address space.
    ///
    /// # Errors
    /// [`DeviceError::Memory`], [`DeviceError::MemoryLock`], [`DeviceError::IovaSpace`] or [`DeviceError::HugePages`],
    /// whichever is exhausted.
    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError>;

    /// Maps memory of another device of the same kind, or of this one, for this device too.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] when the back end cannot share memory; else as
    /// [`Device::allocate`].
    fn reach(&self, memory: Arc<SharedMemory>) -> Result<DmaMemory, DeviceError> {
        drop(memory);
        Err(DeviceError::Unsupported {
            device: self.name().into(),
            reason: "its memory cannot be another device's too".into(),
        })
    }

    /// Returns the number of interrupt vectors of the device: the most that [`Device::enable_vectors`] can enable.
    fn max_vectors(&self) -> u16;

    /// Enables `count` vectors, all of them masked, or fewer where the system has no more; a later call replaces the
    /// vectors of an earlier one.
    ///
    /// # Errors
    /// [`DeviceError::Vectors`] when the device has fewer, and errors of the back end.
    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError>;

    /// Resets the whole function, for when a reset of its controller (CC.EN) does not help. Registers and MSI-X table
    /// are then as after power on, and the device accesses no memory any more, although it stays mapped. Vectors that
    /// were enabled stay enabled: masked, and not redirected.
    ///
    /// # Errors
    /// [`DeviceError::NoFunctionReset`] when the device has no such reset, and errors of the back end.
    fn reset_function(&self) -> Result<(), DeviceError> {
        Err(DeviceError::NoFunctionReset {
            device: self.name().into(),
        })
    }

    /// Waits until nobody else is resetting the function, and enables its BARs and bus mastering again if they are
    /// disabled; returns at once where nobody else can reset it.
    fn settle_function(&self) {}

    /// Returns whether the device is emulated by a thread of this process, which needs a CPU while it works: a core
    /// that spins for the device must not occupy the only CPU.
    fn spins_in_process(&self) -> bool {
        false
    }

    /// Sets the flag that cancels this device's waits for another process: they end soon after `flag` is set. A device
    /// without such waits ignores it.
    fn cancel_on(&self, flag: &Arc<AtomicBool>) {
        let _ = flag;
    }

    /// Returns whether the system requests the device's removal, to unplug it: its user is then to close it. Cheap
    /// enough to be checked some times a second.
    fn is_removal_requested(&self) -> bool {
        false
    }
}

/// A doorbell register.
pub trait Doorbell: Send + 'static {
    /// Writes `value`. Earlier writes to DMA memory are visible to the device first, and earlier reads are complete
    /// before the device may write there ([`fence::dma_release`]).
    fn ring(&self, value: u32);
}
