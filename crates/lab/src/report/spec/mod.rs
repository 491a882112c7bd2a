//! Specification of a report: tables, figures and observations, as an experiment's TOML has them.
//!
//! Factors and metrics are referred to by name. Nothing here has seen a run: [`FigureSpec::check`]
//! and its neighbours judge the words alone.

mod figure;
mod observation;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use figure::{DrawingKind, FigureSpec, Layer, Less, Part, Peak};
pub use observation::{Cells, ObservationSpec, Rising, Within};
pub use table::{TableKind, TableSpec, Times};
pub use values::{OneOrMore, Where};

/// A table, a figure or an observation that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} '{id}': {problem}")]
pub struct SpecError {
    /// `table`, `figure` or `observation`.
    pub kind: &'static str,
    /// The `id` of it, by which its line is found.
    pub id: String,
    /// Description of the mistake, and of what to write instead.
    pub problem: String,
}

/// Returns the problem of a key that is missing.
fn needed(what: &str, key: &str, present: bool) -> Result<(), String> {
    match present {
        true => Ok(()),
        false => Err(format!("{what} needs '{key}'")),
    }
}

/// Returns the problem of a key that a kind has no use for.
fn unused(what: &str, key: &str, present: bool) -> Result<(), String> {
    match present {
        true => Err(format!("{what} has no '{key}'")),
        false => Ok(()),
    }
}
