//! Faults that a controller commits on purpose, to test a driver's recovery: their kinds, their times, and their
//! notation.

mod counts;
mod draw;
mod kind;
mod plan;
mod time;

pub use counts::Faulted;
pub(crate) use draw::Draw;
pub use kind::Fault;
pub use plan::{FaultPlan, FaultPlanError, Planned, When};
