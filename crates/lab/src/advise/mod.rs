//! Advice: the completion mode and the settings that take the least energy within a promise, from runs
//! of every one of them, really or in virtual time.
//!
//! [`groups`] says what to run, [`Advice::of`] chooses from the results, [`diagnose`] says what holds
//! this machine back. [`Workload`]s that are not described but observed come from the kernel's counters
//! and from fio's logs.

mod advice;
mod break_even;
mod candidate;
mod diagnosis;
mod error;
mod groups;
mod iolog;
mod limits;
mod observed;
mod yardstick;

pub use advice::{Advice, AdviceOptions, OtherBoundary, Rival, Sought, TooLate};
pub use break_even::BreakEven;
pub use candidate::{Assessment, Candidate, Figures};
pub use diagnosis::{Diagnosis, diagnose};
pub use error::AdviseError;
pub use groups::{CandidateGroup, groups};
pub use iolog::{IologError, read_iolog};
pub use limits::{Limit, LimitSource, Limits};
pub use observed::{Observation, Workload};
pub use yardstick::Yardstick;
