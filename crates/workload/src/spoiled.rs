//! Judgement of spoiled runs: runs whose figures the machine caused, and not the completion mode.
//!
//! A poller that shares its CPU with another program does half of the I/Os for twice the joules, and its figures do
//! not show it. The judgement is a pure function from counters to reasons.

mod evidence;
mod judgement;
mod reasons;
mod thresholds;

pub(crate) use evidence::{Evidence, JobEvidence, Learning, Scheduled};
pub use judgement::by_others;
pub(crate) use judgement::{judge, settings_lost};
pub use thresholds::{CLOCKS, LATE, TOLERATED, WAKE};
