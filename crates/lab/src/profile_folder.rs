//! A folder of profiles, in place of those that come with joulio, and writing fitted figures into it.

use crate::output_file::{Existing, OutputFile, OutputFileError};
use joulio_model::{DeviceProfile, MachineProfile, ProfileError};
use joulio_twin::fit::{FitWriteError, FittedFigure, write};
use joulio_twin::published::{FieldError, Paper, ProfileField, Profiles};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that cannot be read, or a profile that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ProfileFolderError {
    /// The folder has no profiles.
    #[error("{}: has no {kinds}: name the folder of the profiles by --profiles", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
        /// Names of the folders that it lacks.
        kinds: String,
    },
    /// A fitted figure's profile is not in the folder.
    #[error("{}: there is no such file: name the folder of the profiles by --profiles", .0.display())]
    Missing(PathBuf),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputFileError),
    /// A file is no profile, or would be none with the figures.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A figure has no such name.
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
    /// A file cannot take a figure.
    #[error("{}: {source}", path.display())]
    Figure {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: FitWriteError,
    },
}

/// Folder of profiles: `machines/NAME.toml` and `devices/NAME.toml`.
#[derive(Clone, Debug)]
pub struct ProfileFolder {
    path: PathBuf,
}

impl ProfileFolder {
    /// The folder `path`.
    pub fn new(path: &Path) -> ProfileFolder {
        ProfileFolder { path: path.into() }
    }

    /// Reads the profiles.
    ///
    /// # Errors
    /// The folder has none, or a file is none.
    pub fn read(&self) -> Result<Profiles, ProfileFolderError> {
        self.check(&["machines", "devices"])?;
        Ok(Profiles::read(&self.path)?)
    }

    /// Checks that the figures which are fitted to `papers` can be written: before the search, and not
    /// after it.
    ///
    /// # Errors
    /// A file is not there, or cannot be written.
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

    /// Writes the new values of `changes`: each file is read, changed, held to the rules of profiles,
    /// and only then replaced. `written` gets the files.
    ///
    /// # Errors
    /// A file cannot be read or written, or would be no profile.
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

    /// Refuses a folder with none of `kinds`.
    fn check(&self, kinds: &[&str]) -> Result<(), ProfileFolderError> {
        match kinds.iter().any(|kind| self.path.join(kind).is_dir()) {
            true => Ok(()),
            false => Err(ProfileFolderError::Empty {
                path: self.path.clone(),
                kinds: format!("{}/", kinds.join("/ and no ")),
            }),
        }
    }

    /// The file of the profile of `field`.
    fn file(&self, field: &ProfileField) -> PathBuf {
        let kind = if field.machine { "machines" } else { "devices" };
        self.path.join(kind).join(format!("{}.toml", field.profile))
    }
}

/// Returns true if the values have changed the file `path`.
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
