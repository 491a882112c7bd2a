//! Registers of devices in mapped memory, in order with memory that the device shares: Linux' `readl` and
//! `writel` (memory-barriers.txt, "Kernel I/O barrier effects"), in the CPU's byte order, which is the
//! device's.

use crate::arch::mmio;
use crate::fence;

/// Reads a register. Later reads and writes of memory come after it ([`fence::dma_read`]).
///
/// # Safety
/// `at` is mapped, aligned, and may be read.
#[inline(always)]
pub unsafe fn read32(at: *const u32) -> u32 {
    // SAFETY: by the caller.
    let value = unsafe { mmio::read32(at) };
    fence::dma_read();
    value
}

/// Writes a register. Earlier reads and writes of memory come before it ([`fence::dma_release`]).
///
/// # Safety
/// `at` is mapped, aligned, and may be written.
#[inline(always)]
pub unsafe fn write32(at: *mut u32, value: u32) {
    fence::dma_release();
    // SAFETY: by the caller.
    unsafe { mmio::write32(at, value) }
}
