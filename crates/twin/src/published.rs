//! Published results as data: numbers, claims, and the runs that they are about.
//!
//! The files are `profiles/published/*.toml`, one for each source. [`crate::check`] simulates their runs and
//! compares the results; [`crate::fit`] changes the fitted figures of the profiles until they reproduce the
//! numbers.

mod field;
mod paper;
mod simulator;
mod spec;

pub use field::{FieldError, ProfileField};
pub use paper::{
    Basis, BreakEvenPair, Conflict, Fitted, HoldOut, Input, Paper, PaperError, PublishedClaim,
    PublishedNumber, Saving, Silent,
};
pub use simulator::{Profiles, SimulationError, Simulator};
pub use spec::RunSpec;
