//! The socket's file: made, replaced when nobody listens there any more, and removed at the end.

use super::ServeError;
use std::fs::{Metadata, remove_file, symlink_metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket, whose file goes with it.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Device and inode: a file that somebody has put there since is not ours to remove.
    identity: Option<(u64, u64)>,
}

impl Socket {
    pub(super) fn bind(path: &Path) -> Result<Socket, ServeError> {
        let failed = |source| ServeError::Socket {
            path: path.into(),
            source,
        };
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                clear_away(path)?;
                UnixListener::bind(path)
            }
            other => other,
        }
        .map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Socket {
            listener,
            path: path.into(),
            identity: symlink_metadata(path).ok().map(|found| identity(&found)),
        })
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Removes a socket that a server left behind. Anything else at the path stays.
fn clear_away(path: &Path) -> Result<(), ServeError> {
    let failed = |source| ServeError::Socket {
        path: path.into(),
        source,
    };
    let found = symlink_metadata(path).map_err(failed)?;
    if !found.file_type().is_socket() {
        return Err(ServeError::NotASocket { path: path.into() });
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            remove_file(path).map_err(failed)
        }
        Err(error) => Err(failed(error)),
        Ok(_) => Err(ServeError::InUse { path: path.into() }),
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let there = symlink_metadata(&self.path).ok();
        if self.identity.is_some() && there.map(|found| identity(&found)) == self.identity {
            // Nothing that could be done about it.
            let _ = remove_file(&self.path);
        }
    }
}
