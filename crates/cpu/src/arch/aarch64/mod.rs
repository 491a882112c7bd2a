//! Aarch64. User-level waits until memory is written (WFE, WFET) are not used: which other events wake them, and
//! whether a device's write does, depends on the implementation.

pub(crate) mod copy;
pub(crate) mod feature;
pub(crate) mod fence;
pub(crate) mod mmio;
pub(crate) mod uintr;
pub(crate) mod waits;

/// Returns the value of the virtual timer's counter (Arm ARM, CNTVCT_EL0).
#[inline]
pub(crate) fn counter() -> u64 {
    let value: u64;
    // SAFETY: reads a register that Linux permits processes to read (CNTKCTL_EL1.EL0VCTEN), or emulates.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nostack, preserves_flags));
    }
    value
}
