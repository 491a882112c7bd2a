//! The stack of a hand-over's thread that pauses.

use super::UintrError;
use super::slot::HandlerState;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

/// Size in bytes of the low-power thread's stack, which signal handlers use too. An access to the page below it faults.
const STACK: usize = 256 << 10;
const GUARD: usize = 4096;

/// The low-power thread: a stack.
#[derive(Debug)]
pub(crate) struct LowPower {
    mapping: *mut c_void,
}

// SAFETY: memory that no other thread has, as long as nobody waits on it.
unsafe impl Send for LowPower {}
// SAFETY: a shared reference does nothing.
unsafe impl Sync for LowPower {}

impl LowPower {
    /// Makes a thread that begins at `entry` when `state` hands the core over to it.
    pub(super) fn new(state: &HandlerState, entry: usize) -> Result<LowPower, UintrError> {
        let map = UintrError::other("stack");
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory, at an address that the kernel chooses.
        let mapping = unsafe { mmap_anonymous(std::ptr::null_mut(), GUARD + STACK, access, flags) };
        let low_power = LowPower {
            mapping: mapping.map_err(&map)?,
        };
        // SAFETY: the first page of the mapping, which nobody uses yet.
        unsafe { mprotect(low_power.mapping, GUARD, MprotectFlags::empty()) }.map_err(&map)?;
        // SAFETY: inside the mapping, aligned as it is: the last but one word of the stack.
        let top = unsafe {
            low_power
                .mapping
                .byte_add(GUARD + STACK - 16)
                .cast::<usize>()
        };
        // SAFETY: as above. Where the first hand-over returns to.
        unsafe { top.write(entry) };
        state.low_power.store(top as u64, Ordering::Relaxed);
        Ok(low_power)
    }
}

impl Drop for LowPower {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and the core is not on it.
        let _ = unsafe { munmap(self.mapping, GUARD + STACK) };
    }
}
