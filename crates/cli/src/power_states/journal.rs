//! What was changed on a device and is not put back yet: a file for each, written before the
//! change, so that whatever ends this command, `joulio restore` knows the old value.
//!
//! A file is locked while somebody works on what it tells; the lock ends with its holder.

use super::entry::Entry;
use crate::failure::Failure;
use rustix::fs::{FlockOperation, flock, fstat, stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// No file of ours is as long.
const MOST_BYTES: u64 = 64 << 10;

/// The directory of the journal.
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

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes `entry` down, before the change: when this returns, it outlives this process and a
    /// power failure. Where there is an entry for the same already, that one stays: it has the
    /// older value.
    pub fn begin(&self, entry: &Entry) -> Result<Held, Failure> {
        let path = self.0.join(entry.file_name());
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
                        "{}: another joulio has changed its {} and is to put it back: wait for it",
                        entry.device,
                        entry.old.feature()
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

    /// The files of all entries.
    pub fn files(&self) -> Result<Vec<PathBuf>, Failure> {
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
        files.sort();
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
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(unreadable)?;
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
    let mut text = String::new();
    let read = (&file).take(MOST_BYTES).read_to_string(&mut text);
    read.map_err(unreadable)?;
    Ok(Held {
        entry: Entry::parse(&text).map_err(Untaken::Unreadable)?,
        fresh: false,
        path: path.into(),
        _lock: file,
    })
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(device: &str, value: u32) -> Entry {
        let text = format!(
            r#"{{"version":1,"device":"{device}","serial":"S1","old":{{"power-state":{{"value":{value}}}}}}}"#
        );
        Entry::parse(&text).unwrap()
    }

    fn begin(journal: &Journal, entry: &Entry) -> Held {
        let held = journal.begin(entry);
        held.unwrap_or_else(|_| panic!("{entry:?} was refused"))
    }

    #[test]
    fn an_entry_is_there_until_it_is_done() {
        let room = tempfile::tempdir().unwrap();
        let journal = Journal(room.path().join("a/b"));
        assert!(journal.files().is_ok_and(|files| files.is_empty()));
        let held = begin(&journal, &entry("x", 3));
        let files = journal.files().unwrap_or_default();
        assert_eq!(files.len(), 1);
        // Its holder lives.
        assert!(matches!(take(&files[0]), Err(Untaken::Busy)));
        drop(held);
        let Ok(held) = take(&files[0]) else {
            panic!("not to be had")
        };
        assert_eq!((&held.entry, held.fresh), (&entry("x", 3), false));
        assert!(held.done().is_ok());
        assert!(matches!(take(&files[0]), Err(Untaken::Gone)));
        assert!(fs::read_dir(journal.path()).unwrap().next().is_none());
    }

    #[test]
    fn the_older_value_stays() {
        let room = tempfile::tempdir().unwrap();
        let journal = Journal(room.path().into());
        drop(begin(&journal, &entry("x", 0)));
        let second = begin(&journal, &entry("x", 2));
        assert_eq!((&second.entry, second.fresh), (&entry("x", 0), false));
        assert!(begin(&journal, &entry("y", 2)).fresh);
        assert_eq!(journal.files().unwrap_or_default().len(), 2);
    }

    #[test]
    fn one_at_a_time() {
        let room = tempfile::tempdir().unwrap();
        let journal = Journal(room.path().into());
        let _held = begin(&journal, &entry("x", 0));
        assert!(matches!(
            journal.begin(&entry("x", 1)),
            Err(Failure::Input(_))
        ));
    }
}
