//! Copies by pairs of registers.

/// Implements [`crate::copy_shared`].
///
/// # Safety
/// That of [`crate::copy_shared`]; memory, not a device's registers, as the accesses need not be aligned.
#[inline]
pub(crate) unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: the caller vouches for the ranges, and every access is inside them: 16 bytes while there are
    // as many left, then single ones.
    unsafe {
        std::arch::asm!(
            "subs {len}, {len}, #16",
            "b.lo 3f",
            "2:",
            "ldp {first}, {second}, [{src}], #16",
            "stp {first}, {second}, [{dst}], #16",
            "subs {len}, {len}, #16",
            "b.hs 2b",
            "3:",
            "adds {len}, {len}, #16",
            "b.eq 5f",
            "4:",
            "ldrb {first:w}, [{src}], #1",
            "strb {first:w}, [{dst}], #1",
            "subs {len}, {len}, #1",
            "b.ne 4b",
            "5:",
            len = inout(reg) len => _,
            src = inout(reg) src => _,
            dst = inout(reg) dst => _,
            first = out(reg) _,
            second = out(reg) _,
            options(nostack)
        );
    }
}
