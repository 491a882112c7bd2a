//! Order of accesses to memory that a device reads and writes too, as Linux names it.
//!
//! A queue's entries, its data and the words that redirected interrupts write are ordinary memory, which CPU
//! and device share coherently; a doorbell is a register. Whoever hands memory over writes a word last
//! (a doorbell, the phase tag of a completion, an interrupt's word), and whoever takes it over reads that
//! word first:
//!
//! | who | before | fence | after | in Linux |
//! |---|---|---|---|---|
//! | driver | writes a command, reads or writes its data | [`dma_release`] | writes the doorbell | [`writel`](crate::mmio::write32) |
//! | driver | reads the phase tag, a redirected interrupt's word | [`dma_read`] | reads the entry, the data | `dma_rmb` |
//! | driver | reads the entry | [`dma_release`] | writes the head's doorbell | [`writel`](crate::mmio::write32) |
//! | driver | reads a register | [`dma_read`] | reads or writes memory | [`readl`](crate::mmio::read32) |
//! | emulated device | reads a doorbell | [`dma_read`] | reads the command, writes data | |
//! | emulated device | reads and writes data, writes the entry | [`dma_release`] | writes the phase tag | |
//! | both | write a word | [`dma_full`] | read the other's | `dma_mb` |
//!
//! Where the emulated device is in this process, its doorbells are atomics of Rust's, to the same effect.
//!
//! What each orders is in Linux'
//! [memory-barriers.txt](https://docs.kernel.org/core-api/wrappers/memory-barriers.html), "Cache coherency
//! vs DMA" and "Kernel I/O barrier effects". They order the calling thread's accesses only, among
//! themselves, and are Rust's fences as well: an acquire, a release and a sequentially consistent
//! one. On x86-64 all but the full one take no instruction; on aarch64 they are DMB of the outer shareable
//! domain.

use crate::arch::fence as arch;

/// Orders earlier loads before later loads and stores: `dma_rmb`. An acquire fence.
#[inline(always)]
pub fn dma_read() {
    arch::dma_read();
}

/// Orders earlier loads and stores before later stores: `dma_rmb` and `dma_wmb`. A release fence. `dma_wmb` alone would
/// let the next owner overwrite memory before a load of ours has read it.
#[inline(always)]
pub fn dma_release() {
    arch::dma_release();
}

/// Orders earlier loads and stores before later ones: `dma_mb`. A sequentially consistent fence.
#[inline(always)]
pub fn dma_full() {
    arch::dma_full();
}
