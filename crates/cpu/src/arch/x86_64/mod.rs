//! x86-64, of Intel and of AMD.

pub(crate) mod copy;
pub(crate) mod feature;
pub(crate) mod fence;
pub(crate) mod mmio;
pub(crate) mod uintr;
pub(crate) mod waits;

/// Value of the time-stamp counter now.
#[inline]
pub(crate) fn counter() -> u64 {
    // SAFETY: RDTSC is part of x86-64. CR4.TSD, which forbids it, is set by no Linux for a
    // process that did not ask for it.
    unsafe { std::arch::x86_64::_rdtsc() }
}
