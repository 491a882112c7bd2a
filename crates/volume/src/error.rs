//! Errors, each with what to do about it.

use joulio_nvme::{NvmeError, SubmitError};
use joulio_nvme_spec::Status;

/// A failure of the blocks that a volume is stored on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The driver failed.
    #[error(transparent)]
    Driver(#[from] NvmeError),
    /// A command was not accepted.
    #[error("a command was not submitted: {0}")]
    Submit(#[from] SubmitError),
    /// A command ended with an error status.
    #[error("{operation} at block {lba}: {status}")]
    Status {
        /// Read, write or flush.
        operation: &'static str,
        /// Address of the first logical block.
        lba: u64,
        /// Status of the completion.
        status: Status,
    },
    /// The bytes are not all on the store.
    #[error("{len} bytes at byte {offset} are not on the device of {size} bytes")]
    Range {
        /// Bytes from the start of the store.
        offset: u64,
        /// Number of bytes.
        len: usize,
        /// Size of the store in bytes.
        size: u64,
    },
    /// The write ends within a block.
    #[error("{len} bytes to write are not whole blocks of {block} bytes")]
    PartialBlock {
        /// Number of bytes.
        len: usize,
        /// Bytes of a block.
        block: u32,
    },
    /// The memory of a read is too small.
    #[error("{len} bytes do not fit into memory of {room} bytes")]
    Memory {
        /// Bytes to read.
        len: usize,
        /// Bytes of the memory.
        room: usize,
    },
    /// The queue pair of a started read was lost.
    #[error("the queue pair of the read was lost to another command's failure: read again")]
    QueueLost,
    /// Another volume of this process has the namespace of that number open.
    #[error(
        "a volume on namespace {0} is open in this process already: use that one, or close it first"
    )]
    InUse(u32),
    /// The store is opened for reading only.
    #[error("the device was opened to be read: nothing on it is changed")]
    ReadOnly,
}

/// A failure of a volume or of a file on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The device failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No file has the name.
    #[error("{0}: there is no such file on the volume")]
    NotFound(String),
    /// A file has the name already.
    #[error("{0}: there is such a file on the volume already")]
    Exists(String),
    /// The name is not valid.
    #[error("a file's name has 1 to 255 bytes and no NUL: this one has {0} bytes")]
    Name(usize),
    /// All units of the volume are in use.
    #[error("the volume is full: {wanted} bytes more are needed, {free} are free")]
    NoSpace {
        /// Bytes that were needed beyond those allocated.
        wanted: u64,
        /// Bytes in free units.
        free: u64,
    },
    /// The directory does not fit a journal region.
    #[error(
        "the directory needs {bytes} bytes and the journal has room for {room}: format with a larger journal, or remove files"
    )]
    DirectoryTooLarge {
        /// Bytes of the snapshot.
        bytes: u64,
        /// Bytes of a region.
        room: u64,
    },
    /// The device has no volume.
    #[error("there is no volume on the device: format it first")]
    NotAVolume,
    /// The device has a volume already where a new one was to be made.
    #[error("there is a volume on the device already: say explicitly that it may be overwritten")]
    AlreadyAVolume,
    /// The volume is of a later version.
    #[error("the volume has format {found}, and this joulio knows up to {known}: use a newer one")]
    Version {
        /// Version in the superblock.
        found: u32,
        /// Newest version that is known.
        known: u32,
    },
    /// The device is too small for a volume.
    #[error("the device has {bytes} bytes, and a volume needs {min} at least")]
    TooSmall {
        /// Size in bytes.
        bytes: u64,
        /// Smallest size of a volume in bytes.
        min: u64,
    },
    /// The size is not possible for a volume.
    #[error("{what} of {bytes} bytes: it must be a power of two from {min} to {max}")]
    Size {
        /// Name of the size.
        what: &'static str,
        /// The size.
        bytes: u64,
        /// Smallest possible size in bytes.
        min: u64,
        /// Largest possible size in bytes.
        max: u64,
    },
    /// The data on the device is inconsistent.
    #[error("the volume is damaged: {0}")]
    Damaged(String),
    /// An earlier change could not be made durable.
    #[error("an earlier change of the volume could not be written: close it and open it again")]
    Failed,
    /// The offset is beyond the largest possible file.
    #[error("a file can have {max} bytes: an end at {end} is beyond")]
    TooLarge {
        /// End of the range in bytes.
        end: u64,
        /// Largest possible size of a file in bytes.
        max: u64,
    },
}
