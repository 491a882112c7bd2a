//! A folder of profiles that replaces the built-in ones, and to which fitted figures are written.

use crate::output_file::{Existing, OutputFile, OutputFileError};
use joulio_model::{DeviceProfile, MachineProfile, ProfileError};
use joulio_twin::fit::{FitWriteError, FittedFigure, write};
use joulio_twin::published::{FieldError, Paper, ProfileField, Profiles};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a folder cannot be read, or a profile cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ProfileFolderError {
    /// The folder has no profiles.
    #[error("{}: has no {kinds}: name the folder of the profiles by --profiles", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
        /// Names of the missing subfolders.
        kinds: String,
    },
    /// The folder lacks the profile of a fitted figure.
    #[error("{}: there is no such file: name the folder of the profiles by --profiles", .0.display())]
    Missing(PathBuf),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputFileError),
    /// A file is not a valid profile, or would not be with the new figures.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A figure of that name does not exist.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A figure cannot be written to the file.
    #[error("{}: {source}", path.display())]
    Figure {
        /// The file.
        path: PathBuf,
        /// Reason why not.
        source: FitWriteError,
    },
}

/// A folder of profiles: `machines/NAME.toml` and `devices/NAME.toml`.
#[derive(Clone, Debug)]
pub struct ProfileFolder {
    path: PathBuf,
}

impl ProfileFolder {
    /// Returns the folder at `path`.
    pub fn new(path: &Path) -> ProfileFolder {
        ProfileFolder { path: path.into() }
    }

    /// Reads the profiles.
    ///
    /// # Errors
    /// The folder has no profiles, or a file is not a valid profile.
    pub fn read(&self) -> Result<Profiles, ProfileFolderError> {
        self.check(&["machines", "devices"])?;
        Ok(Profiles::read(&self.path)?)
    }

    /// Checks that the figures which are fitted to `papers` can be written: before the search instead of after it.
    ///
    /// # Errors
    /// A file does not exist or cannot be written.
    pub fn check_fit(&self, papers: &[Paper]) -> Result<(), ProfileFolderError> {
        self.check(&["machines"])?;
        for fitted in papers.iter().flat_map(|paper| &paper.fit) {
            let file = self.file(&fitted.field.parse()?);
            if !file.is_file() {
                return Err(ProfileFolderError::Missing(file));
            }
            OutputFile::open(&file, Existing::Replace)?;
        }
        Ok(())
    }

    /// Writes the new values of `changes`. Each file is read and changed, checked against the rules of profiles, and
    /// only then replaced. `written` receives the paths of changed files.
    ///
    /// # Errors
    /// A file cannot be read or written, or would not be a valid profile.
    pub fn write_fit(
        &self,
        changes: &[FittedFigure],
        written: impl Fn(&Path),
    ) -> Result<(), ProfileFolderError> {
        let mut files = BTreeMap::<PathBuf, Vec<(ProfileField, f64)>>::new();
        for change in changes {
            let field: ProfileField = change.field.parse()?;
            let values = files.entry(self.file(&field)).or_default();
            values.push((field, change.to));
        }
        for (path, values) in files {
            if write_file(&path, &values)? {
                written(&path);
            }
        }
        Ok(())
    }

    /// Returns an error if the folder has none of the subfolders `kinds`.
    fn check(&self, kinds: &[&str]) -> Result<(), ProfileFolderError> {
        match kinds.iter().any(|kind| self.path.join(kind).is_dir()) {
            true => Ok(()),
            false => Err(ProfileFolderError::Empty {
                path: self.path.clone(),
                kinds: format!("{}/", kinds.join("/ and no ")),
            }),
        }
    }

    /// Returns the path of the profile that has `field`.
    fn file(&self, field: &ProfileField) -> PathBuf {
        let kind = if field.machine { "machines" } else { "devices" };
        self.path.join(kind).join(format!("{}.toml", field.profile))
    }
}

/// Writes `values` to the file `path`; returns true if they differ from the old ones.
fn write_file(path: &Path, values: &[(ProfileField, f64)]) -> Result<bool, ProfileFolderError> {
    let old = fs::read_to_string(path).map_err(|source| ProfileFolderError::Unreadable {
        path: path.into(),
        source,
    })?;
    let new = write(&old, values).map_err(|source| ProfileFolderError::Figure {
        path: path.into(),
        source,
    })?;
    let name = path.display().to_string();
    match values.iter().any(|(field, _)| field.machine) {
        true => drop(MachineProfile::parse(&new, &name)?),
        false => drop(DeviceProfile::parse(&new, &name)?),
    }
    if new != old {
        OutputFile::open(path, Existing::Replace)?.write(&new)?;
    }
    Ok(new != old)
}
