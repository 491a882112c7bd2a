//! What a CPU can do while it waits, without the kernel: instructions that pause it in a light
//! sleep for a time (TPAUSE), or until a line of memory is written (UMWAIT, MWAITX); and, with a
//! module's help, device interrupts that come straight to a thread ([`uintr`]).
//!
//! Instructions that this CPU does not have are not to be had from here: [`UserWait::detect`] says
//! what is missing. Sources: Intel SDM volume 2 (TPAUSE, UMONITOR, UMWAIT), AMD APM volume 3
//! (MONITORX, MWAITX).

mod cache_line;
mod feature;
mod limits;
mod tsc;
pub mod uintr;
mod user_wait;

pub use cache_line::CacheLine;
pub use feature::{Feature, Missing};
pub use limits::Limits;
pub use tsc::Tsc;
pub use user_wait::{Depth, Ended, UserWait};
