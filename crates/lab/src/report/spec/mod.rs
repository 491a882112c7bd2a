//! Specification of a report: tables, figures and observations in an experiment's TOML file.
//!
//! Factors and metrics are referred to by name. The checks here, such as [`FigureSpec::check`], judge the specification
//! only; no runs are needed.

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

/// Reason why a table, a figure or an observation is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} '{id}': {problem}")]
pub struct SpecError {
    /// `table`, `figure` or `observation`.
    pub kind: &'static str,
    /// The `id`, from which the line in the file is found.
    pub id: String,
    /// Description of the mistake, and of the correct form.
    pub problem: String,
}

/// Returns the problem of a key that is missing.
fn needed(what: &str, key: &str, present: bool) -> Result<(), String> {
    match present {
        true => Ok(()),
        false => Err(format!("{what} needs '{key}'")),
    }
}

/// Returns the problem of a key that the kind does not use.
fn unused(what: &str, key: &str, present: bool) -> Result<(), String> {
    match present {
        true => Err(format!("{what} has no '{key}'")),
        false => Ok(()),
    }
}
