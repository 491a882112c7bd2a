//! NUMA nodes of this process' memory and threads.

use std::io;

/// Returns the NUMA node of the page at `address` (get_mempolicy(2)); `None` where there is none, or the kernel does
/// not say.
pub fn memory_node(address: u64) -> Option<u32> {
    // linux/mempolicy.h: MPOL_F_NODE, MPOL_F_ADDR.
    const OF_PAGE: libc::c_ulong = 1 | 2;
    let mut node: libc::c_int = -1;
    // SAFETY: the kernel writes one int, and does not read the memory at the address.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut node,
            std::ptr::null_mut::<libc::c_ulong>(),
            0 as libc::c_ulong,
            address,
            OF_PAGE,
        )
    };
    (result == 0).then(|| u32::try_from(node).ok())?
}

/// Returns the NUMA node of the CPU that the calling thread is on (getcpu(2)).
pub fn current_node() -> Option<u32> {
    let mut node: libc::c_uint = 0;
    // SAFETY: the kernel writes one unsigned int.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getcpu,
            std::ptr::null_mut::<libc::c_uint>(),
            &raw mut node,
            std::ptr::null_mut::<libc::c_void>(),
        )
    };
    (result == 0).then_some(node)
}

/// Binds the calling thread's later allocations to NUMA node `node` (set_mempolicy(2), MPOL_BIND): one that finds no
/// room there fails.
///
/// # Errors
/// The kernel's: there is no such node, or this process may not use it.
pub fn allocate_on(node: u32) -> io::Result<()> {
    // linux/mempolicy.h.
    const MPOL_BIND: libc::c_int = 2;
    const BITS: u32 = libc::c_ulong::BITS;
    // As many nodes as Linux can be built for.
    let mut nodes: [libc::c_ulong; 1024 / BITS as usize] = [0; 1024 / BITS as usize];
    let word = nodes.get_mut((node / BITS) as usize);
    *word.ok_or(io::ErrorKind::InvalidInput)? |= 1 << (node % BITS);
    // SAFETY: the kernel reads the nodes, one bit less than the number passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_set_mempolicy,
            MPOL_BIND,
            nodes.as_ptr(),
            (nodes.len() * BITS as usize) as libc::c_ulong,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PageKind, SharedMemory, memory_pages};

    #[test]
    fn memory_that_is_there_has_a_node_and_pages() {
        let memory = SharedMemory::allocate(4 << 20).unwrap();
        memory.write(0, &[1]);
        // A kernel without NUMA has neither the call nor nodes.
        let nodes = std::path::Path::new("/sys/devices/system/node/node0").exists();
        assert_eq!(memory_node(memory.address()).is_some(), nodes);
        assert_eq!(memory_node(8), None);
        assert!(current_node().is_some());
        assert_eq!(allocate_on(0).is_ok(), nodes);
        assert!(allocate_on(1023).is_err() && allocate_on(u32::MAX).is_err());
        assert_eq!(memory_pages(memory.address()), memory.pages());
        let small = SharedMemory::allocate(4096).unwrap();
        small.write(0, &[1]);
        assert_eq!(memory_pages(small.address()), PageKind::Ordinary);
    }
}
