//! Stores of a namespace's bytes.

mod compare;
mod ram;
mod zero;

use crate::error::EmulatorError;
use crate::guest::{GuestMemory, Segment};
use crate::options::{StoreOptions, SyncFailed, SyncFile};
use ram::Ram;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions, remove_file};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The bytes of a namespace.
#[derive(Debug)]
pub(crate) enum Store {
    /// In memory.
    Ram(Ram),
    /// In a locked file.
    File { file: Backing, read_only: bool },
}

/// Sync of files, and the function that is called when one fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syncing {
    pub(crate) sync: SyncFile,
    pub(crate) failed: SyncFailed,
}

/// A file, and the function that makes it durable.
#[derive(Clone, Debug)]
pub(crate) struct Backing {
    file: Arc<File>,
    path: Arc<Path>,
    syncing: Syncing,
    /// Errno of the first sync that failed; 0 if none did.
    failed: Arc<AtomicI32>,
}

#[cfg(test)]
impl Syncing {
    /// As [`Options::new`](crate::Options::new) has it.
    pub(crate) fn usual() -> Syncing {
        Syncing {
            sync: File::sync_data,
            failed: |_, _| (),
        }
    }
}

impl Backing {
    fn new(file: File, path: &Path, syncing: Syncing) -> Backing {
        Backing {
            file: Arc::new(file),
            path: path.into(),
            syncing,
            failed: Arc::default(),
        }
    }

    /// Makes written data durable. Linux reports a failed write-back to one sync, and drops the data: once one has
    /// failed, no later one proves that all data before it is durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.failed.load(Ordering::Relaxed) {
            0 => (self.syncing.sync)(&self.file).inspect_err(|error| {
                let number = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
                self.failed.store(number, Ordering::Relaxed);
                (self.syncing.failed)(&self.path, error);
            }),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

impl Deref for Backing {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Store {
    /// Opens or creates a store, and returns it with its size. A RAM store without a size has `capacity`; its memory is
    /// allocated now if `prealloc`.
    pub(crate) fn open(
        options: &StoreOptions,
        capacity: u64,
        prealloc: bool,
        syncing: Syncing,
    ) -> Result<(Store, u64), EmulatorError> {
        match options {
            StoreOptions::Ram { bytes } => {
                let bytes = bytes.unwrap_or(capacity);
                let len = usize::try_from(bytes).unwrap_or(usize::MAX / 2);
                let ram = match prealloc {
                    true => Ram::allocate(len),
                    false => Ram::reserve(len),
                };
                Ok((Store::Ram(ram?), bytes))
            }
            StoreOptions::File {
                path,
                bytes,
                read_only,
            } => open_file(path, *bytes, *read_only, syncing),
        }
    }

    /// Whether the store refuses writes.
    pub(crate) fn read_only(&self) -> bool {
        matches!(self, Store::File { read_only, .. } if *read_only)
    }

    /// Returns the file, if written data may be lost until the file is synced.
    pub(crate) fn volatile(&self) -> Option<&Backing> {
        match self {
            Store::File {
                file,
                read_only: false,
            } => Some(file),
            _ => None,
        }
    }

    /// Reads from `position` into `segments`.
    #[inline]
    pub(crate) fn read(
        &self,
        mut position: u64,
        guest: &GuestMemory,
        segments: &[Segment],
    ) -> io::Result<()> {
        for &segment in segments {
            let (memory, offset) = guest.memory(segment);
            match self {
                Store::Ram(store) => {
                    store.copy_to(position as usize, memory, offset, segment.len());
                }
                Store::File { file, .. } => {
                    memory.read_file(file, position, offset, segment.len())?;
                }
            }
            position += segment.len() as u64;
        }
        Ok(())
    }

