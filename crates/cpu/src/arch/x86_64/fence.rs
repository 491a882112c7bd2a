//! Fences for memory that a device reads and writes.
//!
//! An x86 CPU accesses write-back memory in program order, except that loads may come before earlier stores; a store to
//! uncached memory comes after them, and DMA is coherent (Intel SDM volume 3, "Memory Ordering"). So these fences,
//! except the full one, only restrict the compiler.

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

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

    /// Returns the number of fences and locked instructions of `function`.
    fn fences(function: fn()) -> usize {
        // SAFETY: code of this program, a few instructions and the bytes after them.
        let bytes = unsafe { std::slice::from_raw_parts(function as *const u8, 64) };
        let code = Decoder::new(64, bytes, DecoderOptions::NONE).into_iter();
        let code = code.take_while(|i| i.mnemonic() != Mnemonic::Ret);
        let is_fence = |i: &Instruction| {
            let fences = [Mnemonic::Lfence, Mnemonic::Mfence, Mnemonic::Sfence];
            i.has_lock_prefix() || fences.contains(&i.mnemonic())
        };
        code.filter(is_fence).count()
    }

    #[test]
    fn only_the_full_fence_takes_an_instruction() {
        assert_eq!([dma_read, dma_release, dma_full].map(fences), [0, 0, 1]);
    }
}
