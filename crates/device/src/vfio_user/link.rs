//! The socket: one command and its reply at a time.
//!
//! The peer is not trusted. A reply must bear the command's number and fit the room that was requested; a reply that
//! breaks the protocol, or takes too long, ends the connection, since replies could no longer be matched to commands.
//! After that every command fails at once.

use super::VfioUserError;
use super::files::Files;
use joulio_vfio_user_wire::command::{DEVICE_GET_REGION_INFO, VERSION, name};
use joulio_vfio_user_wire::{Header, flags};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    recvmsg, sendmsg, socket_with,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use zerocopy::{FromBytes, IntoBytes};

/// Longest time that the peer may take for a reply. No request waits for a medium.
const PATIENCE: Duration = Duration::from_secs(5);
/// Length in bytes of the longest command: the version, with its JSON.
const MAX_COMMAND_BYTES: usize = 256;
/// Maximum number of descriptors of one message, in either direction.
pub(super) const MAX_FDS: usize = 16;

/// Interval at which a wait for the peer checks whether it was cancelled.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Time that the peer is waited for once the wait was cancelled: a server that works has answered by then.
const GRACE: Duration = Duration::from_millis(400);

pub(super) struct Link {
    device: String,
    patience: Duration,
    cancelled: OnceLock<Arc<AtomicBool>>,
    state: Mutex<State>,
}

struct State {
    stream: UnixStream,
    next: u16,
    /// Whether the protocol was broken: nothing is sent after that.
    over: bool,
}

/// A command to the peer.
pub(super) struct Request<'a> {
    pub(super) command: u16,
    /// The structure that follows the header.
    pub(super) body: &'a [u8],
    /// The data that follows the structure.
    pub(super) data: &'a [u8],
    pub(super) fds: &'a [BorrowedFd<'a>],
}

/// Length and descriptors of a reply, beside its bytes.
pub(super) struct Reply {
    /// Bytes after the header.
    pub(super) len: usize,
    pub(super) fds: Files,
}

impl Link {
    /// Connects to the server at `path`, until `cancelled` is set, which then applies to the link.
    pub(super) fn connect(
        device: &str,
        path: &Path,
        cancelled: Option<&Arc<AtomicBool>>,
    ) -> Result<Link, VfioUserError> {
        Link::connect_within(device, path, cancelled, PATIENCE)
    }

