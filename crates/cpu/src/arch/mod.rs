//! Instructions, and the features that a CPU reports: all that differs between architectures, and the only assembly of
//! the workspace.
//!
//! Each folder defines the same names. Where an architecture lacks a feature, the type of it has no value, so that the
//! compiler sees that code which needs it never runs.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as here;
#[cfg(target_arch = "x86_64")]
use x86_64 as here;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!(
    "joulio runs on x86-64 and aarch64: others have no fences and no counter in crates/cpu/src/arch"
);

pub(crate) use here::copy::copy;
pub(crate) use here::feature::{has, lack};
pub(crate) use here::fence;
pub(crate) use here::uintr::{UserInterrupts, code};
pub(crate) use here::waits::Waits;
pub(crate) use here::{counter, mmio};
