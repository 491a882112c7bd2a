//! Judgement of spoiled runs: figures that are the machine's doing more than the completion mode's.
//!
//! A poller that shares its CPU with another program does half of the I/Os for twice the joules,
//! and nothing in its figures says so. The judgement is pure: counters in, reasons out.

mod evidence;
mod judgement;
mod reasons;
mod thresholds;

pub(crate) use evidence::{Evidence, JobEvidence, Learning, Scheduled};
pub use judgement::by_others;
pub(crate) use judgement::{judge, settings_lost};
pub use thresholds::{CLOCKS, LATE, TOLERATED, WAKE};
