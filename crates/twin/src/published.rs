//! What papers printed, as data: numbers, claims, and the runs that they are about.
//!
//! The files are `profiles/published/*.toml`, one a source. [`crate::check`] plays their runs and
//! compares, [`crate::fit`] moves the fitted figures of the profiles until they meet them.

mod field;
mod metric;
mod paper;
mod player;
mod spec;

pub use field::{Field, FieldError};
pub use metric::Metric;
pub use paper::{Basis, BreakEven, Claim, Conflict, Fitted, Input, Number, Paper, Silent};
pub use player::{PlayError, Player, Profiles};
pub use spec::RunSpec;
