//! The journal, when nobody else is at it.

use super::folder::{Folder, lock_file};
use super::{Entry, JournalError, What};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// No file of ours is as long.
const MAX_BYTES: u64 = 4 << 20;

/// The journal, which nobody else reads or writes until this is dropped.
pub struct Locked {
    folder: Folder,
}

/// An entry that nobody else works on until this is dropped.
pub struct Held {
    /// What it says.
    pub entry: Entry,
    /// It was written just now; else an earlier change is not put back yet.
    pub fresh: bool,
    name: OsString,
    _lock: File,
}

/// Why a file of the journal could not be taken.
#[derive(Debug)]
pub enum Untaken {
    /// The process that made the change lives.
    Busy,
    /// It is no entry, or could not be read.
    Unreadable(String),
}

impl Locked {
    pub(super) fn new(folder: Folder) -> Locked {
        Locked { folder }
    }

    /// Writes `what` down, before the change: when this returns, it outlives this process and a
    /// power failure. Where there is an entry for the same already, that one stays: it has the
    /// older value.
    ///
    /// # Errors
    /// It cannot be written, or another process has changed the same.
    pub fn begin(&self, what: What) -> Result<Held, JournalError> {
        self.sweep()?;
        let last = self.entries()?.first().map_or(0, |latest| latest.0);
        let entry = Entry::new(last.saturating_add(1), what);
        let name = OsString::from(entry.what.file_name());
        if let Some(held) = self.write(&name, &entry)? {
            return Ok(held);
        }
        self.take(&name).map_err(|why| match why {
            Untaken::Busy => JournalError::Busy {
                what: Box::new(entry.what),
            },
            Untaken::Unreadable(why) => JournalError::Unreadable {
                path: self.folder.path_of(&name),
                why,
            },
        })
    }

    /// A file of its own, or none where there is one.
    fn write(&self, name: &OsStr, entry: &Entry) -> Result<Option<Held>, JournalError> {
        let staged = OsString::from(format!(".{}.tmp", std::process::id()));
        let mut file = self.folder.make(&staged)?;
        let failed = |source: io::Error| JournalError::Io {
            path: self.folder.path_of(&staged),
            source,
        };
        let linked = (|| {
            lock_file(&file).map_err(failed)?;
            let mut text = serde_json::to_string_pretty(entry).map_err(|e| failed(e.into()))?;
            text.push('\n');
            let written = file.write_all(text.as_bytes());
            written.and_then(|()| file.sync_all()).map_err(failed)?;
            // Not a rename: that would replace an older entry.
            self.folder.link(&staged, name)
        })();
        let removed = self.folder.remove(&staged);
        if !linked? {
            return Ok(None);
        }
        removed?;
        self.folder.sync()?;
        Ok(Some(Held {
            entry: entry.clone(),
            fresh: true,
            name: name.into(),
            _lock: file,
        }))
    }

    /// Removes what killed processes were writing: as nobody else writes now, whatever is not
    /// finished was not begun by anybody who lives.
    pub(super) fn sweep(&self) -> Result<(), JournalError> {
        for name in self.folder.names()? {
            if !is_staged(&name) {
                continue;
            }
            // One that is not ours, or locked, is not for us to judge.
            let dead = |file: File| lock_file(&file).unwrap_or(false).then_some(file);
            if let Some(_lock) = self.folder.read(&name).ok().and_then(dead) {
                self.folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// The numbers and names of all entries, the latest first. What is no entry has number 0.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn entries(&self) -> Result<Vec<(u64, OsString)>, JournalError> {
        let is_entry = |name: &OsString| Path::new(name).extension() == Some(OsStr::new("json"));
        let names = self.folder.names()?.into_iter().filter(is_entry);
        let numbered = |name: OsString| {
            let number = self.parse(&name).map_or(0, |entry| entry.number);
            (number, name)
        };
        let mut entries: Vec<_> = names.map(numbered).collect();
        entries.sort_by(|one, other| other.cmp(one));
        Ok(entries)
    }

    /// What living processes have changed and are to put back themselves.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn living(&self) -> Result<Vec<What>, JournalError> {
        let entries = self.entries()?.into_iter();
        let busy = |name: &OsString| matches!(self.take(name), Err(Untaken::Busy));
        let names = entries.map(|(_, name)| name).filter(busy);
        Ok(names
            .filter_map(|name| Some(self.parse(&name).ok()?.what))
            .collect())
    }

    /// Locks the entry `name`, and reads it.
    ///
    /// # Errors
    /// A living process has it, or it is no entry.
    pub fn take(&self, name: &OsStr) -> Result<Held, Untaken> {
        let unreadable = |why: &dyn std::fmt::Display| Untaken::Unreadable(why.to_string());
        let file = self.folder.read(name).map_err(|error| unreadable(&error))?;
        if !lock_file(&file).map_err(|error| unreadable(&error))? {
            return Err(Untaken::Busy);
        }
        Ok(Held {
            entry: read(&file).map_err(Untaken::Unreadable)?,
            fresh: false,
            name: name.into(),
            _lock: file,
        })
    }

    /// What `held` tells of is put back: removes it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn done(&self, held: Held) -> Result<(), JournalError> {
        self.folder.remove(&held.name)?;
        self.folder.sync()
    }

    /// Where the file `name` is.
    pub fn path_of(&self, name: &OsStr) -> PathBuf {
        self.folder.path_of(name)
    }

    fn parse(&self, name: &OsStr) -> Result<Entry, String> {
        let file = self.folder.read(name).map_err(|error| error.to_string())?;
        read(&file)
    }
}

/// The name of a file that is being written: `.PID.tmp`.
fn is_staged(name: &OsStr) -> bool {
    let name = name.to_str();
    let pid = name.and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read(file: &File) -> Result<Entry, String> {
    let mut text = String::new();
    let read = file.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    Entry::parse(&text)
}
