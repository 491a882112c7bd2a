//! Aarch64. User-level waits until memory is written (WFE, WFET) are not used here: what wakes them beside
//! the write, and whether a device's write does, is the implementation's.

pub(crate) mod copy;
pub(crate) mod feature;
pub(crate) mod fence;
pub(crate) mod mmio;
pub(crate) mod uintr;
pub(crate) mod waits;

/// Value of the virtual timer's counter now (Arm ARM, CNTVCT_EL0).
#[inline]
pub(crate) fn counter() -> u64 {
    let value: u64;
    // SAFETY: reads a register that Linux lets processes read (CNTKCTL_EL1.EL0VCTEN), or answers for.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nostack, preserves_flags));
    }
    value
}
