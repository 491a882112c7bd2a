//! Faults that a controller commits on purpose, so that a driver's recovery can be tested: what
//! they are, when they happen, and how they are written down.

mod counts;
mod draw;
mod kind;
mod plan;
mod time;

pub use counts::Faulted;
pub(crate) use draw::Draw;
pub use kind::Fault;
pub use plan::{FaultPlan, FaultPlanError, Planned, When};
