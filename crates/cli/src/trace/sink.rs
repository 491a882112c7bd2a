//! A file to write to, that is not to be lost by accident.

use crate::failure::Failure;
use std::fs::{File, OpenOptions, remove_file};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file that is open for writing, before there is anything to write: what cannot be written is
/// told before the run and not after it.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    file: File,
    /// It was not there before: without an end it is not to be there after.
    unfinished: bool,
}

impl Sink {
    /// Opens `path`, which must not be there unless it may be overwritten. What is in it stays
    /// until [`Sink::write`].
    pub fn open(path: &Path, overwrite: bool) -> Result<Sink, Failure> {
        let mut options = OpenOptions::new();
        options.write(true);
        let (file, unfinished) = match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && overwrite => {
                (options.open(path), false)
            }
            created => (created, true),
        };
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::input(format!(
                "--file: {} is there already: name another, or say --force to overwrite it",
                path.display()
            )),
            _ => Failure::input(format!("--file: {}: {error}", path.display())),
        })?;
        Ok(Sink {
            path: path.into(),
            file,
            unfinished,
        })
    }

    /// Writes `text` in place of what was there.
    pub fn write(mut self, text: &str) -> Result<(), Failure> {
        self.replace(text)
            .map_err(|error| Failure::run(format!("{}: {error}", self.path.display())))?;
        self.unfinished = false;
        Ok(())
    }

    fn replace(&mut self, text: &str) -> std::io::Result<()> {
        // A pipe or a terminal has nothing to cut off, and says so by an error.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(text.as_bytes())?;
        self.file.flush()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if self.unfinished {
            let _ = remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn refusal(path: &Path, overwrite: bool) -> String {
        match Sink::open(path, overwrite) {
            Err(Failure::Input(why)) => why,
            _ => panic!("not refused"),
        }
    }

    #[test]
    fn a_file_that_is_there_is_kept_unless_it_may_be_overwritten() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("trace.json");
        fs::write(&path, "something longer").unwrap();
        assert!(refusal(&path, false).contains("--force"));
        drop(Sink::open(&path, true).ok().unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "something longer");
        assert!(Sink::open(&path, true).ok().unwrap().write("new").is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_new_file_without_content_does_not_stay() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("trace.json");
        drop(Sink::open(&path, false).ok().unwrap());
        assert!(!path.exists());
        assert!(Sink::open(&path, false).ok().unwrap().write("new").is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_place_that_is_not_there_is_told_before_the_run() {
        let room = tempfile::tempdir().unwrap();
        assert!(refusal(&room.path().join("no/such/place"), true).contains("no/such/place"));
        // A directory can be neither created nor written.
        assert!(refusal(room.path(), true).contains("--file"));
    }
}
