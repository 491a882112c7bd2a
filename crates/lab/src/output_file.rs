//! Files that a command writes: checked before the work, and complete or unchanged afterwards.
//!
//! The text is written to a file in the same directory, synced, and renamed to the target. If this fails, for example
//! on a full disk, the old file is unchanged.

use rustix::fs::{Access, FlockOperation, OFlags, access, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Treatment of a regular file that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The existing file is kept, and the command is refused.
    Keep,
    /// The new file replaces it.
    Replace,
}

impl Existing {
    /// Returns the handling of an existing file that `--force` chooses.
    pub fn forced(force: bool) -> Existing {
        match force {
            true => Existing::Replace,
            false => Existing::Keep,
        }
    }
}

/// Reason why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputFileError {
    /// The file already exists and has to be kept.
    #[error("{} exists already: name another file, or say --force to overwrite it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The path is a directory, a disk or a socket, or is empty.
    #[error("{} is {what}: name a file", path.display())]
    NoFile {
        /// Path that was named.
        path: PathBuf,
        /// Kind of the path: a directory, a disk.
        what: &'static str,
    },
    /// The folder of the file does not exist.
    #[error("{}: there is no folder {}: make it, or name another file", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// The file already exists and was made by another program.
    #[error("{} exists already, and is not one of {what}: name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Part of joulio that writes such files.
        what: &'static str,
    },
    /// The operating system does not allow the file to be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// A file that passed all checks that are possible before writing.
#[derive(Debug)]
pub struct OutputFile {
    /// Path as it was named.
    path: PathBuf,
    place: Place,
    existing: Existing,
    for_all: bool,
}

#[derive(Debug)]
enum Place {
    /// A regular file, or a path where there is none yet; symbolic links are followed.
    File(PathBuf),
    /// A pipe or a terminal, in which no data can be lost.
    Stream(File),
}

impl OutputFile {
    /// Checks the file `path`; nothing is changed or created before [`OutputFile::write`].
    ///
    /// # Errors
    /// The file cannot be written, or exists and has to be kept.
    pub fn open(path: &Path, existing: Existing) -> Result<OutputFile, OutputFileError> {
        let place = match fs::metadata(path) {
            Ok(there) => of_existing(path, &there, existing)?,
            Err(error) if error.kind() == ErrorKind::NotFound => of_none(path)?,
            Err(error) => return Err(unwritable(path, error)),
        };
        if let Place::File(target) = &place {
            // Creating a file is the only reliable test whether one can be created here.
            beside(target).map_err(|error| unwritable(path, error))?;
        }
        Ok(OutputFile {
            path: path.into(),
            place,
            existing,
            for_all: false,
        })
    }

    /// Makes the file readable for all users, whatever the umask: its readers run as other users.
    pub fn for_all(mut self) -> OutputFile {
        self.for_all = true;
        self
    }

    /// Replaces the file with `text`. At any time, and after any failure, either the old or the new file is complete.
    ///
    /// # Errors
    /// Writing fails, for example because the disk is full. The old file is unchanged.
    pub fn write(&self, text: &str) -> Result<(), OutputFileError> {
        let failed = |error| unwritable(&self.path, error);
        match &self.place {
            Place::Stream(file) => {
                let mut file = file;
                let written = file.write_all(text.as_bytes());
                written.and_then(|()| file.flush()).map_err(failed)
            }
            Place::File(target) => {
                let new = self.written(target, text).map_err(failed)?;
                let persisted = match self.existing {
                    Existing::Replace => new.persist(target),
                    Existing::Keep => new.persist_noclobber(target),
                };
                match persisted {
                    Ok(_) => Ok(()),
                    Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                        Err(OutputFileError::Exists {
                            path: self.path.clone(),
                        })
                    }
                    Err(error) => Err(failed(error.error)),
                }
            }
        }
    }

    /// Creates a file beside `target` with `text` synced to disk, and with the permissions of the file that it
    /// replaces.
    fn written(&self, target: &Path, text: &str) -> io::Result<NamedTempFile> {
        let mut new = beside(target)?;
        new.write_all(text.as_bytes())?;
        if let Ok(there) = fs::metadata(target) {
            // Only root can change the owner; otherwise the file belongs to the writer.
            let _ = fchown(new.as_file(), Some(there.uid()), Some(there.gid()));
            new.as_file().set_permissions(there.permissions())?;
        }
        if self.for_all {
            let rights = Permissions::from_mode(0o644);
            new.as_file().set_permissions(rights)?;
        }
        new.as_file().sync_all()?;
        Ok(new)
    }
}

