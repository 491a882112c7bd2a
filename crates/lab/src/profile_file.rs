//! The file that a new profile is written to.

use crate::output_file::{Existing, OutputFile, OutputFileError};
use std::path::{Path, PathBuf};

/// A file that no profile can be written to.
#[derive(Debug, thiserror::Error)]
pub enum ProfileFileError {
    /// It has another ending than those that profiles are loaded from.
    #[error("--write-profile {}: must end in .toml, as every file with a profile does", .0.display())]
    NoToml(PathBuf),
    /// It cannot be written: name another.
    #[error("--write-profile: {0}")]
    File(#[from] OutputFileError),
}

/// Returns the file `path` of `--write-profile`, of which nothing is changed or created before it is written.
///
/// # Errors
/// It does not end in `.toml`, cannot be written, or is there and to be kept.
pub fn profile_file(path: &Path, existing: Existing) -> Result<OutputFile, ProfileFileError> {
    // Whatever takes a profile takes a file by this ending.
    if path.extension().is_none_or(|ending| ending != "toml") {
        return Err(ProfileFileError::NoToml(path.into()));
    }
    Ok(OutputFile::open(path, existing)?)
}
