//! Registers of devices, which are uncached memory.

/// Implements [`crate::mmio::read32`].
///
/// # Safety
/// That of [`crate::mmio::read32`].
#[inline(always)]
pub(crate) unsafe fn read32(at: *const u32) -> u32 {
    // SAFETY: by the caller.
    unsafe { at.read_volatile() }
}

/// Implements [`crate::mmio::write32`].
///
/// # Safety
/// That of [`crate::mmio::write32`].
#[inline(always)]
pub(crate) unsafe fn write32(at: *mut u32, value: u32) {
    // SAFETY: by the caller.
    unsafe { at.write_volatile(value) }
}
