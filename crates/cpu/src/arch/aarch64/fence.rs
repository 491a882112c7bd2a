//! Fences for memory that a device reads and writes: DMB of the outer shareable domain, which devices are
//! in, as Linux has them (`arch/arm64/include/asm/barrier.h`).

use std::arch::asm;

#[inline(always)]
pub(crate) fn dma_read() {
    // SAFETY: orders memory accesses only.
    unsafe { asm!("dmb oshld", options(nostack, preserves_flags)) };
}

#[inline(always)]
pub(crate) fn dma_release() {
    // Loads before stores, then stores before stores: DMB has no weaker form for both.
    // SAFETY: as above.
    unsafe { asm!("dmb oshld", "dmb oshst", options(nostack, preserves_flags)) };
}

#[inline(always)]
pub(crate) fn dma_full() {
    // SAFETY: as above.
    unsafe { asm!("dmb osh", options(nostack, preserves_flags)) };
}