    /// Writes `segments` from `position` on.
    #[inline]
    pub(crate) fn write(
        &self,
        mut position: u64,
        guest: &GuestMemory,
        segments: &[Segment],
    ) -> io::Result<()> {
        for &segment in segments {
            let (memory, offset) = guest.memory(segment);
            match self {
                Store::Ram(store) => {
                    store.copy_from(position as usize, memory, offset, segment.len());
                }
                Store::File { file, .. } => {
                    memory.write_file(file, position, offset, segment.len())?;
                }
            }
            position += segment.len() as u64;
        }
        Ok(())
    }
}

fn open_file(
    path: &Path,
    bytes: Option<u64>,
    read_only: bool,
    syncing: Syncing,
) -> Result<(Store, u64), EmulatorError> {
    let failed = |what| {
        move |source: io::Error| EmulatorError::File {
            path: path.into(),
            what,
            source,
        }
    };
    match std::fs::metadata(path) {
        // Before the open: opening a device can have side effects.
        Ok(found) if !found.is_file() => return Err(EmulatorError::NotAFile { path: path.into() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match bytes {
                Some(bytes) if !read_only => create(path, bytes, syncing),
                _ => Err(EmulatorError::NoFile { path: path.into() }),
            };
        }
        other => other.map_err(failed("open it"))?,
    };
    let file = OpenOptions::new()
        .read(true)
        .write(!read_only)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(failed("open it"))?;
    let found = file.metadata().map_err(failed("read its kind and size"))?;
    if !found.is_file() {
        return Err(EmulatorError::NotAFile { path: path.into() });
    }
    lock(&file, path, read_only)?;
    match bytes {
        Some(requested) if requested != found.len() => Err(EmulatorError::FileSize {
            path: path.into(),
            has: found.len(),
            requested,
        }),
        _ => {
            let file = Backing::new(file, path, syncing);
            Ok((Store::File { file, read_only }, found.len()))
        }
    }
}

fn create(path: &Path, bytes: u64, syncing: Syncing) -> Result<(Store, u64), EmulatorError> {
    let failed = |what| {
        move |source: io::Error| EmulatorError::File {
            path: path.into(),
            what,
            source,
        }
    };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed("create it"))?;
    lock(&file, path, false)?;
    if let Err(error) = file.set_len(bytes) {
        // The file is new and empty; with a wrong size it would only be in the way.
        let _ = remove_file(path);
        return Err(failed("give it its size")(error));
    }
    let (file, read_only) = (Backing::new(file, path, syncing), false);
    Ok((Store::File { file, read_only }, bytes))
}

/// Locks a file: readers may share it; a writer has it alone.
fn lock(file: &File, path: &Path, read_only: bool) -> Result<(), EmulatorError> {
    let operation = if read_only {
        FlockOperation::NonBlockingLockShared
    } else {
        FlockOperation::NonBlockingLockExclusive
    };
    flock(file, operation).map_err(|error| match error {
        Errno::WOULDBLOCK => EmulatorError::InUse { path: path.into() },
        error => EmulatorError::File {
            path: path.into(),
            what: "lock it",
            source: error.into(),
        },
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn open(options: &StoreOptions) -> Result<(Store, u64), EmulatorError> {
        Store::open(options, 0, false, Syncing::usual())
    }

    fn file(path: &Path, bytes: Option<u64>, read_only: bool) -> Result<u64, EmulatorError> {
        let path = path.into();
        let options = StoreOptions::File {
            path,
            bytes,
            read_only,
        };
        open(&options).map(|(_, size)| size)
    }

    #[test]
    fn a_missing_file_is_created_sparse_when_a_size_is_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        assert!(matches!(
            file(&path, None, false),
            Err(EmulatorError::NoFile { .. })
        ));
        assert!(matches!(
            file(&path, Some(4096), true),
            Err(EmulatorError::NoFile { .. })
        ));
        assert_eq!(file(&path, Some(1 << 30), false).unwrap(), 1 << 30);
        use std::os::unix::fs::MetadataExt;
        assert_eq!(std::fs::metadata(&path).unwrap().blocks(), 0);
        assert_eq!(file(&path, None, false).unwrap(), 1 << 30);
        assert!(matches!(
            file(&path, Some(4096), false),
            Err(EmulatorError::FileSize { .. })
        ));
    }

    #[test]
    fn only_regular_files_hold_namespaces() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path(), Path::new("/dev/null")] {
            let refused = file(path, Some(4096), false);
            assert!(matches!(refused, Err(EmulatorError::NotAFile { .. })));
        }
    }

    #[test]
    fn a_file_has_one_writer_or_many_readers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let options = |read_only| StoreOptions::File {
            path: path.clone(),
            bytes: Some(4096),
            read_only,
        };
        let writer = open(&options(false)).unwrap();
        for read_only in [false, true] {
            let second = open(&options(read_only));
            assert!(matches!(second, Err(EmulatorError::InUse { .. })));
        }
        drop(writer);
        let _reader = open(&options(true)).unwrap();
        let _another = open(&options(true)).unwrap();
        assert!(matches!(
            open(&options(false)),
            Err(EmulatorError::InUse { .. })
        ));
    }
}
