//! A PCIe function through VFIO (Documentation/driver-api/vfio.rst): group and container, with an IOMMU or, if allowed,
//! without.
//!
//! There is one container for each group, and a group is most often one device, which can reach exactly the memory that
//! [`Device::allocate`] and [`Device::reach`] mapped. Devices of one group, which the IOMMU cannot distinguish, share
//! the container, and one process has them all. Without an IOMMU a device uses physical addresses and can reach all
//! memory ([`NoIommu`]).

mod affinity;
mod claims;
pub(crate) mod config;
mod container;
mod function;
mod groups;
mod huge_pool;
mod interrupts;
mod ioctl;
mod physical;
mod removal;
mod retry;

use crate::pci::{NoIommu, PciAddress, PciId, Sysfs};
use crate::{Device, DeviceError, DmaMemory, MmioDoorbell, SharedMemory, TrustedDevice, Vector};
use container::Container;
use function::Function;
use interrupts::MsiX;
use removal::Removal;
use std::sync::Arc;

/// An NVMe controller that is bound to vfio-pci.
pub struct VfioDevice {
    name: String,
    id: Option<PciId>,
    node: Option<u32>,
    interrupts: Arc<MsiX>,
    removal: Removal,
    function: Arc<Function>,
}

impl VfioDevice {
    /// Opens the function at `address`, resets it, and enables bus mastering. A function without an IOMMU is refused.
    ///
    /// # Errors
    /// [`DeviceError::HeldByKernel`], [`DeviceError::Busy`] and [`DeviceError::GroupBusy`] say how to get the device;
    /// others name what the device or the kernel lacks.
    pub fn open(address: PciAddress) -> Result<VfioDevice, DeviceError> {
        VfioDevice::open_with(address, NoIommu::Refused)
    }

    /// Opens a function as [`VfioDevice::open`] does, where allowed also one without an IOMMU.
    ///
    /// # Errors
    /// As [`VfioDevice::open`]; [`DeviceError::NoIommuRights`] and [`DeviceError::HugePages`] when a device without an
    /// IOMMU lacks what it needs.
    pub fn open_with(address: PciAddress, no_iommu: NoIommu) -> Result<VfioDevice, DeviceError> {
        let name = format!("pcie:{address}");
        let group = container::check_bound(&name, address, no_iommu)?;
        let container = Container::of_group(&name, &group)?;
        let function = Arc::new(Function::open(&name, container, address)?);
        // Where the function cannot be reset, the reset of the controller that follows has to do.
        if function.can_reset() {
            function.reset()?;
        }
        function.enable_bus_master()?;
        let mut id = [0; 4];
        function.read_config(config::IDENTIFIERS, &mut id)?;
        let interrupts = Arc::new(MsiX::find(&name, address, &function)?);
        let removal = Removal::watch(function.device())?;
        Ok(VfioDevice {
            name,
            id: PciId::of_config(id),
            node: Sysfs::at("/")
                .controller(address)
                .ok()
                .and_then(|found| found.numa_node),
            interrupts,
            removal,
            function,
        })
    }
}

// SAFETY: memory is newly allocated, or a part of a pool that nobody else has. The IOMMU keeps the function from all
// other memory. Within its reach, which is everything without an IOMMU, a function is trusted as the kernel's driver
// trusts it: to write only as its commands say.
unsafe impl TrustedDevice for VfioDevice {}

impl Device for VfioDevice {
    type Doorbell = MmioDoorbell;

    fn name(&self) -> &str {
        &self.name
    }

    fn pci_id(&self) -> Option<PciId> {
        self.id
    }

    fn numa_node(&self) -> Option<u32> {
        self.node
    }

    fn has_iommu(&self) -> Option<bool> {
        Some(self.function.container.has_iommu())
    }

    fn read32(&self, offset: u32) -> u32 {
        self.function.bar0.read32(offset as usize)
    }

    fn read64(&self, offset: u32) -> u64 {
        self.function.bar0.read64(offset as usize)
    }

    fn write32(&self, offset: u32, value: u32) {
        self.function.bar0.write32(offset as usize, value);
    }

    fn write64(&self, offset: u32, value: u64) {
        self.function.bar0.write64(offset as usize, value);
    }

    fn doorbell(&self, offset: u32) -> Result<MmioDoorbell, DeviceError> {
        MmioDoorbell::new(&self.function.bar0, offset)
    }

    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        Container::allocate(&self.function.container, len)
    }

    fn reach(&self, memory: Arc<SharedMemory>) -> Result<DmaMemory, DeviceError> {
        Container::reach(&self.function.container, memory)
    }

    fn max_vectors(&self) -> u16 {
        self.interrupts.count()
    }

    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        MsiX::enable(&self.interrupts, count)
    }

    fn reset_function(&self) -> Result<(), DeviceError> {
        if !self.function.can_reset() {
            return Err(DeviceError::NoFunctionReset {
                device: self.name.clone(),
            });
        }
        self.function.reset()?;
        self.function.enable_bus_master()?;
        self.interrupts.mask_all()
    }

    fn settle_function(&self) {
        // A removal by anyone else is noticed in other ways.
        let _ = self.function.enable_bus_master();
    }

    fn is_removal_requested(&self) -> bool {
        self.removal.is_requested()
    }
}
