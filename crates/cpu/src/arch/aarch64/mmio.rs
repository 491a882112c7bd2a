//! Registers of devices, accessed by LDR and STR of one register: a compiler may choose a form that writes its address
//! back, which a hypervisor that emulates the device cannot decode (Arm ARM, ESR_EL2.ISS, ISV).

use std::arch::asm;

/// Implements [`crate::mmio::read32`].
///
/// # Safety
/// That of [`crate::mmio::read32`].
#[inline(always)]
pub(crate) unsafe fn read32(at: *const u32) -> u32 {
    let value: u32;
    // SAFETY: by the caller.
    unsafe {
        asm!("ldr {:w}, [{}]", out(reg) value, in(reg) at, options(nostack, preserves_flags))
    };
    value
}

/// Implements [`crate::mmio::write32`].
///
/// # Safety
/// That of [`crate::mmio::write32`].
#[inline(always)]
pub(crate) unsafe fn write32(at: *mut u32, value: u32) {
    // SAFETY: by the caller.
    unsafe { asm!("str {:w}, [{}]", in(reg) value, in(reg) at, options(nostack, preserves_flags)) };
}
