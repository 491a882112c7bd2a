//! Copies to and from memory that someone else may write at the same time.
//!
//! Rust's memory model allows no data race, so a plain copy from memory that a device (or another process) writes would
//! be undefined behaviour even where any bytes would be acceptable. So the copy is an asm block, which the compiler
//! must treat as the act of another agent. No `&[u8]` to such memory ever exists.

use crate::arch;

/// Copies `len` bytes from `src` to `dst`, in no particular order and by accesses of any width: memory
/// that a device or another process may write meanwhile.
///
/// # Safety
/// Both ranges are mapped, readable and writable respectively, and do not overlap. Either may be
/// written by another agent meanwhile: the bytes copied are then any mixture.
#[inline]
pub unsafe fn copy_shared(src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: by the caller.
    unsafe { arch::copy(src, dst, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_the_range_is_copied_and_no_other() {
        let from: Vec<u8> = (1..=80).collect();
        for (first, len) in (0..9).flat_map(|first| (0..60).map(move |len| (first, len))) {
            let mut to = [0; 80];
            // SAFETY: inside both, which are apart.
            unsafe { copy_shared(from.as_ptr().add(first), to.as_mut_ptr().add(5), len) };
            assert_eq!(to[5..5 + len], from[first..first + len]);
            assert!(to[..5].iter().chain(&to[5 + len..]).all(|&byte| byte == 0));
        }
    }
}
