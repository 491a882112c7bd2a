//! A connection to a host: receives whole messages, with their descriptors, and sends replies.
//!
//! Nothing here blocks. A host that stops in the middle of a message, or does not read its replies, delays nobody but
//! itself.

use joulio_vfio_user_wire::{Header, MAX_DATA, RegionAccess};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use zerocopy::FromBytes;

/// Maximum number of descriptors of a message (`max_msg_fds`).
pub(super) const MAX_FDS: usize = 16;
/// Length in bytes of the longest message: a region write with the most data allowed.
const MAX_MESSAGE: usize = Header::BYTES + RegionAccess::BYTES + MAX_DATA;
/// Most bytes that are read at once: a host that announces a long message and does not send it costs no memory.
const CHUNK: usize = 64 << 10;

/// A message of a host.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) header: Header,
    pub(super) body: Vec<u8>,
    pub(super) fds: Vec<OwnedFd>,
}

/// Reason why no message comes any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The host has closed its end between two messages.
    Closed,
    /// The host has closed its end in the middle of a message, or sent an invalid one: the beginning of the next is not
    /// known.
    Broken,
}

/// A connection to a host.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    incoming: Vec<u8>,
    fds: Vec<OwnedFd>,
    /// Whether file descriptors are accepted. Closing one can block, if the process behind it is a file system (FUSE):
    /// only a host that was let in may do that to the server.
    takes_fds: bool,
    outgoing: Vec<u8>,
    outgoing_fd: Option<OwnedFd>,
}

impl Connection {
    /// Makes a connection that accepts no descriptors: a first message has none.
    pub(super) fn new(stream: UnixStream) -> Connection {
        Connection {
            stream,
            incoming: Vec::new(),
            fds: Vec::new(),
            takes_fds: false,
            outgoing: Vec::new(),
            outgoing_fd: None,
        }
    }

    /// Accepts file descriptors from now on.
    pub(super) fn take_fds(&mut self) {
        self.takes_fds = true;
    }

    /// Whether a part of a reply is still to be sent: then the connection waits for room, not for a message.
    pub(super) fn is_sending(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns the next message, once all of it has arrived.
    pub(super) fn receive(&mut self) -> Result<Option<Message>, End> {
        loop {
            let wanted = self.wanted()?;
            if self.incoming.len() == wanted {
                return Ok(Some(self.take()));
            }
            if !self.fill(wanted)? {
                return Ok(None);
            }
        }
    }

    /// Returns the length of the message in bytes, as far as it is known.
    fn wanted(&self) -> Result<usize, End> {
        let Ok((header, _)) = Header::read_from_prefix(&self.incoming) else {
            return Ok(Header::BYTES);
        };
        let size = header.size as usize;
        if !(Header::BYTES..=MAX_MESSAGE).contains(&size) {
            return Err(End::Broken);
        }
        // So far exactly a header was read; the rest may come with descriptors.
        Ok(size)
    }

    fn take(&mut self) -> Message {
        let mut bytes = std::mem::take(&mut self.incoming);
        let body = bytes.split_off(Header::BYTES);
        Message {
            header: Header::read_from_bytes(&bytes).unwrap_or_default(),
            body,
            fds: std::mem::take(&mut self.fds),
        }
    }

    /// Receives up to `wanted` bytes in all; `false` when no more have arrived.
    fn fill(&mut self, wanted: usize) -> Result<bool, End> {
        let have = self.incoming.len();
        self.incoming.resize(wanted.min(have + CHUNK), 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = match self.takes_fds {
            true => RecvAncillaryBuffer::new(&mut space),
            // The kernel closes descriptors that come all the same.
            false => RecvAncillaryBuffer::default(),
        };
        let received = recvmsg(
            &self.stream,
            &mut [IoSliceMut::new(&mut self.incoming[have..])],
            &mut control,
            RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC,
        );
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.fds.extend(fds);
            }
        }
        let bytes = received.as_ref().map_or(0, |received| received.bytes);
        self.incoming.truncate(have + bytes);
        match received {
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(_) => Err(End::Broken),
            Ok(_) if bytes == 0 && have == 0 => Err(End::Closed),
            Ok(_) if bytes == 0 => Err(End::Broken),
            Ok(received)
                if self.takes_fds
                    && (received.flags.contains(ReturnFlags::CTRUNC)
                        || self.fds.len() > MAX_FDS) =>
            {
                Err(End::Broken)
            }
            Ok(_) => Ok(true),
        }
    }

    /// Sends `bytes`, with `fd` if there is one, as far as there is room; [`Connection::flush`] sends the rest.
    pub(super) fn send(&mut self, bytes: Vec<u8>, fd: Option<OwnedFd>) -> Result<(), End> {
        self.outgoing = bytes;
        self.outgoing_fd = fd;
        self.flush()
    }

    /// Sends the rest of a reply, as far as there is room.
    pub(super) fn flush(&mut self) -> Result<(), End> {
        while !self.outgoing.is_empty() {
            let fds: Vec<BorrowedFd<'_>> = self.outgoing_fd.iter().map(AsFd::as_fd).collect();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !fds.is_empty() {
                control.push(SendAncillaryMessage::ScmRights(&fds));
            }
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let bytes = IoSlice::new(&self.outgoing);
            match sendmsg(&self.stream, &[bytes], &mut control, flags) {
                Ok(sent) => {
                    self.outgoing.drain(..sent);
                    // The descriptor went with the first byte.
                    self.outgoing_fd = None;
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(_) => return Err(End::Broken),
            }
        }
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
