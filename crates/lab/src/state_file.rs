//! Files that a long command goes on from: a header, then lines, each whole or not at all.
//!
//! One process writes such a file at a time. A line that a kill or a full disk cut off is taken away
//! before the next is written.

use joulio_kernel_io::LockHolder;
use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A state file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A directory, a pipe, a device.
    #[error("--state {}: not a regular file: name one, or a new one", .0.display())]
    NotAFile(PathBuf),
    /// The file is being written by another process.
    #[error("--state {}: {holder} writes it: wait for that, or take a copy", path.display())]
    Locked {
        /// Path of the file.
        path: PathBuf,
        /// Process that writes it.
        holder: LockHolder,
    },
    /// The header is that of another command, or of none.
    #[error("--state {}: belongs to another {of}, or is not a state file: name another file", path.display())]
    Another {
        /// Path of the file.
        path: PathBuf,
        /// Kind of thing that the file is to be of: `grid`, `bench`.
        of: &'static str,
    },
    /// Its runs were done on another machine.
    #[error("--state {}: its runs are of another machine ({differences}): name another file", path.display())]
    OtherMachine {
        /// Path of the file.
        path: PathBuf,
        /// What that machine has, and this one.
        differences: String,
    },
    /// The content is not whole, or is not that of a state file.
    #[error("--state {}: damaged, or not the counters of joulio stat ({problem}): restore it, or name another file", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Problem of the content.
        problem: String,
    },
    /// A whole line that is not of this version of joulio, or was damaged: what comes after it is not
    /// thrown away for that.
    #[error("--state {}: line {line} cannot be read ({problem}): take it out, or name another file", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Problem of the line.
        problem: serde_json::Error,
    },
    /// The operating system refuses to open, read or write it.
    #[error("--state {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Lines could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A line has no form as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl StateError {
    /// True if nothing was done yet.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, StateError::Write { .. } | StateError::Json(_))
    }
}

/// A state file that this process alone writes.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    file: File,
    /// Bytes of the whole lines.
    length: u64,
}

impl StateFile {
    /// Opens and locks `path`, which is new or has a header that `same` accepts; `header` is written into a new one.
    /// Also returns the text below the header. New lines are appended once [`StateFile::keep`] was told how much of
    /// that text is complete.
    ///
    /// # Errors
    /// The file cannot be used, or its header is not of `of`.
    pub fn open(
        path: &Path,
        of: &'static str,
        header: &Value,
        same: impl FnOnce(&Value) -> bool,
    ) -> Result<(StateFile, String), StateError> {
        let wrong = |source| StateError::Io {
            path: path.into(),
            source,
        };
        if path.exists() && !path.is_file() {
            return Err(StateError::NotAFile(path.into()));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(wrong)?;
        // Two that write would cut each other's lines off.
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| StateError::Locked {
            path: path.into(),
            holder: LockHolder::of(&file),
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(wrong)?;
        let another = || StateError::Another {
            path: path.into(),
            of,
        };
        let mut state = StateFile {
            path: path.into(),
            file,
            length: 0,
        };
        let first = format!("{header}\n");
        match text.split_once('\n') {
            Some((kept, rest)) => {
                if !serde_json::from_str(kept).is_ok_and(|kept| same(&kept)) {
                    return Err(another());
                }
                state.length = kept.len() as u64 + 1;
                Ok((state, rest.to_owned()))
            }
            // Cut off in its header, or new.
            None if first.starts_with(&text) => {
                state.append(&first)?;
                Ok((state, String::new()))
            }
            None => Err(another()),
        }
    }

    /// Reads the lines of `text`, which [`StateFile::open`] returned, each with its bytes, up to one that
    /// was cut off.
    ///
    /// # Errors
    /// A whole line cannot be read.
    pub fn lines<T: DeserializeOwned>(&self, text: &str) -> Result<Vec<(T, usize)>, StateError> {
        let mut read = Vec::new();
        // The header is the first.
        for (line, number) in text.split_inclusive('\n').zip(2..) {
            let Some(whole) = line.strip_suffix('\n') else {
                break;
            };
            match serde_json::from_str(whole) {
                Ok(value) => read.push((value, line.len())),
                // After a power failure a file may be as long as it was to be, and empty there.
                Err(_) if whole.contains('\0') => break,
                Err(problem) => {
                    return Err(StateError::Line {
                        path: self.path.clone(),
                        line: number,
                        problem,
                    });
                }
            }
        }
        Ok(read)
    }

    /// Keeps the first `bytes` of the text that [`StateFile::open`] returned, and cuts the rest off.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, bytes: usize) -> Result<(), StateError> {
        self.length += bytes as u64;
        let cut = self.file.set_len(self.length);
        cut.map_err(|source| StateError::Io {
            path: self.path.clone(),
            source,
        })
    }

    /// Appends whole lines and waits until they are on the disk. Where that fails, as on a full
    /// disk, the file is as it was, and the same may be tried again.
    ///
    /// # Errors
    /// The lines are not in the file.
    pub fn append(&mut self, lines: &str) -> Result<(), StateError> {
        let at = SeekFrom::Start(self.length);
        let written = (self.file.seek(at))
            .and_then(|_| self.file.write_all(lines.as_bytes()))
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // The rest of the line is invalid; if it cannot be cut off now, the next line overwrites it.
            let _ = self.file.set_len(self.length);
            return Err(StateError::Write {
                path: self.path.clone(),
                source,
            });
        }
        self.length += lines.len() as u64;
        // Something longer may have been left there by a write that failed.
        let _ = self.file.set_len(self.length);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn open(path: &Path) -> Result<(StateFile, String), StateError> {
        let header = json!({"of": 1});
        StateFile::open(path, "test", &header, |kept| *kept == header)
    }

    #[test]
    fn what_was_cut_off_is_taken_away_and_the_file_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        for cut in ["", "{\"of\"", "{\"of\":1}", "{\"of\":1}\n"] {
            fs::write(&path, cut).unwrap();
            let (mut state, rest) = open(&path).unwrap();
            assert_eq!(rest, "", "{cut}");
            state.append("1\n").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "{\"of\":1}\n1\n");
        }
        fs::write(&path, "{\"of\":1}\n1\n2\n3").unwrap();
        let (mut state, rest) = open(&path).unwrap();
        assert_eq!(rest, "1\n2\n3");
        state.keep(4).unwrap();
        state.append("4\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"of\":1}\n1\n2\n4\n");
    }

    #[test]
    fn a_whole_line_that_cannot_be_read_is_not_thrown_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        fs::write(&path, "{\"of\":1}\n").unwrap();
        let (state, _) = open(&path).unwrap();
        let lines = |text: &str| state.lines::<u32>(text);
        assert_eq!(lines("1\n22\n3").unwrap(), [(1, 2), (22, 3)]);
        assert_eq!(lines("1\n\0\0\0\n").unwrap(), [(1, 2)]);
        for text in ["1\n-2\n3\n", "1\nold\n"] {
            let error = lines(text).unwrap_err();
            assert!(error.is_refusal());
            assert!(
                error.to_string().contains("line 3 cannot be read"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_of_something_else_is_refused_and_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        for other in ["{\"of\":2}\n1\n", "a letter", "a letter\n", "\n"] {
            fs::write(&path, other).unwrap();
            let error = open(&path).unwrap_err();
            assert!(error.is_refusal() && error.to_string().contains("another test"));
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn one_process_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let first = open(&path).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("writes it: wait for that"), "{error}");
        drop(first);
        assert!(open(&path).is_ok());
    }
}
