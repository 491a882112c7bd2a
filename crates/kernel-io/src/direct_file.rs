//! The block device or file that engines work on.

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
    /// Reads and writes; a block device must not be used by anything else.
    Write,
    /// Reads and writes, beside the process that started this one and has opened it to write.
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

/// An open block device or regular file, past the page cache (O_DIRECT).
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
    /// Somebody else had it locked to write when it was opened.
    beside_a_writer: bool,
}

impl DirectFile {
    /// Opens `path` and reads its first block. A writer of a file locks it alone, readers
    /// together (flock(2)).
    ///
    /// # Errors
    /// The file cannot be opened, takes no direct I/O, or is in use.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<DirectFile, DirectFileError> {
        let path = path.as_ref();
        let failed = |source| DirectFileError::Open {
            path: path.into(),
            source,
        };
        // Not opened before it is known what it is: a tape rewinds, a terminal takes over.
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
        // The kernel opens it for writing all the same, and refuses each write.
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

    /// File systems may take O_DIRECT and refuse the I/O.
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

    /// Path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Block device or regular file.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Logical block size in bytes, of which offsets and lengths are multiples.
    pub fn logical_block(&self) -> u32 {
        self.logical_block
    }

    /// Longest I/O in bytes that reaches the device in one piece, if its disk reports it.
    pub fn max_io(&self) -> Option<u32> {
        self.disk.as_ref()?.queue.max_io
    }

    /// Major and minor number of the block device; of a file, those of the one under its file system.
    pub fn device(&self) -> (u32, u32) {
        self.device
    }

    /// True if it is open for writing.
    pub fn may_write(&self) -> bool {
        self.access != Access::Read
    }

    /// Returns the name of another writer, if there may be one: the cause of data that no job here wrote.
    pub fn other_writer(&self) -> Option<String> {
        match self.kind {
            FileKind::Regular if self.beside_a_writer => {
                Some(format!("{} is writing this file", LockHolder::of(&self.fd)))
            }
            FileKind::Block if self.access == Access::Read => {
                // Only an exclusive open keeps others from opening it exclusively.
                let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
                let alone = open(&self.path, flags, Mode::empty());
                (alone.err() == Some(Errno::BUSY))
                    .then(|| "another joulio is writing this device, or it is mounted".into())
            }
            _ => None,
        }
    }

    /// Whole disk, if /sys knows one.
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
            // O_EXCL on a block device: not while it is mounted or part of another (open(2)).
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

/// Locks the file; returns false if another program has it locked. File systems without locks exclude no one.
fn lock(fd: &OwnedFd, access: Access) -> Result<bool, Errno> {
    let operation = match access {
        Access::Read => FlockOperation::NonBlockingLockShared,
        Access::Write => FlockOperation::NonBlockingLockExclusive,
        // The process that started this one has it locked for both.
        Access::Join => return Ok(true),
    };
    match retry_on_intr(|| flock(fd, operation)) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS | Errno::BADF) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Since Linux 6.1 a file may report its own (STATX_DIOALIGN); it reports zero if it cannot.
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