    /// Connects as [`Link::connect`] does, and waits for the server, and then for each reply, as long as `patience`.
    pub(super) fn connect_within(
        device: &str,
        path: &Path,
        cancelled: Option<&Arc<AtomicBool>>,
        patience: Duration,
    ) -> Result<Link, VfioUserError> {
        let failed = |error: Errno| connect_error(device, path, error.into());
        let address = SocketAddrUnix::new(path).map_err(failed)?;
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.map_err(failed)?;
        // While the server's queue is full, connect(2) waits as long as a send may.
        let interval = patience.min(CHECK_INTERVAL);
        set_socket_timeout(&socket, Timeout::Send, Some(interval)).map_err(failed)?;
        let is_cancelled = || cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let mut wait = Wait::new(patience);
        loop {
            match rustix::net::connect(&socket, &address) {
                Ok(()) => break,
                Err(Errno::AGAIN | Errno::INTR) if wait.goes_on(is_cancelled) => {}
                Err(Errno::AGAIN | Errno::INTR) => {
                    return Err(silent(device, VERSION, wait.begun.elapsed()));
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let link = Link::over(device, socket.into(), patience)?;
        if let Some(flag) = cancelled {
            link.cancel_on(flag);
        }
        Ok(link)
    }

    /// Makes a link over `stream` that waits for a reply as long as `patience`.
    pub(super) fn over(
        device: &str,
        stream: UnixStream,
        patience: Duration,
    ) -> Result<Link, VfioUserError> {
        stream
            .set_read_timeout(Some(patience.min(CHECK_INTERVAL)))
            .and_then(|()| stream.set_write_timeout(Some(patience)))
            .map_err(|source| VfioUserError::Connect {
                device: device.into(),
                source,
            })?;
        Ok(Link {
            device: device.into(),
            patience,
            cancelled: OnceLock::new(),
            state: Mutex::new(State {
                stream,
                next: 0,
                over: false,
            }),
        })
    }

    /// Returns the device's name, for messages.
    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// Shortens waits for replies to a moment once `flag` is set. Only the first flag given counts.
    pub(super) fn cancel_on(&self, flag: &Arc<AtomicBool>) {
        let _ = self.cancelled.set(Arc::clone(flag));
    }

    fn is_cancelled(&self) -> bool {
        let flag = self.cancelled.get();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Sends a command and waits for the reply, whose bytes go to `to`.
    pub(super) fn request(
        &self,
        request: &Request<'_>,
        to: &mut [u8],
    ) -> Result<Reply, VfioUserError> {
        let state = &mut *self.lock();
        if state.over {
            return Err(self.closed(request.command));
        }
        let id = state.next;
        state.next = id.wrapping_add(1);
        let reply = self
            .send(&state.stream, id, request)
            .and_then(|()| self.receive(&state.stream, id, request.command, to));
        if !matches!(reply, Ok(_) | Err(VfioUserError::Refused { .. })) {
            state.over = true;
            // Shut down, so that the peer notices and unmaps our memory.
            let _ = state.stream.shutdown(Shutdown::Both);
        }
        reply
    }

    /// Makes the error for a reply that is not as expected.
    pub(super) fn malformed(&self, command: u16, problem: impl Into<String>) -> VfioUserError {
        VfioUserError::Malformed {
            device: self.device.clone(),
            command: name(command),
            problem: problem.into(),
        }
    }

    fn send(
        &self,
        stream: &UnixStream,
        id: u16,
        request: &Request<'_>,
    ) -> Result<(), VfioUserError> {
        let size = Header::BYTES + request.body.len() + request.data.len();
        assert!(size <= MAX_COMMAND_BYTES && request.fds.len() <= MAX_FDS);
        let header = Header {
            id,
            command: request.command,
            size: size as u32,
            flags: 0,
            error: 0,
        };
        let parts = [header.as_bytes(), request.body, request.data].map(IoSlice::new);
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !request.fds.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(request.fds)));
        }
        loop {
            match sendmsg(stream, &parts, &mut control, SendFlags::NOSIGNAL) {
                Ok(sent) if sent == size => return Ok(()),
                // The kernel does not split messages this short.
                Ok(_) => return Err(self.closed(request.command)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed(request.command, error)),
            }
        }
    }

    fn receive(
        &self,
        stream: &UnixStream,
        id: u16,
        command: u16,
        to: &mut [u8],
    ) -> Result<Reply, VfioUserError> {
        let mut head = [0u8; Header::BYTES];
        let mut got = 0;
        let mut fds = Files::default();
        let mut end = None;
        // Until the header is there, the rest of it is expected.
        let mut whole = Header::BYTES + to.len();
        let mut header = None;
        while header.is_none() || got < whole {
            let first = got.min(Header::BYTES);
            let rest = got - first;
            let mut parts = [
                IoSliceMut::new(&mut head[first..]),
                IoSliceMut::new(&mut to[rest..]),
            ];
            let came = self.receive_some(stream, command, &mut parts, &mut fds)?;
            got += came;
            if header.is_none() && got >= Header::BYTES {
                let read = Header::read_from_bytes(&head).expect("as long as a header");
                whole = self.check(&read, id, command, to.len())?;
                header = Some(read);
            }
            if header.is_some() && got > whole {
                return Err(self.malformed(command, "more bytes came than it says"));
            }
            // A peer that sends byte by byte gets no more time than one that sends nothing.
            let end = *end.get_or_insert_with(|| Instant::now() + self.patience);
            if got < whole && Instant::now() >= end {
                return Err(self.silent(command, self.patience));
            }
        }
        match header {
            Some(header) if header.is_error() => Err(self.refused(command, header.error)),
            _ => Ok(Reply {
                len: whole - Header::BYTES,
                fds,
            }),
        }
    }

    fn receive_some(
        &self,
        stream: &UnixStream,
        command: u16,
        parts: &mut [IoSliceMut<'_>],
        fds: &mut Files,
    ) -> Result<usize, VfioUserError> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        // Only a region is described with a file.
        let takes_fds = command == DEVICE_GET_REGION_INFO;
        let mut control = match takes_fds {
            true => RecvAncillaryBuffer::new(&mut room),
            // The kernel drops descriptors that come all the same, without a close that could block.
            false => RecvAncillaryBuffer::default(),
        };
        let mut wait = Wait::new(self.patience);
        let came = loop {
            match recvmsg(stream, parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if wait.goes_on(|| self.is_cancelled()) => {}
                Err(Errno::AGAIN) => return Err(self.silent(command, wait.begun.elapsed())),
                other => break other.map_err(|error| self.failed(command, error))?,
            }
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(came) = message {
                fds.extend(came);
            }
        }
        if came.flags.contains(ReturnFlags::CTRUNC) || fds.len() > MAX_FDS {
            let problem = match takes_fds {
                true => format!("more than {MAX_FDS} file descriptors came along"),
                false => "file descriptors came along".into(),
            };
            return Err(self.malformed(command, problem));
        }
        if came.bytes == 0 {
            return Err(self.closed(command));
        }
        Ok(came.bytes)
    }

    /// Returns the bytes of the whole reply, after checking that `header` is that of one.
    fn check(
        &self,
        header: &Header,
        id: u16,
        command: u16,
        room: usize,
    ) -> Result<usize, VfioUserError> {
        let problem = if header.flags & flags::TYPE == 0 {
            format!(
                "the server sent a command of its own, number {}",
                header.command
            )
        } else if !header.is_reply() {
            format!("message type {}", header.flags & flags::TYPE)
        } else if header.id != id || header.command != command {
            format!(
                "it answers message {}, command {}; the request was message {id}, command {command}",
                header.id, header.command
            )
        } else if (header.size as usize) < Header::BYTES {
            format!("a message of {} bytes", header.size)
        } else if header.size as usize > Header::BYTES + room {
            format!(
                "{} bytes, where at most {} were requested",
                header.size,
                Header::BYTES + room
            )
        } else {
            return Ok(header.size as usize);
        };
        Err(self.malformed(command, problem))
    }

    fn failed(&self, command: u16, error: Errno) -> VfioUserError {
        match error {
            Errno::AGAIN => self.silent(command, self.patience),
            _ => self.closed(command),
        }
    }

    fn silent(&self, command: u16, waited: Duration) -> VfioUserError {
        silent(&self.device, command, waited)
    }

    fn closed(&self, command: u16) -> VfioUserError {
        VfioUserError::Closed {
            device: self.device.clone(),
            command: name(command),
        }
    }

    fn refused(&self, command: u16, errno: u32) -> VfioUserError {
        VfioUserError::Refused {
            device: self.device.clone(),
            command: name(command),
            source: match i32::try_from(errno) {
                Ok(errno) if errno > 0 => io::Error::from_raw_os_error(errno),
                _ => io::Error::other("it does not say why"),
            },
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for the peer.
struct Wait {
    begun: Instant,
    end: Instant,
    is_cancelled: bool,
}

impl Wait {
    fn new(patience: Duration) -> Wait {
        let begun = Instant::now();
        Wait {
            begun,
            end: begun + patience,
            is_cancelled: false,
        }
    }

    /// Whether there is time left; not much of it from the first call on for which `cancelled` is true.
    fn goes_on(&mut self, cancelled: impl Fn() -> bool) -> bool {
        let now = Instant::now();
        if !self.is_cancelled && cancelled() {
            self.is_cancelled = true;
            self.end = self.end.min(now + GRACE);
        }
        now < self.end
    }
}

fn silent(device: &str, command: u16, waited: Duration) -> VfioUserError {
    VfioUserError::Silent {
        device: device.into(),
        command: name(command),
        seconds: waited.as_secs(),
    }
}

fn connect_error(device: &str, path: &Path, source: io::Error) -> VfioUserError {
    let device = device.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => VfioUserError::NoSocket { device },
        io::ErrorKind::ConnectionRefused => VfioUserError::NobodyListens { device },
        io::ErrorKind::PermissionDenied => VfioUserError::Permission { device },
        _ if path.is_file() => VfioUserError::NobodyListens { device },
        _ => VfioUserError::Connect { device, source },
    }
}
