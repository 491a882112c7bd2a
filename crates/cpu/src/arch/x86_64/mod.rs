//! x86-64, of Intel and of AMD.

pub(crate) mod copy;
pub(crate) mod feature;
pub(crate) mod fence;
pub(crate) mod mmio;
pub(crate) mod uintr;
pub(crate) mod waits;

/// Returns the value of the time-stamp counter.
#[inline]
pub(crate) fn counter() -> u64 {
    // SAFETY: RDTSC is part of x86-64. Linux sets CR4.TSD, which forbids it, only for a process that requested that.
    unsafe { std::arch::x86_64::_rdtsc() }
}
