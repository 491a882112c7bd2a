//! Errors of choosing energy sources.

use joulio_energy::Unmet;
use std::path::PathBuf;

/// A root of a captured file tree that is not a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a folder", path.display())]
pub struct RootError {
    /// Path that was given.
    pub path: PathBuf,
}

/// A selection of meters that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// `none` stands beside other words: leave it out, or everything else.
    #[error("none excludes every other meter: leave it out, or the others")]
    NoneBeside,
    /// A word is given twice: leave one out.
    #[error("{word} is given twice: leave one out")]
    Twice {
        /// Word, without an address that may hold a password.
        word: String,
    },
    /// A text is no word of a selection.
    #[error("{0}")]
    Word(String),
    /// No meter has the name.
    #[error("there is no {name}: joulio power lists what there is")]
    Unknown {
        /// Name that was given.
        name: String,
    },
    /// A word has no meter that can be read.
    #[error("{0}")]
    Unmet(Unmet),
}
