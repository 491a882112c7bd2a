//! The block device or file on which an engine does I/O.

use crate::{AlignedBuffer, Blocks, DirectFileError, Disk, LockHolder};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, SeekFrom, Stat, StatxFlags, flock, fstat,
    ioctl_blksszget, major, minor, open, seek, statx,
};
use rustix::io::{Errno, pread, retry_on_intr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Alignment of direct I/O in bytes when neither the file nor its disk reports one.
const SAFE_ALIGNMENT: u32 = 4096;

/// Access to a block device or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    Read,
    /// Reads and writes; nothing else may use a block device.
    Write,
    /// Reads and writes, in addition to the parent process, which has opened it to write.
    Join,
}

/// Kind of the open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A disk or a partition.
    Block,
    /// A file on a file system.
    Regular,
}

/// An open block device or regular file, whose I/O bypasses the page cache (O_DIRECT).
#[derive(Debug)]
pub struct DirectFile {
    fd: OwnedFd,
    path: PathBuf,
    kind: FileKind,
    size: u64,
    logical_block: u32,
    device: (u32, u32),
    disk: Option<Disk>,
    access: Access,
    /// True if another program had it locked for writing when it was opened.
    beside_a_writer: bool,
}

impl DirectFile {
    /// Opens `path` and reads its first block. A writer of a file takes an exclusive lock, readers a shared one
    /// (flock(2)).
    ///
    /// # Errors
    /// The file cannot be opened, does not support direct I/O, or is in use.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<DirectFile, DirectFileError> {
        let path = path.as_ref();
        let failed = |source| DirectFileError::Open {
            path: path.into(),
            source,
        };
        // The kind is determined before the file is opened: opening a tape rewinds it, and a terminal may become
        // the process's.
        let stat = rustix::fs::stat(path).map_err(failed)?;
        let kind = kind(&stat).ok_or_else(|| DirectFileError::Kind { path: path.into() })?;
        let blocks = Blocks::at("/");
        if access == Access::Write
            && let Some(device) = blocks.loop_sharing(path)
        {
            let path = path.into();
            return Err(DirectFileError::UnderLoop { path, device });
        }
        let fd = open_direct(path, kind, access)?;
        let beside_a_writer = kind == FileKind::Regular && !lock(&fd, access).map_err(failed)?;
        if beside_a_writer && access == Access::Write {
            let path = path.into();
            let holder = LockHolder::of(&fd);
            return Err(DirectFileError::Locked { path, holder });
        }
        let stat = fstat(&fd).map_err(failed)?;
        let (size, number) = match kind {
            FileKind::Block => (seek(&fd, SeekFrom::End(0)).map_err(failed)?, stat.st_rdev),
            FileKind::Regular => (stat.st_size as u64, stat.st_dev),
        };
        if size == 0 {
            return Err(DirectFileError::Empty { path: path.into() });
        }
        let device = (major(number), minor(number));
        // The kernel would open it for writing and then refuse each write.
        let read_only = kind == FileKind::Block && blocks.is_read_only(device.0, device.1);
        if access == Access::Write && read_only {
            return Err(DirectFileError::ReadOnly { path: path.into() });
        }
        let disk = blocks.disk(device.0, device.1);
        let file = DirectFile {
            logical_block: logical_block(&fd, kind, disk.as_ref()),
            path: path.into(),
            fd,
            kind,
            size,
            device,
            disk,
            access,
            beside_a_writer,
        };
        file.first_block()?;
        Ok(file)
    }

    /// Reads the first block: a file system may accept O_DIRECT and refuse the I/O.
    fn first_block(&self) -> Result<(), DirectFileError> {
        let refused = |source| DirectFileError::NoDirect {
            path: self.path.clone(),
            source,
        };
        let buffers = AlignedBuffer::allocate(1, self.logical_block as usize);
        let mut buffer = buffers
            .ok()
            .and_then(|mut buffers| buffers.pop())
            .ok_or_else(|| refused(Errno::NOMEM))?;
        match retry_on_intr(|| pread(&self.fd, &mut buffer[..], 0)) {
            Ok(_) => Ok(()),
            Err(Errno::INVAL) => Err(refused(Errno::INVAL)),
            Err(source) => Err(DirectFileError::Open {
                path: self.path.clone(),
                source,
            }),
        }
    }

    /// Returns the path with which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the kind: block device or regular file.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Returns the size in bytes at the time it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the logical block size in bytes; offsets and lengths must be multiples of it.
    pub fn logical_block(&self) -> u32 {
        self.logical_block
    }

    /// Returns the longest I/O in bytes that reaches the device unsplit, if its disk reports it.
    pub fn max_io(&self) -> Option<u32> {
        self.disk.as_ref()?.queue.max_io
    }

    /// Returns the major and the minor number of the block device; for a file, of the one under its file system.
    pub fn device(&self) -> (u32, u32) {
        self.device
    }

    /// Returns true if it is open for writing.
    pub fn may_write(&self) -> bool {
        self.access != Access::Read
    }

    /// Returns the name of another writer, if there may be one, as the cause of data that no job of the run wrote.
    pub fn other_writer(&self) -> Option<String> {
        match self.kind {
            FileKind::Regular if self.beside_a_writer => {
                Some(format!("{} is writing this file", LockHolder::of(&self.fd)))
            }
            FileKind::Block if self.access == Access::Read => {
                // Only an exclusive open prevents other exclusive opens.
                let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
                let alone = open(&self.path, flags, Mode::empty());
                (alone.err() == Some(Errno::BUSY))
                    .then(|| "another joulio is writing this device, or it is mounted".into())
            }
            _ => None,
        }
    }

    /// Returns the whole disk, if it is in /sys.
    pub fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }
}