/// Replaces the file at `path` with one that contains `text`, completely or not at all. A symbolic link is replaced and
/// not followed: the folder may be another user's, and the link may point to one of our files.
///
/// # Errors
/// Writing fails, for example because the disk is full. The old file is unchanged.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = beside(path)?;
    new.write_all(text.as_bytes())?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Returns true if both paths lead to the same file, through any folders and links, or would do so once it exists.
pub fn same_file(one: &Path, other: &Path) -> bool {
    let there = |path: &Path| fs::metadata(path).ok();
    match (there(one), there(other)) {
        (Some(one), Some(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (None, None) => {
            let folders = (folder(one).canonicalize(), folder(other).canonicalize());
            let (Ok(own), Ok(others)) = folders else {
                return false;
            };
            own == others && one.file_name() == other.file_name()
        }
        _ => false,
    }
}

fn unwritable(path: &Path, source: io::Error) -> OutputFileError {
    let path = path.into();
    OutputFileError::Unwritable { path, source }
}

fn of_existing(
    path: &Path,
    there: &Metadata,
    existing: Existing,
) -> Result<Place, OutputFileError> {
    let kind = there.file_type();
    let no_file = |what| OutputFileError::NoFile {
        path: path.into(),
        what,
    };
    if kind.is_fifo() || kind.is_char_device() {
        let stream = OpenOptions::new().write(true).open(path);
        return stream
            .map(Place::Stream)
            .map_err(|error| unwritable(path, error));
    }
    match () {
        _ if kind.is_dir() => Err(no_file("a directory")),
        _ if kind.is_block_device() => Err(no_file("a block device")),
        _ if !kind.is_file() => Err(no_file("not a file")),
        _ if existing == Existing::Keep => Err(OutputFileError::Exists { path: path.into() }),
        // A rename needs no permission to write the file that it replaces, so the permission is checked.
        _ => access(path, Access::WRITE_OK)
            .map_err(io::Error::from)
            .and_then(|()| path.canonicalize())
            .map(Place::File)
            .map_err(|error| unwritable(path, error)),
    }
}

fn of_none(path: &Path) -> Result<Place, OutputFileError> {
    let named = path.file_name().is_some() && !path.as_os_str().as_bytes().ends_with(b"/");
    let what = match named {
        true if path.is_symlink() => "a link to nothing",
        true => return in_folder(path),
        false => "no name of a file",
    };
    Err(OutputFileError::NoFile {
        path: path.into(),
        what,
    })
}

fn in_folder(path: &Path) -> Result<Place, OutputFileError> {
    let folder = folder(path);
    match folder.is_dir() {
        true => Ok(Place::File(path.into())),
        false => Err(OutputFileError::NoFolder {
            path: path.into(),
            folder: folder.into(),
        }),
    }
}

fn folder(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Creates a file in the folder of `path`, whose name begins with a dot and ends in `.joulio.new`; it is deleted when
/// it is dropped. It is locked while it is written. Unlocked ones are leftovers of killed commands and are removed.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    // The path's name may have the file system's largest length, and this name is longer.
    const MAX_PREFIX_BYTES: usize = 200;
    let name = path.file_name().unwrap_or_default().as_bytes();
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(&name[..name.len().min(MAX_PREFIX_BYTES)]));
    sweep(folder(path), &prefix);
    loop {
        let new = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(SUFFIX)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder(path))?;
        match flock(new.as_file(), FlockOperation::NonBlockingLockExclusive) {
            // Another command may have removed the file as a leftover before it was locked.
            Ok(()) if new.as_file().metadata()?.nlink() == 0 => {}
            Err(Errno::WOULDBLOCK) => {}
            // On a file system without locks, no command removes the file.
            _ => return Ok(new),
        }
    }
}

/// Suffix of new files. No other program uses it, as one might use `.new`: an unlocked file with this suffix is
/// removed.
const SUFFIX: &str = ".joulio.new";

/// Number of letters and digits that tempfile puts between prefix and suffix.
const RANDOM: usize = 6;

/// Removes joulio's leftover files, which no process writes any more. Files that cannot be read or removed stay.
fn sweep(folder: &Path, prefix: &OsStr) {
    let user = geteuid().as_raw();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !is_staged(&entry.file_name(), prefix) {
            continue;
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        let opened = options.read(true).custom_flags(flags.bits() as i32);
        let Ok(file) = opened.open(entry.path()) else {
            continue;
        };
        let ours = |found: Metadata| found.is_file() && found.uid() == user;
        let free = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if file.metadata().is_ok_and(ours) && free() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns true if [`beside`] makes files of this name.
fn is_staged(name: &OsStr, prefix: &OsStr) -> bool {
    let random = name.as_bytes().strip_prefix(prefix.as_bytes());
    let random = random.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric)
    })
}

#[cfg(test)]
mod tests;
