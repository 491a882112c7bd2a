//! A controller in another process, through the vfio-user protocol over a UNIX socket.
//!
//! Registers are read and written by messages, doorbells through the page of BAR0 where the peer allows mapping it,
//! memory is shared as files, and interrupts are eventfds. The peer is not trusted: an invalid reply is an error, and
//! registers of a peer that is gone read as all ones.

mod config;
mod doorbell;
mod error;
mod files;
mod interrupts;
mod json;
mod link;
mod memory;
mod region;
mod session;
#[cfg(test)]
mod tests;

pub use doorbell::VfioUserDoorbell;
pub use error::VfioUserError;

use crate::pci::PciId;
use crate::{Device, DeviceError, DmaMemory, MmioDoorbell, Vector};
use doorbell::DoorbellPath;
use interrupts::MsiX;
use joulio_vfio_user_wire::{DeviceInfo, pci};
use link::Link;
use memory::Memory;
use region::Region;
use session::Session;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Offset of the doorbells in BAR0, in bytes (PCIe 3.1.2).
const DOORBELLS: u64 = 0x1000;

/// An NVMe controller behind a vfio-user socket.
pub struct VfioUserDevice {
    name: String,
    id: Option<PciId>,
    interrupts: Arc<MsiX>,
    bar0: Region,
    memory: Arc<Memory>,
    can_reset: bool,
    session: Arc<Session>,
}

impl VfioUserDevice {
    /// Connects to the server at `path`, resets the device, enables bus mastering, and disables every interrupt that an
    /// earlier client left enabled.
    ///
    /// # Errors
    /// No server listens there, or its device is no NVMe controller.
    pub fn connect(path: &Path) -> Result<VfioUserDevice, DeviceError> {
        VfioUserDevice::connect_until(path, None)
    }

    /// Connects as [`VfioUserDevice::connect`] does, until `cancelled` is set. The flag then applies to the device, as
    /// with [`Device::cancel_on`].
    ///
    /// # Errors
    /// No server listens there, its device is no NVMe controller, or `cancelled` was set.
    pub fn connect_until(
        path: &Path,
        cancelled: Option<&Arc<AtomicBool>>,
    ) -> Result<VfioUserDevice, DeviceError> {
        let name = format!("vfio-user:{}", path.display());
        let link = Link::connect(&name, path, cancelled)?;
        VfioUserDevice::open(name, link)
    }

    fn open(name: String, link: Link) -> Result<VfioUserDevice, DeviceError> {
        let session = Arc::new(Session::begin(link)?);
        let unsupported = |reason: &str| DeviceError::Unsupported {
            device: name.clone(),
            reason: reason.into(),
        };
        let info = session.device_info()?;
        if info.flags & DeviceInfo::PCI == 0 || info.regions <= pci::CONFIG {
            return Err(unsupported("not a PCI device"));
        }
        config::check_class(&session)?;
        let id = config::pci_id(&session)?;
        let can_reset = info.flags & DeviceInfo::RESET != 0;
        if can_reset {
            session.reset()?;
        }
        let bar0 = Region::open(&session, pci::BAR0)?;
        if bar0.size < DOORBELLS + 8 {
            return Err(unsupported("its BAR0 has no room for doorbells"));
        }
        config::set_command(&session)?;
        let interrupts = Arc::new(MsiX::find(&session, &bar0)?);
        let memory = Arc::new(Memory::new(Arc::clone(&session))?);
        Ok(VfioUserDevice {
            name,
            id,
            interrupts,
            bar0,
            memory,
            can_reset,
            session,
        })
    }

    /// Whether doorbells are written to a mapped page of the peer; otherwise each write is a message.
    pub fn doorbells_mapped(&self) -> bool {
        self.bar0.mapped(DOORBELLS, 8).is_some()
    }
}

impl Device for VfioUserDevice {
    type Doorbell = VfioUserDoorbell;

    fn name(&self) -> &str {
        &self.name
    }

    fn pci_id(&self) -> Option<PciId> {
        self.id
    }

    fn read32(&self, offset: u32) -> u32 {
        self.session
            .read32(pci::BAR0, offset.into())
            .unwrap_or(u32::MAX)
    }

    /// Reads the low half first, as every driver does (PCIe 3.1.1).
    fn read64(&self, offset: u32) -> u64 {
        u64::from(self.read32(offset)) | u64::from(self.read32(offset + 4)) << 32
    }

    fn write32(&self, offset: u32, value: u32) {
        let _ = self.session.write32(pci::BAR0, offset.into(), value);
    }

    fn write64(&self, offset: u32, value: u64) {
        self.write32(offset, value as u32);
        self.write32(offset + 4, (value >> 32) as u32);
    }

    fn doorbell(&self, offset: u32) -> Result<VfioUserDoorbell, DeviceError> {
        let place = u64::from(offset);
        if place + 4 > self.bar0.size || !offset.is_multiple_of(4) {
            return Err(DeviceError::Doorbell {
                offset,
                size: self.bar0.size as usize,
            });
        }
        Ok(VfioUserDoorbell(match self.bar0.mapped(place, 4) {
            Some((bar, at)) => DoorbellPath::Mapped(MmioDoorbell::new(bar, at as u32)?),
            None => DoorbellPath::Message {
                session: Arc::clone(&self.session),
                offset: place,
            },
        }))
    }

    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        Memory::allocate(&self.memory, len)
    }

    fn max_vectors(&self) -> u16 {
        self.interrupts.count()
    }

    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        MsiX::enable(&self.interrupts, count)
    }

    fn cancel_on(&self, flag: &Arc<AtomicBool>) {
        self.session.link.cancel_on(flag);
    }

    fn reset_function(&self) -> Result<(), DeviceError> {
        if !self.can_reset {
            return Err(DeviceError::NoFunctionReset {
                device: self.name.clone(),
            });
        }
        self.session.reset()?;
        config::set_command(&self.session)?;
        self.interrupts.reconnect()
    }
}
