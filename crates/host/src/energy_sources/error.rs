//! Errors of choosing energy sources.

use joulio_energy::{SelectError, Unmet};
use std::path::PathBuf;

/// Error of a root of a captured file tree that is not a directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a folder", path.display())]
pub struct RootError {
    /// Path that was given.
    pub path: PathBuf,
}

/// Error of a selection of meters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// `none` is combined with other words: leave it out, or everything else.
    #[error("none excludes every other meter: leave it out, or the others")]
    NoneBeside,
    /// A word is given twice: leave one out.
    #[error("{word} is given twice: leave one out")]
    Twice {
        /// The word, without an address that may contain a password.
        word: String,
    },
    /// The text is no word of a selection.
    #[error(transparent)]
    Word(#[from] SelectError),
    /// No meter has the name.
    #[error("there is no {name}: joulio power lists what there is")]
    Unknown {
        /// Name that was given.
        name: String,
    },
    /// No meter of the word can be read.
    #[error("{0}")]
    Unmet(Unmet),
}
