//! Reading files.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The file operations of meters. A test brings its own to make them fail.
pub trait Files: Send + Sync + fmt::Debug {
    /// Up to `limit` bytes of the file at `path`, from `offset`.
    ///
    /// # Errors
    /// As the system says.
    fn read(&self, path: &Path, offset: u64, limit: usize) -> io::Result<Vec<u8>>;

    /// The names in the folder at `path`.
    ///
    /// # Errors
    /// As the system says.
    fn names(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Returns the target of the link at `path`.
    ///
    /// # Errors
    /// As the system says.
    fn link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Something is at `path`.
    fn has(&self, path: &Path) -> bool;
}

/// The system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFiles;

impl Files for SystemFiles {
    fn read(&self, path: &Path, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        // An MSR is read at its number, and by nothing but eight bytes at once.
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        let mut bytes = vec![0; limit];
        let length = file.read(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(path)?;
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn has(&self, path: &Path) -> bool {
        path.exists()
    }
}
