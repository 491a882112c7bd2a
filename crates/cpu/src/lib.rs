//! Waits of a CPU without the kernel: user-level waits for a time (TPAUSE) or
//! until a cache line is written (UMWAIT, MWAITX), and, with the help of a kernel module, device
//! interrupts that are delivered to a thread ([`uintr`]).
//!
//! [`UserWait::detect`] says which instructions this CPU lacks. Sources: Intel SDM volume 2
//! (TPAUSE, UMONITOR, UMWAIT), AMD APM volume 3 (MONITORX, MWAITX).

mod busy;
mod cache_line;
mod feature;
mod limits;
mod tsc;
pub mod uintr;
mod user_wait;

pub use busy::BusyThread;
pub use cache_line::CacheLine;
pub use feature::{Feature, MissingFeature};
pub use limits::PauseLimits;
pub use tsc::Tsc;
pub use user_wait::{Depth, Ended, UserWait};
