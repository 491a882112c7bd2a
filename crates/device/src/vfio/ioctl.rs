//! The ioctls of VFIO (include/uapi/linux/vfio.h), one function each.
//!
//! Sound because each passes a descriptor that is owned or borrowed, and a structure whose `argsz` is its true length,
//! which the kernel honours.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use vfio_bindings::bindings::vfio as sys;

const fn request(nr: u32) -> libc::Ioctl {
    // _IO(VFIO_TYPE, VFIO_BASE + nr): no direction, no size.
    ((sys::VFIO_TYPE as u32) << 8 | (sys::VFIO_BASE + nr)) as libc::Ioctl
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn by_value(fd: BorrowedFd<'_>, nr: u32, value: libc::c_ulong) -> io::Result<i32> {
    // SAFETY: these requests take an integer.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request(nr), value) })
}

/// Passes a structure that starts with its own size.
///
/// # Safety
/// `T` is the structure that request `nr` takes, and its `argsz` is at most `size_of::<T>()`.
unsafe fn by_pointer<T>(fd: BorrowedFd<'_>, nr: u32, value: &mut T) -> io::Result<i32> {
    // SAFETY: by the caller; the reference is valid for the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request(nr), std::ptr::from_mut(value)) })
}

pub(super) fn api_version(container: BorrowedFd<'_>) -> io::Result<i32> {
    by_value(container, 0, 0)
}

pub(super) fn check_extension(container: BorrowedFd<'_>, extension: u32) -> io::Result<bool> {
    Ok(by_value(container, 1, extension.into())? > 0)
}

pub(super) fn set_iommu(container: BorrowedFd<'_>, kind: u32) -> io::Result<()> {
    by_value(container, 2, kind.into()).map(drop)
}

pub(super) fn group_status(group: BorrowedFd<'_>) -> io::Result<u32> {
    let mut status = sys::vfio_group_status {
        argsz: size_of::<sys::vfio_group_status>() as u32,
        flags: 0,
    };
    // SAFETY: VFIO_GROUP_GET_STATUS takes this structure.
    unsafe { by_pointer(group, 3, &mut status)? };
    Ok(status.flags)
}

pub(super) fn group_set_container(
    group: BorrowedFd<'_>,
    container: BorrowedFd<'_>,
) -> io::Result<()> {
    let mut fd = container.as_raw_fd();
    // SAFETY: VFIO_GROUP_SET_CONTAINER takes a pointer to a descriptor.
    unsafe { by_pointer(group, 4, &mut fd).map(drop) }
}

pub(super) fn device_fd(group: BorrowedFd<'_>, address: &str) -> io::Result<OwnedFd> {
    let name = std::ffi::CString::new(address).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: VFIO_GROUP_GET_DEVICE_FD takes a NUL-terminated name.
    let fd = check(unsafe { libc::ioctl(group.as_raw_fd(), request(6), name.as_ptr()) })?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn device_info(device: BorrowedFd<'_>) -> io::Result<sys::vfio_device_info> {
    // SAFETY: a structure of integers; zero is a value.
    let mut info: sys::vfio_device_info = unsafe { std::mem::zeroed() };
    info.argsz = size_of::<sys::vfio_device_info>() as u32;
    // SAFETY: VFIO_DEVICE_GET_INFO takes this structure.
    unsafe { by_pointer(device, 7, &mut info)? };
    Ok(info)
}

/// Reads a region's description and the capability chain after it.
pub(super) fn region_info(
    device: BorrowedFd<'_>,
    index: u32,
) -> io::Result<(sys::vfio_region_info, Vec<u8>)> {
    // SAFETY: a structure of integers; zero is a value.
    let mut info: sys::vfio_region_info = unsafe { std::mem::zeroed() };
    info.argsz = size_of::<sys::vfio_region_info>() as u32;
    info.index = index;
    // SAFETY: VFIO_DEVICE_GET_REGION_INFO takes this structure.
    unsafe { by_pointer(device, 8, &mut info)? };
    let all = with_chain(device, 8, info.argsz as usize, |head| {
        head[8..12].copy_from_slice(&index.to_ne_bytes());
    })?;
    // The answer gives the offset of the chain only if there was room for it.
    info.cap_offset = all.get(12..16).map_or(0, word);
    Ok((info, all))
}

/// Reads the IOMMU's flags and its capability chain.
pub(super) fn iommu_info(container: BorrowedFd<'_>) -> io::Result<(u32, Vec<u8>)> {
    // SAFETY: a structure of integers; zero is a value.
    let mut info: sys::vfio_iommu_type1_info = unsafe { std::mem::zeroed() };
    info.argsz = size_of::<sys::vfio_iommu_type1_info>() as u32;
    // SAFETY: VFIO_IOMMU_GET_INFO takes this structure.
    unsafe { by_pointer(container, 12, &mut info)? };
    let all = with_chain(container, 12, info.argsz as usize, |_| {})?;
    // cap_offset follows argsz, flags and the page sizes; older kernels end before it.
    let first = all.get(16..20).map_or(0, word);
    Ok((first, all))
}

/// Repeats the call with `len` bytes of room, as many as the kernel said its answer needs.
fn with_chain(
    fd: BorrowedFd<'_>,
    nr: u32,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> io::Result<Vec<u8>> {
    // 64-bit words keep the buffer aligned for the structure.
    let len = len.clamp(32, 1 << 16);
    let mut room = vec![0u64; len.div_ceil(8)];
    // SAFETY: the words are initialised bytes, borrowed for this statement only.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), room.len() * 8) };
    bytes[0..4].copy_from_slice(&(len as u32).to_ne_bytes());
    fill(bytes);
    // SAFETY: the buffer has the length that its argsz, the first word, says.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request(nr), room.as_mut_ptr()) })?;
    Ok(room
        .iter()
        .flat_map(|w| w.to_ne_bytes())
        .take(len)
        .collect())
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes.try_into().unwrap_or_default())
}

/// Finds the capability `id` of a chain that starts at `first`; returns the bytes from its header on.
pub(super) fn capability(chain: &[u8], first: u32, id: u16) -> Option<&[u8]> {
    let mut at = first as usize;
    // A chain cannot have more members than fit; a loop in it ends here.
    for _ in 0..chain.len() / 8 {
        let header = chain.get(at..at + 8).filter(|_| at != 0)?;
        if u16::from_ne_bytes([header[0], header[1]]) == id {
            return chain.get(at..);
        }
        at = word(&header[4..8]) as usize;
    }
    None
}

pub(super) fn irq_count(device: BorrowedFd<'_>, index: u32) -> io::Result<u32> {
    let mut info = sys::vfio_irq_info {
        argsz: size_of::<sys::vfio_irq_info>() as u32,
        index,
        ..Default::default()
    };
    // SAFETY: VFIO_DEVICE_GET_IRQ_INFO takes this structure.
    unsafe { by_pointer(device, 9, &mut info)? };
    Ok(info.count)
}

/// Connects interrupts 0.. of `index` to `events`; with none, disables them all. A result other than 0: none is
/// enabled, and the result is how many could be.
pub(super) fn set_irqs(device: BorrowedFd<'_>, index: u32, events: &[i32]) -> io::Result<u32> {
    const HEADER: usize = 5;
    let data = if events.is_empty() {
        sys::VFIO_IRQ_SET_DATA_NONE
    } else {
        sys::VFIO_IRQ_SET_DATA_EVENTFD
    };
    let mut words = vec![
        ((HEADER + events.len()) * 4) as u32,
        data | sys::VFIO_IRQ_SET_ACTION_TRIGGER,
        index,
        0,
        events.len() as u32,
    ];
    words.extend(events.iter().map(|&fd| fd as u32));
    // SAFETY: the words are a vfio_irq_set: five words, then the descriptors; argsz is their size.
    check(unsafe { libc::ioctl(device.as_raw_fd(), request(10), words.as_mut_ptr()) })
        .map(i32::cast_unsigned)
}

pub(super) fn reset(device: BorrowedFd<'_>) -> io::Result<()> {
    by_value(device, 11, 0).map(drop)
}

/// Maps `len` bytes at `address` of this process for the device, at `iova`.
pub(super) fn map_dma(
    container: BorrowedFd<'_>,
    address: u64,
    iova: u64,
    len: usize,
) -> io::Result<()> {
    let mut map = sys::vfio_iommu_type1_dma_map {
        argsz: size_of::<sys::vfio_iommu_type1_dma_map>() as u32,
        flags: sys::VFIO_DMA_MAP_FLAG_READ | sys::VFIO_DMA_MAP_FLAG_WRITE,
        vaddr: address,
        iova,
        size: len as u64,
    };
    // SAFETY: VFIO_IOMMU_MAP_DMA takes this structure; the caller owns the memory.
    unsafe { by_pointer(container, 13, &mut map).map(drop) }
}

pub(super) fn unmap_dma(container: BorrowedFd<'_>, iova: u64, len: usize) -> io::Result<()> {
    // SAFETY: a structure of integers; zero is a value.
    let mut unmap: sys::vfio_iommu_type1_dma_unmap = unsafe { std::mem::zeroed() };
    unmap.argsz = size_of::<sys::vfio_iommu_type1_dma_unmap>() as u32;
    unmap.iova = iova;
    unmap.size = len as u64;
    // SAFETY: VFIO_IOMMU_UNMAP_DMA takes this structure.
    unsafe { by_pointer(container, 14, &mut unmap).map(drop) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(entries: &[(usize, u16, u32)]) -> Vec<u8> {
        let mut bytes = vec![0u8; 64];
        for &(at, id, next) in entries {
            bytes[at..at + 2].copy_from_slice(&id.to_ne_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&next.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn a_capability_is_found_behind_others() {
        let bytes = chain(&[(16, 1, 32), (32, 3, 0)]);
        assert_eq!(capability(&bytes, 16, 3).map(<[u8]>::len), Some(32));
        assert_eq!(capability(&bytes, 16, 2), None);
        assert_eq!(capability(&bytes, 0, 1), None);
    }

    #[test]
    fn a_chain_that_loops_or_leaves_ends() {
        assert_eq!(capability(&chain(&[(16, 1, 16)]), 16, 2), None);
        assert_eq!(capability(&chain(&[(16, 1, 4096)]), 16, 2), None);
    }

    #[test]
    fn request_numbers_are_the_kernels() {
        assert_eq!(request(0), 0x3b64);
        assert_eq!(request(14), 0x3b72);
    }
}
