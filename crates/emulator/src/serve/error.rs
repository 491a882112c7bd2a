//! Errors of serving a controller, each with what to do about it.

use crate::error::EmulatorError;
use std::io;
use std::path::PathBuf;

/// A failure to serve a controller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The controller could not be made.
    #[error(transparent)]
    Controller(#[from] EmulatorError),
    /// Another server has the socket.
    #[error("{}: another server listens there; choose another --socket, or end that one", path.display())]
    InUse {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is not a socket.
    #[error("{}: exists, and is not a socket", path.display())]
    NotASocket {
        /// The path as given.
        path: PathBuf,
    },
    /// The socket could not be made.
    #[error("{}: cannot listen there: {source}", path.display())]
    Socket {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel has no asynchronous I/O, through which hosts' eventfds are signalled.
    #[error(
        "cannot prepare to signal interrupts: {0} (io_setup); the kernel needs CONFIG_AIO, and fs.aio-nr to be below fs.aio-max-nr (sysctl)"
    )]
    Signal(io::Error),
    /// Waiting for messages failed.
    #[error("cannot wait for messages: {0}")]
    Wait(io::Error),
}
