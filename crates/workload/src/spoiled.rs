//! Judgement of spoiled runs, whose figures show a disturbance of the machine and not the completion mode.
//!
//! A poller that shares its CPU with another program does half the I/Os for twice the joules per I/O, and its
//! figures do not show why. The judgement is a pure function from counters to reasons.

mod evidence;
mod judgement;
mod reasons;
mod thresholds;

pub(crate) use evidence::{Evidence, JobEvidence, Learning, Scheduled};
pub use judgement::by_others;
pub(crate) use judgement::{judge, settings_lost};
pub use thresholds::{CLOCKS, LATE, TOLERATED, WAKE};
