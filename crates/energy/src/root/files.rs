//! Reading files.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The file operations of meters. A test supplies its own to make them fail.
pub trait Files: Send + Sync + fmt::Debug {
    /// Reads up to `limit` bytes of the file at `path`, from `offset`.
    ///
    /// # Errors
    /// The system's error.
    fn read(&self, path: &Path, offset: u64, limit: usize) -> io::Result<Vec<u8>>;

    /// Lists the names in the directory at `path`.
    ///
    /// # Errors
    /// The system's error.
    fn names(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Returns the target of the link at `path`.
    ///
    /// # Errors
    /// The system's error.
    fn link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Whether `path` exists.
    fn has(&self, path: &Path) -> bool;
}

/// The system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFiles;

impl Files for SystemFiles {
    fn read(&self, path: &Path, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        // An MSR is read at its number as offset, and only with eight bytes at once.
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
