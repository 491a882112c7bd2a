//! The journal's directory, which must belong to the user: others who could write there could make a root user's next
//! `joulio restore` change settings, or forget changes.

use super::entry::EntryError;
use super::error::JournalError;
use joulio_kernel_io::LockHolder;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, fsync, linkat, open,
    openat, renameat, stat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest time to wait while somebody else changes settings or restores them: opening a controller may take as long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two attempts to lock while another process has the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// Permissions of the group and of others to write.
const WRITABLE: u32 = 0o022;
/// Sticky bit: others cannot rename or remove files that are not theirs in such a directory (/tmp).
const STICKY: u32 = 0o1000;

/// An open directory of the user's own. Files are opened relative to it, never through a link.
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the directory `path`; `None` if it does not exist.
    pub(super) fn open(path: &Path) -> Result<Option<Folder>, JournalError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match retry_on_intr(|| open(path, flags, Mode::empty())) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(JournalError::NoDirectory { path: path.into() });
            }
            Err(errno) => return Err(failed(path, errno)),
        };
        check_own(path, &fstat(&fd).map_err(|errno| failed(path, errno))?)?;
        if let Some(above) = path.parent() {
            check_above(above, &stat(above).map_err(|errno| failed(above, errno))?)?;
        }
        let path = path.into();
        Ok(Some(Folder { fd, path }))
    }

    /// Opens the directory `path`; creates it, accessible to its owner alone, if it does not exist.
    pub(super) fn create(path: &Path) -> Result<Folder, JournalError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                    JournalError::NoDirectory { path: path.into() }
                }
                _ => failed(path, error),
            })?;
        Folder::open(path)?.ok_or_else(|| failed(path, Errno::NOENT))
    }

    /// Waits until nobody else has the directory locked, and locks it until it is dropped. Returns `false` if it was
    /// removed meanwhile.
    pub(super) fn lock(&self) -> Result<bool, JournalError> {
        let start = Instant::now();
        loop {
            match flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if start.elapsed() > PATIENCE => {
                    return Err(JournalError::Locked {
                        path: self.path.clone(),
                        seconds: PATIENCE.as_secs(),
                        holder: LockHolder::of(&self.fd),
                    });
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => sleep(LOCK_INTERVAL),
                Err(errno) => return Err(failed(&self.path, errno)),
            }
        }
        let mine = fstat(&self.fd).map_err(|errno| failed(&self.path, errno))?;
        let there = stat(&self.path);
        Ok(there.is_ok_and(|there| same(&there, &mine)))
    }

    /// Returns the path of the directory's file `name`.
    pub(super) fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Lists the names of the directory.
    pub(super) fn names(&self) -> Result<Vec<OsString>, JournalError> {
        let failed = |errno| failed(&self.path, errno);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
            names.push(OsString::from_vec(name));
        }
        Ok(names)
    }

    /// Opens the file `name` to read. It must belong to the user.
    pub(super) fn read(&self, name: &OsStr) -> Result<File, JournalError> {
        let path = || self.path_of(name);
        // O_NONBLOCK, so as not to wait for the writer of a fifo.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| openat(&self.fd, name, flags, Mode::empty()));
        let fd = fd.map_err(|errno| failed(&path(), errno))?;
        let found = fstat(&fd).map_err(|errno| failed(&path(), errno))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(JournalError::Unreadable {
                path: path(),
                source: EntryError::NotRegular,
            });
        }
        check_own(&path(), &found)?;
        Ok(fd.into())
    }

    /// Creates the file `name`, which must not exist, readable by its owner alone.
    pub(super) fn make(&self, name: &OsStr) -> Result<File, JournalError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let fd = retry_on_intr(|| openat(&self.fd, name, flags, mode));
        Ok(fd
            .map_err(|errno| failed(&self.path_of(name), errno))?
            .into())
    }

    /// Links the file `from` to the name `to` as well; `false` if `to` exists.
    pub(super) fn link(&self, from: &OsStr, to: &OsStr) -> Result<bool, JournalError> {
        match linkat(&self.fd, from, &self.fd, to, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(failed(&self.path_of(to), errno)),
        }
    }

    /// Gives the file `from` the name `to`, in place of the file that has it.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), JournalError> {
        renameat(&self.fd, from, &self.fd, to).map_err(|errno| failed(&self.path_of(to), errno))
    }

    /// Removes the file `name`.
    pub(super) fn remove(&self, name: &OsStr) -> Result<(), JournalError> {
        unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|errno| failed(&self.path_of(name), errno))
    }

    /// Makes created and removed entries durable.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        fsync(&self.fd).map_err(|errno| failed(&self.path, errno))
    }
}

/// Locks `file` until it is closed; returns false if somebody else has it locked.
pub(super) fn lock_file(file: impl AsFd) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn failed(path: &Path, source: impl Into<io::Error>) -> JournalError {
    JournalError::Io {
        path: path.into(),
        source: source.into(),
    }
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Checks that a directory or file of the journal belongs to the user alone.
fn check_own(path: &Path, found: &Stat) -> Result<(), JournalError> {
    check_owner(path, found, &[geteuid().as_raw()])?;
    match found.st_mode & WRITABLE {
        0 => Ok(()),
        _ => Err(exposed(path, found)),
    }
}

/// Checks the directory around the journal's: nobody else may be able to replace the journal.
fn check_above(path: &Path, found: &Stat) -> Result<(), JournalError> {
    check_owner(path, found, &[geteuid().as_raw(), 0])?;
    match found.st_mode & WRITABLE != 0 && found.st_mode & STICKY == 0 {
        true => Err(exposed(path, found)),
        false => Ok(()),
    }
}

fn check_owner(path: &Path, found: &Stat, good: &[u32]) -> Result<(), JournalError> {
    match good.contains(&found.st_uid) {
        true => Ok(()),
        false => Err(JournalError::Foreign {
            path: path.into(),
            owner: found.st_uid,
            user: geteuid().as_raw(),
        }),
    }
}

fn exposed(path: &Path, found: &Stat) -> JournalError {
    JournalError::Exposed {
        path: path.into(),
        mode: found.st_mode & 0o7777,
    }
}
