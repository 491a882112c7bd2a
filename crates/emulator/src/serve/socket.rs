//! The socket's file: created, replaced if no server listens there any more, and removed at the end.

use super::ServeError;
use rustix::fs::{
    CWD, FileType, FlockOperation, Mode, OFlags, chmod, fchmod, flock, fstat, open, openat,
};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use std::fs::{Metadata, remove_file, symlink_metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 128;
/// Longest time that a lock of the socket's directory is waited for: a server has it for an instant.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two tries of the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(1);

/// A listening socket, whose file is removed with it.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Device and inode: a file that somebody else has put there since must not be removed.
    identity: Option<(u64, u64)>,
}

impl Socket {
    /// Listens at `path`, whose file has the permissions `mode` from the beginning.
    pub(super) fn bind(path: &Path, mode: u32) -> Result<Socket, ServeError> {
        let failed = |source| ServeError::Socket {
            path: path.into(),
            source,
        };
        // Until this one listens, another would take its socket for one that was left behind; and of two that find one
        // left behind, the second would remove the socket of the first.
        let _lock = lock_directory(path);
        let listener = match listen(path, mode) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                clear_away(path)?;
                listen(path, mode)
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

/// Locks the directory of `path`, so that one server at a time looks for a socket there and makes its own. A lock on the
/// directory leaves no file behind. `None`: the directory cannot be read, its file system has no such locks, or
/// somebody else does not give it back.
fn lock_directory(path: &Path) -> Option<OwnedFd> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(parent.unwrap_or(Path::new(".")), flags, Mode::empty()).ok()?;
    let end = Instant::now() + PATIENCE;
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => sleep(LOCK_INTERVAL),
            Err(_) => return None,
        }
    }
}

fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let mode = Mode::from_raw_mode(mode);
    // The file gets the socket's own permissions, less the umask (unix(7)).
    fchmod(&socket, mode)?;
    bind(&socket, &address)?;
    permit(path, mode)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}

/// Sets the permissions of the socket at `path` that the umask removed. Through a descriptor: whoever may write to the
/// directory could put a link there, to another user's file.
fn permit(path: &Path, mode: Mode) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty())?;
    let found = fstat(&file)?.st_mode;
    if FileType::from_raw_mode(found) != FileType::Socket {
        return Err(io::Error::other("it was replaced while it was made"));
    }
    if Mode::from_raw_mode(found) != mode {
        chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), mode)?;
    }
    Ok(())
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Removes a socket that an ended server left behind. Any other file at the path remains.
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
            // An error could not be handled in any way.
            let _ = remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::sync::Barrier;
    use std::thread::scope;

    #[test]
    fn of_servers_that_begin_at_once_one_has_the_socket_left_behind_and_can_be_reached() {
        const SERVERS: usize = 4;
        for _ in 0..200 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("socket");
            drop(UnixListener::bind(&path).unwrap());
            let begin = Barrier::new(SERVERS);
            let bind = || {
                begin.wait();
                Socket::bind(&path, 0o600)
            };
            let all: Vec<_> = scope(|scope| {
                let all: Vec<_> = (0..SERVERS).map(|_| scope.spawn(bind)).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let (mut sockets, refused): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
            let in_use =
                |one: &Result<Socket, ServeError>| matches!(one, Err(ServeError::InUse { .. }));
            assert!(refused.iter().all(in_use), "{refused:?}");
            let socket = sockets.pop().unwrap().unwrap();
            assert!(sockets.is_empty(), "{} more have it", sockets.len());
            // That of nobody else counts as this one's.
            while socket.listener.accept().is_ok() {}
            let _host = UnixStream::connect(&path).unwrap();
            socket.listener.accept().unwrap();
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_socket_gives_nothing_away() {
        let dir = tempfile::tempdir().unwrap();
        let [secret, path] = ["secret", "socket"].map(|name| dir.path().join(name));
        let file = File::create(&secret).unwrap();
        fchmod(&file, Mode::RUSR).unwrap();
        symlink(&secret, &path).unwrap();
        permit(&path, Mode::from_raw_mode(0o666)).unwrap_err();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o400);
    }
}
