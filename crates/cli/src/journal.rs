//! What was changed and is not put back yet: a file for each, written before the
//! change, so that whatever ends this command, `joulio restore` knows the old value.
//!
//! A file is locked while somebody works on what it tells; the lock ends with its holder.

mod entry;

pub use entry::{Entry, KnobChange, What};

use crate::failure::Failure;
use rustix::fs::{FlockOperation, flock, fstat, stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// No file of ours is as long.
const MOST_BYTES: u64 = 4 << 20;

/// The directory of the journal.
#[derive(Clone, Debug)]
pub struct Journal(PathBuf);

/// An entry that nobody else works on until this is dropped.
pub struct Held {
    /// What it says.
    pub entry: Entry,
    /// It was written just now; else an earlier change is not put back yet.
    pub fresh: bool,
    path: PathBuf,
    _lock: File,
}

/// Why a file of the journal could not be taken.
pub enum Untaken {
    /// Somebody works on it.
    Busy,
    /// It is no entry, or could not be read.
    Unreadable(String),
    /// It has just been put back.
    Gone,
}

impl Journal {
    /// Where it is: `$XDG_STATE_HOME/joulio/journal`; without that /var/lib/joulio/journal for
    /// root and ~/.local/state/joulio/journal for others.
    pub fn place() -> Result<Journal, Failure> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        let state = match variable("XDG_STATE_HOME") {
            Some(state) => state,
            None if geteuid().is_root() => "/var/lib".into(),
            None => variable("HOME")
                .map(|home| home.join(".local/state"))
                .ok_or_else(|| {
                    Failure::input("no place for the journal: set HOME or XDG_STATE_HOME")
                })?,
        };
        Ok(Journal(state.join("joulio/journal")))
    }

    /// That in `directory`.
    #[cfg(test)]
    pub fn at(directory: impl Into<PathBuf>) -> Journal {
        Journal(directory.into())
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes `entry` down, before the change: when this returns, it outlives this process and a
    /// power failure. Where there is an entry for the same already, that one stays: it has the
    /// older value.
    pub fn begin(&self, what: What) -> Result<Held, Failure> {
        let last = self.entries()?.first().map_or(0, |latest| latest.0);
        let entry = &Entry::new(last.saturating_add(1), what);
        let path = self.0.join(entry.what.file_name());
        let told =
            |error: io::Error| Failure::input(format!("journal: {}: {error}", self.0.display()));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)
            .map_err(told)?;
        loop {
            if let Some(held) = self.write(&path, entry).map_err(told)? {
                return Ok(held);
            }
            match take(&path) {
                Ok(held) => return Ok(held),
                Err(Untaken::Gone) => {}
                Err(Untaken::Busy) => {
                    return Err(Failure::input(format!(
                        "{}: another joulio has changed it and is to put it back: wait for it",
                        entry.what
                    )));
                }
                Err(Untaken::Unreadable(why)) => {
                    return Err(Failure::input(format!(
                        "journal: {}: {why}; see what it says, and remove it",
                        path.display()
                    )));
                }
            }
        }
    }

    /// A file of its own, or none where there is one.
    fn write(&self, path: &Path, entry: &Entry) -> io::Result<Option<Held>> {
        let staged = self.0.join(format!(".{}.tmp", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&staged)?;
        let result = (|| {
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            let mut text = serde_json::to_string_pretty(entry)?;
            text.push('\n');
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            // Not a rename: that would replace an older entry.
            match fs::hard_link(&staged, path) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error),
            }
        })();
        let removed = fs::remove_file(&staged);
        if !result? {
            return Ok(None);
        }
        removed?;
        sync(&self.0)?;
        Ok(Some(Held {
            entry: entry.clone(),
            fresh: true,
            path: path.into(),
            _lock: file,
        }))
    }

    /// The numbers and files of all entries, the latest first. What is no entry has number 0.
    pub fn entries(&self) -> Result<Vec<(u64, PathBuf)>, Failure> {
        let numbered = |path: PathBuf| {
            let entry = read(&path).ok().and_then(|text| Entry::parse(&text).ok());
            (entry.map_or(0, |entry| entry.number), path)
        };
        let mut entries: Vec<_> = self.files()?.into_iter().map(numbered).collect();
        entries.sort_by(|one, other| other.cmp(one));
        Ok(entries)
    }

    /// The files of all entries.
    fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let told = |error| Failure::run(format!("journal: {}: {error}", self.0.display()));
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(told(error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(told)?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
        Ok(files)
    }
}

impl Held {
    /// What it tells of is put back: removes it.
    pub fn done(self) -> Result<(), Failure> {
        let removed = fs::remove_file(&self.path);
        let synced = removed.and_then(|()| self.path.parent().map_or(Ok(()), sync));
        synced.map_err(|error| Failure::run(format!("journal: {}: {error}", self.path.display())))
    }
}

/// Locks the entry at `path`, and reads it.
pub fn take(path: &Path) -> Result<Held, Untaken> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Untaken::Gone,
        _ => Untaken::Unreadable(error.to_string()),
    };
    let file = open(path).map_err(unreadable)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(Untaken::Busy),
        Err(errno) => return Err(unreadable(errno.into())),
    }
    // Who had the lock may have put it back, and removed it.
    let here = stat(path).map_err(|errno| unreadable(errno.into()))?;
    let mine = fstat(&file).map_err(|errno| unreadable(errno.into()))?;
    if here.st_ino != mine.st_ino {
        return Err(Untaken::Gone);
    }
    let text = text(&file).map_err(unreadable)?;
    Ok(Held {
        entry: Entry::parse(&text).map_err(Untaken::Unreadable)?,
        fresh: false,
        path: path.into(),
        _lock: file,
    })
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)
}

fn text(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn read(path: &Path) -> io::Result<String> {
    text(&open(path)?)
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests;
