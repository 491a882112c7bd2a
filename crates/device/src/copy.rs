//! Copies to and from memory that someone else may write at the same time.
//!
//! Rust's memory model knows no data race that is fine, so a plain copy from memory that a device
//! (or another process) writes would be undefined behaviour even where any bytes would do. On
//! x86-64 the copy is `rep movsb` in an asm block, which the compiler must treat as the act of
//! another agent; elsewhere it is a loop of volatile bytes and words. No `&[u8]` to such memory
//! ever exists.

/// Copies `len` bytes from `src` to `dst`.
///
/// # Safety
/// Both ranges are mapped, readable and writable respectively, and do not overlap. Either may be
/// written by another agent meanwhile: the bytes copied are then any mixture.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: the caller vouches for the ranges; the direction flag is clear by the ABI.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rsi") src => _,
            inout("rdi") dst => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Copies `len` bytes from `src` to `dst`.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
    let mut at = 0;
    if src.align_offset(8) == 0 && dst.align_offset(8) == 0 {
        while at + 8 <= len {
            // SAFETY: in range by the caller; aligned as just seen.
            unsafe {
                dst.add(at)
                    .cast::<u64>()
                    .write_volatile(src.add(at).cast::<u64>().read_volatile());
            }
            at += 8;
        }
    }
    while at < len {
        // SAFETY: in range by the caller.
        unsafe { dst.add(at).write_volatile(src.add(at).read_volatile()) };
        at += 1;
    }
}
