//! Ways for a CPU to wait without the kernel: user-level waits until a time (TPAUSE) or until a cache line is
//! written (UMWAIT, MWAITX), and, with the help of a kernel module, device interrupts that are delivered to a
//! thread ([`uintr`]).
//!
//! The crate also has the instructions for memory and registers that are shared with a device: [`fence`]s,
//! [`copy_shared`], and [`mmio`].
//!
//! [`UserWait::detect`] reports which of these instructions the CPU lacks; aarch64 has none of them. Sources: Intel
//! SDM volume 2 (TPAUSE, UMONITOR, UMWAIT), AMD APM volume 3 (MONITORX, MWAITX).
#![warn(clippy::missing_errors_doc)]

mod allowed;
mod arch;
mod busy;
mod cache_line;
mod copy;
mod feature;
pub mod fence;
mod limits;
pub mod mmio;
mod tsc;
pub mod uintr;
mod user_wait;

pub use allowed::allowed_cpus;
pub use busy::BusyThread;
pub use cache_line::CacheLine;
pub use copy::copy_shared;
pub use feature::{Feature, MissingFeature};
pub use limits::PauseLimits;
pub use tsc::Tsc;
pub use user_wait::{Depth, Ended, UserWait};
