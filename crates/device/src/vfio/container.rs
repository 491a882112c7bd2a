//! Group, container, and the memory that is mapped for the device.

use super::groups::{Groups, Shared};
use super::huge_pool::HugePool;
use super::ioctl;
use crate::pci::{NoIommu, PciAddress, PciError, Sysfs, VfioGroup};
use crate::{DeviceError, DmaDomain, DmaMapping, DmaMemory, IovaSpace, SharedMemory};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vfio_bindings::bindings::vfio as sys;

/// Returns the group of `address`, after checking that vfio-pci has the device.
pub(super) fn check_bound(
    name: &str,
    address: PciAddress,
    no_iommu: NoIommu,
) -> Result<VfioGroup, DeviceError> {
    let sysfs = Sysfs::default();
    let nvme = sysfs.controller(address)?;
    let group = sysfs.check_guard(&nvme, no_iommu)?;
    match nvme.driver.as_deref() {
        Some("vfio-pci") => {
            let number = group.ok_or(PciError::NoIommuGroup { address })?;
            Ok(sysfs.vfio_group(number)?)
        }
        other => Err(DeviceError::HeldByKernel {
            device: name.into(),
            arguments: match group {
                Some(_) => address.to_string(),
                None => format!("{address} --noiommu"),
            },
            driver: other.unwrap_or("no").into(),
        }),
    }
}

pub(super) struct Container {
    /// The group; declared before the container, so that it is closed first.
    pub(super) group: File,
    container: File,
    addresses: Addresses,
    domain: DmaDomain,
}

/// Allocator of the addresses that the group's devices use.
enum Addresses {
    /// Addresses that an IOMMU maps.
    Iommu(Mutex<IovaSpace>),
    /// Physical addresses, without an IOMMU.
    Physical(HugePool),
}

/// The containers of this process.
static CONTAINERS: Groups<Container> = Groups::new();

impl Container {
    /// Returns the container of `group`, which its devices share.
    pub(super) fn of_group(
        name: &str,
        group: &VfioGroup,
    ) -> Result<Arc<Shared<Container>>, DeviceError> {
        CONTAINERS.get(group.number, || Container::open(name, group))
    }

    fn open(name: &str, vfio_group: &VfioGroup) -> Result<Container, DeviceError> {
        let VfioGroup {
            number: group,
            no_iommu,
            ..
        } = *vfio_group;
        let container = open_rw(name, "/dev/vfio/vfio")?;
        let version = ioctl::api_version(container.as_fd()).map_err(os("VFIO_GET_API_VERSION"))?;
        let (kind, lacks) = match no_iommu {
            false => (
                sys::VFIO_TYPE1v2_IOMMU,
                "this kernel's VFIO has no type 1 IOMMU: `modprobe vfio_iommu_type1`",
            ),
            true => (
                sys::VFIO_NOIOMMU_IOMMU,
                "VFIO's no-IOMMU mode is off: `echo Y > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode`",
            ),
        };
        let has = ioctl::check_extension(container.as_fd(), kind);
        if version != sys::VFIO_API_VERSION as i32 || !has.map_err(os("VFIO_CHECK_EXTENSION"))? {
            return Err(DeviceError::Unsupported {
                device: name.into(),
                reason: lacks.into(),
            });
        }
        let node = vfio_group.node.to_string_lossy();
        let group_file = open_rw(name, &node).map_err(|error| match error {
            DeviceError::Permission { .. } if no_iommu => DeviceError::NoIommuRights {
                device: name.into(),
            },
            error => of_group(error, group),
        })?;
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
        ioctl::set_iommu(container.as_fd(), kind).map_err(|source| {
            if source.raw_os_error() == Some(libc::EPERM) {
                DeviceError::NoInterruptRemapping {
                    device: name.into(),
                }
            } else {
                os("VFIO_SET_IOMMU")(source)
            }
        })?;
        let addresses = match no_iommu {
            false => Addresses::Iommu(Mutex::new(IovaSpace::new(ranges(&container)?))),
            true => Addresses::Physical(HugePool::new(name)?),
        };
        Ok(Container {
            group: group_file,
            container,
            addresses,
            domain: DmaDomain::unique(),
        })
    }

    /// Whether an IOMMU confines the devices to the memory mapped for them.
    pub(super) fn has_iommu(&self) -> bool {
        matches!(self.addresses, Addresses::Iommu(_))
    }

    /// Allocates memory that the device can reach.
    pub(super) fn allocate(
        this: &Arc<Shared<Container>>,
        len: usize,
    ) -> Result<DmaMemory, DeviceError> {
        match &this.addresses {
            Addresses::Iommu(space) => {
                let memory = Arc::new(SharedMemory::allocate(len)?);
                Container::map(this, space, memory)
            }
            Addresses::Physical(pool) => {
                let (memory, iova) = pool.allocate(len)?;
                let reached = Reached(Arc::clone(this));
                Ok(DmaMemory::new(Arc::new(memory), iova, reached))
            }
        }
    }

    /// Maps `memory` for the device.
    pub(super) fn reach(
        this: &Arc<Shared<Container>>,
        memory: Arc<SharedMemory>,
    ) -> Result<DmaMemory, DeviceError> {
        match &this.addresses {
            Addresses::Iommu(space) => Container::map(this, space, memory),
            Addresses::Physical(pool) => {
                let iova = pool.reach(&memory)?;
                let reached = Reached(Arc::clone(this));
                Ok(DmaMemory::new(memory, iova, reached))
            }
        }
    }

    fn map(
        this: &Arc<Shared<Container>>,
        space: &Mutex<IovaSpace>,
        memory: Arc<SharedMemory>,
    ) -> Result<DmaMemory, DeviceError> {
        let len = memory.len();
        let align = memory.pages().alignment();
        let iova = lock(space)
            .allocate(len, align)
            .ok_or(DeviceError::IovaSpace { wanted: len })?;
        if let Err(source) = ioctl::map_dma(this.container.as_fd(), memory.address(), iova.0, len) {
            lock(space).free(iova, len);
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
}

fn lock(space: &Mutex<IovaSpace>) -> MutexGuard<'_, IovaSpace> {
    space.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory mapped by its physical address, which the device can reach until it is closed.
struct Reached(Arc<Shared<Container>>);

impl DmaMapping for Reached {
    fn domain(&self) -> DmaDomain {
        self.0.domain
    }
}

/// Memory mapped in the IOMMU; unmapped when dropped, before the memory itself is freed.
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
        if result.is_ok()
            && let Addresses::Iommu(space) = &self.container.addresses
        {
            lock(space).free(self.iova, self.len);
        }
    }
}

/// Returns the ranges of device addresses that the IOMMU maps; up to 39 bits, the minimum of VT-d, where the kernel
/// does not report them (before 5.4).
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

/// Rewrites an error for a group that is already open: one of its devices is in use, not necessarily the one that was
/// requested.
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
