//! Fences for memory that a device reads and writes: DMB of the outer shareable domain, which includes devices, as in
//! Linux (`arch/arm64/include/asm/barrier.h`).

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Return from a function (RET X30).
    const RET: u32 = 0xd65f_03c0;
    /// DMB with its option, bits 11:8, cleared (Arm ARM, C6.2, "DMB").
    const DMB: u32 = 0xd503_30bf;

    /// Returns the options of the barriers of `function`.
    fn barriers(function: fn()) -> Vec<u32> {
        let first = function as *const u32;
        // SAFETY: code of this program up to the function's end.
        let code = (0..).map(|at| unsafe { first.add(at).read() });
        let code = code.take_while(|&word| word != RET);
        let barriers = code.filter(|word| word & !0xf00 == DMB);
        barriers.map(|word| word >> 8 & 0xf).collect()
    }

    #[test]
    fn fences_are_barriers_of_the_outer_shareable_domain() {
        let (oshld, oshst, osh) = (0b0001, 0b0010, 0b0011);
        assert_eq!(barriers(dma_read), [oshld]);
        assert_eq!(barriers(dma_release), [oshld, oshst]);
        assert_eq!(barriers(dma_full), [osh]);
    }
}
