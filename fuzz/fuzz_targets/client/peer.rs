//! The server: honest except for its twists. Its doorbells can be mapped, its MSI-X table cannot.

use crate::twists::{Events, Files, Twist};
use joulio_vfio_user_wire::{
    CapabilityHeader, DeviceInfo, Header, IrqInfo, RegionAccess, RegionInfo, SparseArea,
    SparseHeader, command, flags, pci,
};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{
    FallocateFlags, MemfdFlags, OFlags, fallocate, fcntl_getfl, fcntl_setfl, ftruncate,
    memfd_create,
};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use zerocopy::{FromBytes, IntoBytes};

/// Offset of the MSI-X capability, whose table is in BAR0: beyond what can be written.
const MSIX: usize = 0x40;
const TABLE: u32 = 0x2000;
const BAR: usize = 0x3000;

/// A server for one connection, in a thread of its own.
pub struct Peer {
    pub path: PathBuf,
    end: Arc<Mutex<Option<UnixStream>>>,
    thread: JoinHandle<()>,
    _dir: tempfile::TempDir,
}

impl Peer {
    pub fn start(twists: Vec<Twist>) -> Peer {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let end = Arc::new(Mutex::new(None));
        let ours = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("the driver comes");
            *ours.lock().expect("a lock") = stream.try_clone().ok();
            let mut server = Server::new(stream);
            for twist in &twists {
                let more = if let Twist::Run(more) = twist {
                    *more
                } else {
                    0
                };
                for _ in 0..=more {
                    if server.answer(twist).is_none() {
                        server.close();
                        return;
                    }
                }
            }
            server.close();
        });
        Peer {
            path,
            end,
            thread,
            _dir: dir,
        }
    }

    /// Closes the connection, if it is not closed yet.
    pub fn end(self) {
        if let Some(stream) = &*self.end.lock().expect("a lock") {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.thread.join().expect("the server ends");
    }
}

struct Server {
    stream: UnixStream,
    config: [u8; 256],
    bar: Vec<u8>,
    events: Vec<OwnedFd>,
    memory: Vec<OwnedFd>,
}

impl Server {
    fn new(stream: UnixStream) -> Server {
        let mut config = [0; 256];
        config[0x09..0x0c].copy_from_slice(&[2, 8, 1]);
        config[0x34] = MSIX as u8;
        config[MSIX] = 0x11;
        config[MSIX + 2] = 4;
        config[MSIX + 4..MSIX + 8].copy_from_slice(&TABLE.to_le_bytes());
        Server {
            stream,
            config,
            bar: vec![0; BAR],
            events: Vec::new(),
            memory: Vec::new(),
        }
    }

    fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Answers a message; `None` when no more messages come.
    fn answer(&mut self, twist: &Twist) -> Option<()> {
        let (requested, body, fds) = self.receive()?;
        let mut files = Vec::new();
        let (mut body, error) = match self.reply(&requested, &body, fds, &mut files) {
            Some(body) => (body, 0),
            None => (Vec::new(), 22),
        };
        let mut header = Header {
            flags: if error == 0 {
                flags::REPLY
            } else {
                flags::REPLY | flags::ERROR
            },
            error,
            ..requested
        };
        let mut times = 1;
        let mut longer = 0;
        match *twist {
            Twist::Honest | Twist::Run(_) => {}
            Twist::Refuse(error) => {
                header.flags |= flags::ERROR;
                header.error = error.into();
                body.clear();
            }
            Twist::Flags(bits) => header.flags = bits.into(),
            Twist::Id => header.id ^= 1,
            Twist::Command(number) => header.command = number.into(),
            Twist::Size(more) => longer = i64::from(more),
            Twist::Byte(at, value) => {
                if let Some(byte) = body.get_mut(usize::from(at)) {
                    *byte = value;
                }
            }
            Twist::Longer(ref more) => body.extend(more),
            Twist::Shorter(less) => body.truncate(body.len().saturating_sub(less.into())),
            Twist::Twice => times = 2,
            Twist::Files(kind, count) => {
                files.extend((0..count % 20).filter_map(|_| self.file(kind)));
            }
            Twist::Events(what) => self.disturb(what),
            Twist::Punch => self.punch(),
        }
        header.size = (Header::BYTES as i64 + body.len() as i64 + longer).max(0) as u32;
        let bytes = [header.as_bytes(), &body].concat();
        for _ in 0..times {
            self.send(&bytes, &files)?;
        }
        // A client that waits for announced bytes waits until its time limit.
        (longer <= 0).then_some(())
    }

    fn file(&self, kind: Files) -> Option<OwnedFd> {
        match kind {
            Files::Memory(pages) => memory(u64::from(pages) << 12),
            Files::Pipe => std::io::pipe().ok().map(|(end, _)| end.into()),
            Files::Directory => File::open("/").ok().map(OwnedFd::from),
            Files::File => File::open("/sys/devices/system/cpu/online")
                .ok()
                .map(OwnedFd::from),
            Files::Event => eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
            Files::BlockingEvent => eventfd(0, EventfdFlags::CLOEXEC).ok(),
            Files::Socket => self.stream.try_clone().ok().map(OwnedFd::from),
        }
    }

