//! The PCI function: its configuration space and BAR0.

use super::claims::Claim;
use super::container::{Container, os};
use super::groups::Shared;
use super::{config, ioctl};
use crate::DeviceError;
use crate::mmio::MappedBar;
use crate::pci::PciAddress;
use rustix::io::{pread, pwrite};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use vfio_bindings::bindings::vfio as sys;

/// Longest wait for somebody else's reset of the function, which takes seconds on a busy machine.
const OTHERS_RESET: Duration = Duration::from_secs(10);
/// Time between two attempts to reset.
const RETRY: Duration = Duration::from_millis(10);

pub(super) struct Function {
    pub(super) bar0: Arc<MappedBar>,
    device: OwnedFd,
    can_reset: bool,
    /// Offset of the configuration space in the device's file, in bytes.
    config: u64,
    /// Claim of the function, released after the file is closed: fields are dropped in their order.
    _claim: Claim,
    /// Container of the function, released after the file is closed: until then a device without an IOMMU reaches its
    /// memory.
    pub(super) container: Arc<Shared<Container>>,
}

impl Function {
    pub(super) fn open(
        name: &str,
        container: Arc<Shared<Container>>,
        address: PciAddress,
    ) -> Result<Function, DeviceError> {
        let claim = Claim::take(name, address)?;
        let device = ioctl::device_fd(container.group.as_fd(), &address.to_string())
            .map_err(os("VFIO_GROUP_GET_DEVICE_FD"))?;
        let info = ioctl::device_info(device.as_fd()).map_err(os("VFIO_DEVICE_GET_INFO"))?;
        let (config, _) = ioctl::region_info(device.as_fd(), sys::VFIO_PCI_CONFIG_REGION_INDEX)
            .map_err(os("VFIO_DEVICE_GET_REGION_INFO"))?;
        let bar0 = Arc::new(map_bar(name, device.as_fd(), 0)?);
        Ok(Function {
            bar0,
            device,
            can_reset: info.flags & sys::VFIO_DEVICE_FLAGS_RESET != 0,
            config: config.offset,
            _claim: claim,
            container,
        })
    }

    pub(super) fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// Maps another BAR, or returns BAR0 again.
    pub(super) fn bar(&self, name: &str, index: u8) -> Result<Arc<MappedBar>, DeviceError> {
        match index {
            0 => Ok(Arc::clone(&self.bar0)),
            _ => map_bar(name, self.device(), index.into()).map(Arc::new),
        }
    }

    /// Whether the kernel can reset the function.
    pub(super) fn can_reset(&self) -> bool {
        self.can_reset
    }

    /// Resets the function. The kernel restores its configuration space, and the entries of enabled vectors, unmasked.
    /// It refuses while somebody else resets the function (EAGAIN): then this waits.
    pub(super) fn reset(&self) -> Result<(), DeviceError> {
        let mut tries = OTHERS_RESET.as_millis() / RETRY.as_millis();
        loop {
            match ioctl::reset(self.device()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && tries > 0 => {
                    tries -= 1;
                    std::thread::sleep(RETRY);
                }
                done => return done.map_err(os("VFIO_DEVICE_RESET")),
            }
        }
    }

    /// Enables bus mastering and the memory BARs of the function, unless it is gone. The kernel answers no read of the
    /// configuration space while a reset is under way: this waits for it.
    pub(super) fn enable_bus_master(&self) -> Result<(), DeviceError> {
        let mut command = [0u8; 2];
        self.read_config(config::COMMAND, &mut command)?;
        if command == [0xff; 2] {
            return Ok(());
        }
        command[0] |= config::COMMAND_MEMORY | config::COMMAND_BUS_MASTER;
        pwrite(
            &self.device,
            &command,
            self.config + u64::from(config::COMMAND),
        )
        .map(drop)
        .map_err(|error| os("write the PCI command register")(error.into()))
    }

    pub(super) fn read_config(&self, offset: u16, to: &mut [u8]) -> Result<(), DeviceError> {
        let wanted = to.len();
        match pread(&self.device, to, self.config + u64::from(offset)) {
            Ok(n) if n == wanted => Ok(()),
            Ok(_) => Err(os("read the PCI configuration space")(
                std::io::ErrorKind::UnexpectedEof.into(),
            )),
            Err(error) => Err(os("read the PCI configuration space")(error.into())),
        }
    }
}

/// Maps a whole BAR, the MSI-X table in it included, which kernels allow since 4.16.
fn map_bar(name: &str, device: BorrowedFd<'_>, index: u32) -> Result<MappedBar, DeviceError> {
    let (info, chain) =
        ioctl::region_info(device, index).map_err(os("VFIO_DEVICE_GET_REGION_INFO"))?;
    let sparse = ioctl::capability(
        &chain,
        info.cap_offset,
        sys::VFIO_REGION_INFO_CAP_SPARSE_MMAP as u16,
    );
    if info.flags & sys::VFIO_REGION_INFO_FLAG_MMAP == 0 || sparse.is_some() || info.size == 0 {
        return Err(DeviceError::Unsupported {
            device: name.into(),
            reason: format!(
                "the kernel does not let BAR{index} be mapped as a whole (Linux 4.16 or newer does)"
            ),
        });
    }
    MappedBar::map(device, info.offset..info.offset + info.size)
}
