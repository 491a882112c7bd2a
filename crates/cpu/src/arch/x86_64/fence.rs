//! Fences for memory that a device reads and writes.
//!
//! The order of an x86 CPU's accesses to write-back memory is the order of its program but for loads before
//! earlier stores, a store to uncached memory comes after them, and DMA is coherent (Intel SDM volume 3,
//! "Memory Ordering"). So but for the full one these keep the compiler's order alone.

use std::sync::atomic::{Ordering, fence};

#[inline(always)]
pub(crate) fn dma_read() {
    fence(Ordering::Acquire);
}

#[inline(always)]
pub(crate) fn dma_release() {
    fence(Ordering::Release);
}

#[inline(always)]
pub(crate) fn dma_full() {
    fence(Ordering::SeqCst);
}