    fn disturb(&mut self, what: Events) {
        for event in &self.events {
            let flags = fcntl_getfl(event).unwrap_or(OFlags::empty());
            match what {
                Events::BlockAndDrain => {
                    let _ = fcntl_setfl(event, flags | OFlags::NONBLOCK);
                    let _ = rustix::io::read(event, &mut [0; 8]);
                    let _ = fcntl_setfl(event, flags - OFlags::NONBLOCK);
                }
                Events::BlockAndFill => {
                    let _ = fcntl_setfl(event, flags | OFlags::NONBLOCK);
                    let _ = rustix::io::write(event, &(u64::MAX - 1).to_ne_bytes());
                    let _ = fcntl_setfl(event, flags - OFlags::NONBLOCK);
                }
                Events::Signal => {
                    let _ = fcntl_setfl(event, flags | OFlags::NONBLOCK);
                    let _ = rustix::io::write(event, &1u64.to_ne_bytes());
                }
                Events::Close => {}
            }
        }
        if matches!(what, Events::Close) {
            self.events.clear();
        }
    }

    fn punch(&self) {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for file in &self.memory {
            let _ = fallocate(file, hole, 0, 1 << 30);
            let _ = ftruncate(file, 0);
        }
    }

    fn receive(&mut self) -> Option<(Header, Vec<u8>, Vec<OwnedFd>)> {
        let mut head = [0; Header::BYTES];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        let mut parts = [IoSliceMut::new(&mut head)];
        let came = recvmsg(
            &self.stream,
            &mut parts,
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )
        .ok()?;
        if came.bytes != Header::BYTES {
            return None;
        }
        let mut fds = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(some) = message {
                fds.extend(some);
            }
        }
        let header = Header::read_from_bytes(&head).ok()?;
        let mut body = vec![0; (header.size as usize).checked_sub(Header::BYTES)?];
        self.stream.read_exact(&mut body).ok()?;
        Some((header, body, fds))
    }

    fn send(&self, bytes: &[u8], files: &[OwnedFd]) -> Option<()> {
        let borrowed: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !borrowed.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&borrowed));
        }
        let parts = [IoSlice::new(bytes)];
        let sent = sendmsg(&self.stream, &parts, &mut control, SendFlags::NOSIGNAL).ok()?;
        (sent == bytes.len()).then_some(())
    }

    /// Returns an honest server's answer; `None`: it refuses.
    fn reply(
        &mut self,
        requested: &Header,
        body: &[u8],
        fds: Vec<OwnedFd>,
        files: &mut Vec<OwnedFd>,
    ) -> Option<Vec<u8>> {
        match requested.command {
            command::VERSION => {
                let json = b"{\"capabilities\":{\"max_msg_fds\":2}}\0";
                Some([body.get(..4)?, json].concat())
            }
            command::DEVICE_GET_INFO => {
                let info = DeviceInfo {
                    argsz: DeviceInfo::BYTES as u32,
                    flags: DeviceInfo::PCI | DeviceInfo::RESET,
                    regions: pci::REGIONS,
                    irqs: pci::IRQS,
                };
                Some(info.as_bytes().to_vec())
            }
            command::DEVICE_GET_REGION_INFO => {
                let (info, _) = RegionInfo::read_from_prefix(body).ok()?;
                files.extend(memory(BAR as u64).filter(|_| info.index == pci::BAR0));
                Some(region(info.index))
            }
            command::DEVICE_GET_IRQ_INFO => {
                let (mut info, _) = IrqInfo::read_from_prefix(body).ok()?;
                (info.flags, info.count) = (IrqInfo::EVENTFD, 5);
                Some(info.as_bytes().to_vec())
            }
            command::DEVICE_SET_IRQS => {
                self.events.extend(fds);
                Some(Vec::new())
            }
            command::DMA_MAP => {
                self.memory.extend(fds);
                Some(Vec::new())
            }
            command::REGION_READ | command::REGION_WRITE => {
                let (access, data) = RegionAccess::read_from_prefix(body).ok()?;
                let from = usize::try_from(access.offset).ok()?;
                let to = from.checked_add(access.count as usize)?;
                let bytes = match access.region {
                    pci::CONFIG => self.config.get_mut(from..to)?,
                    _ => self.bar[..TABLE as usize].get_mut(from..to)?,
                };
                let mut answer = access.as_bytes().to_vec();
                if data.is_empty() {
                    answer.extend(&*bytes);
                } else {
                    bytes.copy_from_slice(data.get(..bytes.len())?);
                }
                Some(answer)
            }
            _ => Some(Vec::new()),
        }
    }
}

/// Describes BAR0, whose page of doorbells can be mapped, or another region.
fn region(index: u32) -> Vec<u8> {
    let mut info = RegionInfo {
        argsz: RegionInfo::BYTES as u32,
        flags: RegionInfo::READ | RegionInfo::WRITE,
        index,
        size: BAR as u64,
        ..RegionInfo::default()
    };
    if index != pci::BAR0 {
        return info.as_bytes().to_vec();
    }
    info.argsz = 64;
    info.flags |= RegionInfo::MMAP | RegionInfo::CAPABILITIES;
    info.capabilities = RegionInfo::BYTES as u32;
    let head = CapabilityHeader {
        id: CapabilityHeader::SPARSE_MMAP,
        version: 1,
        next: 0,
    };
    let count = SparseHeader {
        areas: 1,
        reserved: 0,
    };
    let area = SparseArea {
        offset: 0x1000,
        size: 0x1000,
    };
    let parts = [
        info.as_bytes(),
        head.as_bytes(),
        count.as_bytes(),
        area.as_bytes(),
    ];
    parts.concat()
}

fn memory(bytes: u64) -> Option<OwnedFd> {
    let file = memfd_create("peer", MemfdFlags::CLOEXEC).ok()?;
    ftruncate(&file, bytes).ok()?;
    Some(file)
}
