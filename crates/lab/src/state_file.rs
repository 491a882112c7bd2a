//! Files from which a long command can be continued: a header, then lines, each complete or absent.
//!
//! Only one process writes such a file at a time. A line that a kill or a full disk left incomplete is removed before
//! the next one is written.

use joulio_kernel_io::LockHolder;
use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Reason why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The path is a directory, a pipe or a device.
    #[error("--state {}: not a regular file: name one, or a new one", .0.display())]
    NotAFile(PathBuf),
    /// Another process is writing the file.
    #[error("--state {}: {holder} writes it: wait for that, or take a copy", path.display())]
    Locked {
        /// Path of the file.
        path: PathBuf,
        /// Process that writes it.
        holder: LockHolder,
    },
    /// The header belongs to another command, or the file is not a state file.
    #[error("--state {}: belongs to another {of}, or is not a state file: name another file", path.display())]
    Another {
        /// Path of the file.
        path: PathBuf,
        /// Kind of command that the file should belong to: `grid`, `bench`.
        of: &'static str,
    },
    /// The file's runs were done on another machine.
    #[error("--state {}: its runs are of another machine ({differences}): name another file", path.display())]
    OtherMachine {
        /// Path of the file.
        path: PathBuf,
        /// Differences between that machine and this one.
        differences: String,
    },
    /// The content is incomplete, or is not that of a state file.
    #[error("--state {}: damaged, or not the counters of joulio stat ({problem}): restore it, or name another file", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Problem with the content.
        problem: String,
    },
    /// A complete line cannot be read, because another version wrote it or it was damaged. The lines after it are not
    /// discarded for that.
    #[error("--state {}: line {line} cannot be read ({problem}): take it out, or name another file", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Problem with the line.
        problem: serde_json::Error,
    },
    /// The operating system does not allow the file to be opened, read or written.
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
    /// A line cannot be converted to JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl StateError {
    /// Returns true if nothing was done yet.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, StateError::Write { .. } | StateError::Json(_))
    }
}

/// A state file that only this process writes.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    file: File,
    /// Number of bytes in complete lines.
    length: u64,
}

impl StateFile {
    /// Opens and locks `path`, which is new or has a header that `same` accepts; a new file gets `header`. Also returns
    /// the text after the header. Before new lines are appended, [`StateFile::keep`] has to be told how much of that
    /// text is complete.
    ///
    /// # Errors
    /// The file cannot be used, or its header does not belong to a command of the kind `of`.
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
        // Two writers would cut off each other's lines.
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| StateError::Locked {
            path: path.into(),
            holder: LockHolder::of(&file),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(wrong)?;
        let first = format!("{header}\n");
        // The file is new, or its header was written incompletely.
        let is_new = first.as_bytes().starts_with(&bytes);
        let text = text_of_lines(bytes).map_err(wrong)?;
        let another = || StateError::Another {
            path: path.into(),
            of,
        };
        let mut state = StateFile {
            path: path.into(),
            file,
            length: 0,
        };
        match text.split_once('\n') {
            Some((kept, rest)) => {
                if !serde_json::from_str(kept).is_ok_and(|kept| same(&kept)) {
                    return Err(another());
                }
                state.length = kept.len() as u64 + 1;
                Ok((state, rest.to_owned()))
            }
            None if is_new => {
                state.append(&first)?;
                Ok((state, String::new()))
            }
            None => Err(another()),
        }
    }

    /// Parses the lines of `text`, which [`StateFile::open`] returned, up to an incomplete one; returns each with its
    /// number of bytes.
    ///
    /// # Errors
    /// A complete line cannot be read.
    pub fn lines<T: DeserializeOwned>(&self, text: &str) -> Result<Vec<(T, usize)>, StateError> {
        let mut read = Vec::new();
        // The header is line 1.
        for (line, number) in text.split_inclusive('\n').zip(2..) {
            let Some(whole) = line.strip_suffix('\n') else {
                break;
            };
            match serde_json::from_str(whole) {
                Ok(value) => read.push((value, line.len())),
                // After a power failure the end of a file may consist of zero bytes.
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

    /// Keeps the first `bytes` of the text that [`StateFile::open`] returned, and cuts off the rest.
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

    /// Appends complete lines and waits until they are on the disk. If that fails, for example because the disk is
    /// full, the file is unchanged, and the call can be repeated.
    ///
    /// # Errors
    /// The lines could not be written.
    pub fn append(&mut self, lines: &str) -> Result<(), StateError> {
        let at = SeekFrom::Start(self.length);
        let written = (self.file.seek(at))
            .and_then(|_| self.file.write_all(lines.as_bytes()))
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // The incomplete line is not valid; if it cannot be cut off now, the next line overwrites it.
            let _ = self.file.set_len(self.length);
            return Err(StateError::Write {
                path: self.path.clone(),
                source,
            });
        }
        self.length += lines.len() as u64;
        // A failed write may have left a longer rest.
        let _ = self.file.set_len(self.length);
        Ok(())
    }
}

/// Converts the content of a file of lines to text, without a character at its end that a kill left incomplete.
///
/// # Errors
/// A complete line is not valid text.
pub(crate) fn text_of_lines(bytes: Vec<u8>) -> io::Result<String> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let why = error.utf8_error();
    let mut bytes = error.into_bytes();
    if bytes[why.valid_up_to()..].contains(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    bytes.truncate(why.valid_up_to());
    String::from_utf8(bytes).map_err(io::Error::other)
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
    fn a_line_that_was_cut_off_within_a_character_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        fs::write(&path, b"{\"of\":1}\n1\n\"\xc3").unwrap();
        let (mut state, rest) = open(&path).unwrap();
        assert_eq!(state.lines::<u32>(&rest).unwrap(), [(1, 2)]);
        state.keep(2).unwrap();
        state.append("2\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"of\":1}\n1\n2\n");
        // Neither a whole line with such a character nor another program's file is a rest of a line.
        for other in [&b"{\"of\":1}\n\xc3\n"[..], b"\xff\xfe"] {
            fs::write(&path, other).unwrap();
            assert!(open(&path).unwrap_err().is_refusal());
            assert_eq!(fs::read(&path).unwrap(), other);
        }
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
