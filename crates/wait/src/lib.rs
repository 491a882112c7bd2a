//! How a core waits for a completion.
//!
//! A [`Policy`] decides: it is told of submissions and completions, and plans a [`Step`]. It owns
//! no clock and does no I/O, so that the same value decides in real and in virtual time. The
//! [`Waiter`] does: one tight loop per kind of step, chosen once per wait, so that changing the
//! policy at run time costs nothing. Neither knows NVMe.
#![forbid(unsafe_code)]

mod binding;
mod class;
mod clock;
mod counters;
mod dpas;
mod ehp;
mod hybrid;
mod once;
mod pas;
mod patience;
mod policy;
mod ski_rental;
mod spin;
mod step;
#[cfg(test)]
mod testing;
mod tpause;
mod umwait;
mod uring_hybrid;
mod user;
mod user_interrupt;
mod waiter;

pub use class::Class;
pub use clock::{now, poll_until, sleep};
pub use counters::Counters;
pub use dpas::Dpas;
pub use ehp::Ehp;
pub use hybrid::Hybrid;
pub use joulio_cpu::uintr::UintrError;
pub use joulio_cpu::{BusyThread, CacheLine};
pub use pas::Pas;
pub use policy::{AnyPolicy, Interrupt, Outstanding, Policy, Poll, Slept};
pub use ski_rental::SkiRental;
pub use step::{Step, StepKind, StepSet};
pub use tpause::{HybridTpause, Tpause};
pub use umwait::Umwait;
pub use uring_hybrid::UringHybrid;
pub use user_interrupt::{Uintr, UintrBlock};
pub use waiter::{Blocked, WaitError, Waiter, Watched, Woken};