impl AsFd for DirectFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn kind(stat: &Stat) -> Option<FileKind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Some(FileKind::Block),
        FileType::RegularFile => Some(FileKind::Regular),
        _ => None,
    }
}

fn open_direct(path: &Path, kind: FileKind, access: Access) -> Result<OwnedFd, DirectFileError> {
    let flags = OFlags::DIRECT
        | OFlags::CLOEXEC
        | match (access, kind) {
            (Access::Read, _) => OFlags::RDONLY,
            (Access::Join, _) | (Access::Write, FileKind::Regular) => OFlags::RDWR,
            // With O_EXCL, a block device cannot be opened while it is mounted or part of another device (open(2)).
            (Access::Write, FileKind::Block) => OFlags::RDWR | OFlags::EXCL,
        };
    retry_on_intr(|| open(path, flags, Mode::empty())).map_err(|source| match source {
        Errno::BUSY => DirectFileError::InUse { path: path.into() },
        Errno::INVAL => DirectFileError::NoDirect {
            path: path.into(),
            source,
        },
        _ => DirectFileError::Open {
            path: path.into(),
            source,
        },
    })
}

/// Locks the file; returns false if another program has it locked. On file systems without locks it always
/// succeeds.
fn lock(fd: &OwnedFd, access: Access) -> Result<bool, Errno> {
    let operation = match access {
        Access::Read => FlockOperation::NonBlockingLockShared,
        Access::Write => FlockOperation::NonBlockingLockExclusive,
        // The parent process holds the lock for both.
        Access::Join => return Ok(true),
    };
    match retry_on_intr(|| flock(fd, operation)) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS | Errno::BADF) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Returns the logical block size. Since Linux 6.1 a file may report its own (STATX_DIOALIGN), and zero if it
/// cannot.
fn logical_block(fd: &OwnedFd, kind: FileKind, disk: Option<&Disk>) -> u32 {
    let said = match kind {
        FileKind::Block => ioctl_blksszget(fd).ok(),
        FileKind::Regular => statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
            .ok()
            .filter(|statx| statx.stx_mask & StatxFlags::DIOALIGN.bits() != 0)
            .map(|statx| statx.stx_dio_offset_align)
            .filter(|&align| align != 0),
    };
    said.or_else(|| disk?.queue.logical_block)
        .unwrap_or(SAFE_ALIGNMENT)
}
