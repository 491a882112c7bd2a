//! Group, container, and the memory that the device may reach.

use super::groups::{Groups, Shared};
use super::ioctl;
use crate::pci::{PciAddress, PciError, Sysfs};
use crate::{DeviceError, DmaDomain, DmaMapping, DmaMemory, IovaSpace, SharedMemory};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use vfio_bindings::bindings::vfio as sys;

/// The group of `address`, once it is sure that vfio-pci has the device.
pub(super) fn check_bound(name: &str, address: PciAddress) -> Result<u32, DeviceError> {
    let nvme = Sysfs::default().controller(address)?;
    let group = nvme.iommu_group.ok_or(PciError::NoIommuGroup { address })?;
    match nvme.driver.as_deref() {
        Some("vfio-pci") => Ok(group),
        other => Err(DeviceError::HeldByKernel {
            device: name.into(),
            address: address.to_string(),
            driver: other.unwrap_or("no").into(),
        }),
    }
}

pub(super) struct Container {
    /// Before the container: closed first.
    pub(super) group: File,
    container: File,
    space: Mutex<IovaSpace>,
    domain: DmaDomain,
}

/// The containers of this process.
static CONTAINERS: Groups<Container> = Groups::new();

impl Container {
    /// The container of `group`, which its devices share.
    pub(super) fn of_group(name: &str, group: u32) -> Result<Arc<Shared<Container>>, DeviceError> {
        CONTAINERS.get(group, || Container::open(name, group))
    }

    fn open(name: &str, group: u32) -> Result<Container, DeviceError> {
        let container = open_rw(name, "/dev/vfio/vfio")?;
        let version = ioctl::api_version(container.as_fd()).map_err(os("VFIO_GET_API_VERSION"))?;
        let type1 = ioctl::check_extension(container.as_fd(), sys::VFIO_TYPE1v2_IOMMU)
            .map_err(os("VFIO_CHECK_EXTENSION"))?;
        if version != sys::VFIO_API_VERSION as i32 || !type1 {
            return Err(DeviceError::Unsupported {
                device: name.into(),
                reason: "this kernel's VFIO has no type 1 IOMMU: `modprobe vfio_iommu_type1`"
                    .into(),
            });
        }
        let group_file =
            open_rw(name, &format!("/dev/vfio/{group}")).map_err(|error| of_group(error, group))?;
        let flags = ioctl::group_status(group_file.as_fd()).map_err(os("VFIO_GROUP_GET_STATUS"))?;
        if flags & sys::VFIO_GROUP_FLAGS_VIABLE == 0 {
            return Err(DeviceError::NotViable {
                device: name.into(),
                group,
                others: Sysfs::default().group_held_by(group).unwrap_or_default(),
            });
        }
        ioctl::group_set_container(group_file.as_fd(), container.as_fd())
            .map_err(os("VFIO_GROUP_SET_CONTAINER"))?;
        ioctl::set_iommu(container.as_fd(), sys::VFIO_TYPE1v2_IOMMU).map_err(|source| {
            if source.raw_os_error() == Some(libc::EPERM) {
                DeviceError::NoInterruptRemapping {
                    device: name.into(),
                }
            } else {
                os("VFIO_SET_IOMMU")(source)
            }
        })?;
        let space = Mutex::new(IovaSpace::new(ranges(&container)?));
        Ok(Container {
            group: group_file,
            container,
            space,
            domain: DmaDomain::unique(),
        })
    }

    /// Makes `memory` reachable for the device.
    pub(super) fn map(
        this: &Arc<Shared<Container>>,
        memory: Arc<SharedMemory>,
    ) -> Result<DmaMemory, DeviceError> {
        let len = memory.len();
        let align = memory.pages().alignment();
        let iova = this
            .lock()
            .allocate(len, align)
            .ok_or(DeviceError::IovaSpace { wanted: len })?;
        if let Err(source) = ioctl::map_dma(this.container.as_fd(), memory.address(), iova.0, len) {
            this.lock().free(iova, len);
            return Err(match source.raw_os_error() {
                Some(libc::ENOMEM) => DeviceError::MemoryLock {
                    wanted: len,
                    limit: lock_limit(),
                },
                _ => os("VFIO_IOMMU_MAP_DMA")(source),
            });
        }
        let mapping = Mapping {
            container: Arc::clone(this),
            iova,
            len,
        };
        Ok(DmaMemory::new(memory, iova, mapping))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IovaSpace> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory in the IOMMU; gone from it when dropped, before the memory itself goes.
struct Mapping {
    container: Arc<Shared<Container>>,
    iova: crate::Iova,
    len: usize,
}

impl DmaMapping for Mapping {
    fn domain(&self) -> DmaDomain {
        self.container.domain
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let result = ioctl::unmap_dma(self.container.container.as_fd(), self.iova.0, self.len);
        // An address that may still be mapped is never handed out again.
        if result.is_ok() {
            self.container.lock().free(self.iova, self.len);
        }
    }
}

/// Device addresses that the IOMMU maps; everything up to 39 bits, the minimum of VT-d, where the
/// kernel does not say (before 5.4).
fn ranges(container: &File) -> Result<Vec<RangeInclusive<u64>>, DeviceError> {
    let (first, chain) = ioctl::iommu_info(container.as_fd()).map_err(os("VFIO_IOMMU_GET_INFO"))?;
    let id = sys::VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE as u16;
    let Some(bytes) = ioctl::capability(&chain, first, id) else {
        return Ok(vec![0..=(1 << 39) - 1]);
    };
    // Header 8, count 4, reserved 4, then pairs of first and last address.
    let u64_at = |at: usize| {
        let bytes = bytes.get(at..at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    Ok((0..)
        .map_while(|i| Some(u64_at(16 + 16 * i)?..=u64_at(24 + 16 * i)?))
        .take(
            bytes
                .get(8..12)
                .map_or(0, |b| b[0] as usize | (b[1] as usize) << 8),
        )
        .collect())
}

fn open_rw(name: &str, path: &str) -> Result<File, DeviceError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => DeviceError::Permission { path: path.into() },
            io::ErrorKind::ResourceBusy => DeviceError::Busy {
                device: name.into(),
                path: path.into(),
            },
            io::ErrorKind::NotFound => DeviceError::Unsupported {
                device: name.into(),
                reason: format!("{path} is missing: `modprobe vfio-pci`"),
            },
            _ => os(&format!("open {path}"))(source),
        })
}

/// A group that is open has one of its devices in use, and not always the one that was requested.
fn of_group(error: DeviceError, group: u32) -> DeviceError {
    match error {
        DeviceError::Busy { device, .. } => DeviceError::GroupBusy { device, group },
        other => other,
    }
}

fn lock_limit() -> String {
    match rustix::process::getrlimit(rustix::process::Resource::Memlock).current {
        Some(limit) => format!("{limit} bytes"),
        None => "unlimited".into(),
    }
}

pub(super) fn os(what: &str) -> impl FnOnce(io::Error) -> DeviceError + '_ {
    move |source| DeviceError::Os {
        what: what.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_busy_is_reported_as_a_group_and_not_as_the_device() {
        let busy = DeviceError::Busy {
            device: "pcie:0000:01:00.0".into(),
            path: "/dev/vfio/7".into(),
        };
        let said = of_group(busy, 7).to_string();
        assert!(
            said.contains("IOMMU group 7") && said.contains("all devices"),
            "{said}"
        );
    }
}
