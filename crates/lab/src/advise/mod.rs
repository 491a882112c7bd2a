//! Advice: the completion mode and the settings that take the least energy and keep a promise, chosen from runs of
//! every candidate, on real devices or in virtual time.
//!
//! [`Advising`] checks an [`AdviceRequest`] and turns it into an [`AdviceReport`]: [`groups`] lists the runs,
//! [`Advice::of`] chooses from the results, and [`diagnose`] names the settings that cost this machine energy or speed.
//! A [`Workload`] is described by options, or derived from the kernel's counters or from one of fio's logs.

mod advice;
mod apply;
mod break_even;
mod candidate;
mod command;
mod diagnosis;
mod error;
mod find;
mod found;
mod groups;
mod iolog;
mod limits;
mod observed;
mod real;
mod report;
mod request;
mod simulated;
mod yardstick;

pub use advice::{Advice, AdviceOptions, OtherBoundary, Rival, Sought, TooLate};
pub use apply::{Applied, LastingFile};
pub use break_even::BreakEven;
pub use candidate::{Assessment, Candidate, Figures};
pub use diagnosis::{Diagnosis, diagnose, diagnose_modelled};
pub use error::AdviseError;
pub use find::Advising;
pub use groups::{CandidateGroup, groups};
pub use iolog::{IologError, read_iolog};
pub use limits::{Limit, LimitSource, Limits};
pub use observed::{Observation, Workload};
pub use report::AdviceReport;
pub use request::{AdviceRequest, Observe};
pub use yardstick::Yardstick;
