//! Waits of a core for a completion: a [`Policy`] decides how to wait, a [`Waiter`] waits.
//!
//! A [`Policy`] learns from submissions and completions, and plans a [`Step`]. It has no clock and does no I/O, so
//! that the same policy decides in real and in virtual time. A [`Waiter`] carries out the step. It has one tight
//! loop for each kind of step, chosen once per wait, so that changing the policy at run time costs nothing. Neither
//! depends on NVMe.
//!
//! ```
//! use joulio_wait::{AnyPolicy, Blocked, Policy, StepKind, Waiter, Watched, Woken};
//! # use joulio_units::Nanos;
//! # use std::error::Error;
//!
//! /// Becomes ready at the third poll.
//! struct Third(u32);
//!
//! impl Watched for Third {
//!     fn ready(&mut self) -> bool {
//!         self.0 += 1;
//!         self.0 == 3
//!     }
//! #    fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> { Ok(()) }
//! #    fn block(&mut self, _: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
//! #        Ok(Blocked::Interrupted)
//! #    }
//! }
//!
//! let step = AnyPolicy::POLL.fixed().expect("polling plans the same always");
//! assert_eq!(step.kind, StepKind::Spin);
//! let mut third = Third(0);
//! assert_eq!(Waiter::new().run(step, &mut third)?, Woken::Ready);
//! assert_eq!(third.0, 3);
//! # Ok::<(), joulio_wait::WaitError>(())
//! ```
//!
//! Instructions have the names of the vendors' manuals, whose descriptions are in alphabetical order: TPAUSE and UMWAIT
//! are in volume 2 of [Intel's SDM][SDM], MWAITX is in volume 3 of [AMD's APM][APM].
//!
//! [APM]: https://www.amd.com/content/dam/amd/en/documents/processor-tech-docs/programmer-references/40332.pdf
//! [SDM]: https://www.intel.com/content/www/us/en/developer/articles/technical/intel-sdm.html
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod binding;
mod class;
mod clock;
mod counters;
mod planned;
mod policies;
mod policy;
mod run_delay;
mod spin;
mod step;
mod user;
mod waiter;
mod waker;
mod watched;

pub use class::Class;
pub use clock::{now, poll_until, sleep};
pub use counters::WaitCounters;
pub use joulio_cpu::uintr::UintrError;
pub use joulio_cpu::{BusyThread, CacheLine};
pub use planned::{ExpectedCost, PlannedWait};
pub use policies::*;
pub use policy::{Outstanding, Policy, Slept};
pub use run_delay::{RunDelay, run_delay};
pub use step::{Step, StepKind, StepSet};
pub use waiter::{WaitError, Waiter, arm_and_check};
pub use waker::Waker;
pub use watched::{Blocked, Watched, Woken};
