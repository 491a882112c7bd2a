//! Errors of making a controller, each with what to do about it.

use joulio_device::DeviceError;
use std::io;
use std::path::{Path, PathBuf};

/// A failure to make a controller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// The number of namespaces is 0, or more than there are identifiers.
    #[error("a controller has 1 to {max} namespaces, {requested} were requested")]
    Namespaces {
        /// Number requested.
        requested: usize,
        /// The maximum.
        max: usize,
    },
    /// The number of queue pairs is 0, or more than the emulator has doorbells for.
    #[error("a controller has 1 to {max} I/O queue pairs, {requested} were requested")]
    QueuePairs {
        /// Number requested.
        requested: u16,
        /// The maximum.
        max: u16,
    },
    /// The number of interrupt vectors is 0, or more than an MSI-X table holds.
    #[error("a controller has 1 to {max} interrupt vectors, {requested} were requested")]
    Vectors {
        /// Number requested.
        requested: u16,
        /// The maximum.
        max: u16,
    },
    /// No controller with these queues can have this Identify page.
    #[error("an Identify page whose {field} is {value:#04x}: it has to allow {required}, or be 0")]
    IdentifyPage {
        /// The field.
        field: &'static str,
        /// The field's value.
        value: u8,
        /// The entry size that the controller has.
        required: &'static str,
    },
    /// The logical block size is not supported.
    #[error("logical blocks of {bytes} bytes: choose 512 or 4096")]
    BlockSize {
        /// The requested size.
        bytes: u32,
    },
    /// A namespace is not a whole number of blocks.
    #[error(
        "{}a namespace of {bytes} bytes is not one or more whole blocks: choose a multiple of {block}",
        before(path.as_deref())
    )]
    Size {
        /// The path as given, of a namespace in a file.
        path: Option<PathBuf>,
        /// The size of the namespace.
        bytes: u64,
        /// The logical block size.
        block: u32,
    },
    /// The file does not exist, and no size to create it with was given.
    #[error("{}: no such file; give a size to create it", path.display())]
    NoFile {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is not a regular file, but a directory, a block device or the like.
    #[error("{}: not a regular file; a namespace is kept in a regular file or in memory", path.display())]
    NotAFile {
        /// The path as given.
        path: PathBuf,
    },
    /// The file exists, with another size than was requested.
    #[error("{}: has {has} bytes, {requested} were requested; leave the size out to use the file as it is", path.display())]
    FileSize {
        /// The path as given.
        path: PathBuf,
        /// The size of the file.
        has: u64,
        /// The requested size.
        requested: u64,
    },
    /// Another controller has the file.
    #[error("{}: in use as a namespace by another controller", path.display())]
    InUse {
        /// The path as given.
        path: PathBuf,
    },
    /// An operation on the file failed.
    #[error("{}: cannot {what}: {source}", path.display())]
    File {
        /// The path as given.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// No memory for a namespace.
    #[error("cannot reserve the memory of a namespace: {0}")]
    Memory(#[from] DeviceError),
    /// The device's thread could not be started.
    #[error("cannot start the device's thread: {0}")]
    Thread(io::Error),
    /// The device's thread could not be bound to the CPUs.
    #[error(
        "cannot bind the device's thread to CPU {}: {source}: name one that this process may use",
        list(cpus)
    )]
    Cpus {
        /// The requested CPUs.
        cpus: Vec<usize>,
        /// The system's error.
        source: io::Error,
    },
}

/// Formats `path` to stand before a message about it.
fn before(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!("{}: ", path.display()))
}

/// Formats `cpus` as the kernel lists them, without ranges.
fn list(cpus: &[usize]) -> String {
    let texts: Vec<_> = cpus.iter().map(usize::to_string).collect();
    texts.join(",")
}
