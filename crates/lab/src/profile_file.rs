//! File for a new profile.

use crate::output_file::{Existing, OutputFile, OutputFileError};
use std::path::{Path, PathBuf};

/// Reason why a profile cannot be written to a file.
#[derive(Debug, thiserror::Error)]
pub enum ProfileFileError {
    /// The file's extension is not the one that profiles are loaded from.
    #[error("--write-profile {}: must end in .toml, as every file with a profile does", .0.display())]
    NoToml(PathBuf),
    /// The file cannot be written: name another.
    #[error("--write-profile: {0}")]
    File(#[from] OutputFileError),
}

/// Checks the file `path` of `--write-profile`; nothing is changed or created before it is written.
///
/// # Errors
/// The name does not end in `.toml`, the file cannot be written, or it exists and has to be kept.
pub fn profile_file(path: &Path, existing: Existing) -> Result<OutputFile, ProfileFileError> {
    // Commands that take a profile recognise a file by this extension.
    if path.extension().is_none_or(|ending| ending != "toml") {
        return Err(ProfileFileError::NoToml(path.into()));
    }
    Ok(OutputFile::open(path, existing)?)
}
