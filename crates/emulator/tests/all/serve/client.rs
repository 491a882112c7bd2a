//! A host that sends raw messages, and drives the controller behind them by hand.

use joulio_device::{SharedMemory, Vector};
use joulio_emulator::Options;
use joulio_emulator::serve::{
    DoorbellMode, Injector, PollCount, ServeError, ServeOptions, Server, Stats,
};
use joulio_model::DeviceProfile;
use joulio_nvme_spec::register::{ACQ, AQA, ASQ, Aqa, CC, CSTS, Cc, Csts};
use joulio_nvme_spec::{Command, CompletionEntry, QueueId};
use joulio_vfio_user_wire::{
    DmaMap, DmaUnmap, Header, IrqSet, RegionAccess, RegionInfo, Version, command, flags, pci,
};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use zerocopy::{FromBytes, IntoBytes};

/// Address of the client's memory in the device's space.
pub const BASE: u64 = 0x4000_0000;
/// Length in bytes of the client's memory.
pub const MEMORY: usize = 4 << 20;
const ENTRIES: u32 = 16;

/// A server in a thread of its own, ended when dropped.
pub struct Serving {
    pub path: PathBuf,
    /// Directory of the socket, removed with the server.
    _dir: tempfile::TempDir,
    pub polls: PollCount,
    pub injector: Injector,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<(Result<(), ServeError>, Stats)>>,
}

pub fn options() -> Options {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    options.namespaces = vec![crate::common::ram(512)];
    options
}

pub fn serve(doorbells: DoorbellMode) -> Serving {
    let limits = ServeOptions {
        doorbells,
        max_regions: 4,
        max_bytes: 64 << 20,
        ..ServeOptions::default()
    };
    serve_with(&options(), &limits)
}

pub fn serve_with(options: &Options, limits: &ServeOptions) -> Serving {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let mut server = Server::bind(&path, options, limits).unwrap();
    let (polls, injector) = (server.polls(), server.injector());
    let (stop, ear) = UnixStream::pair().unwrap();
    let thread = std::thread::spawn(move || {
        let result = server.run(ear.as_fd());
        (result, server.stats())
    });
    Serving {
        path,
        _dir: dir,
        polls,
        injector,
        stop: Some(stop),
        thread: Some(thread),
    }
}

impl Serving {
    /// Ends the server, which must have survived until now.
    pub fn end(mut self) -> Stats {
        self.finish().unwrap()
    }

    fn finish(&mut self) -> Option<Stats> {
        drop(self.stop.take());
        let (result, stats) = self.thread.take()?.join().expect("the server lives");
        result.unwrap();
        Some(stats)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.finish();
        }
    }
}

/// The server has closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

pub type Answer = Result<Result<(Vec<u8>, Vec<OwnedFd>), Errno>, Cut>;

pub struct Client {
    pub stream: UnixStream,
    id: u16,
    pub memory: SharedMemory,
    pub file: OwnedFd,
    page: Option<SharedMemory>,
    admin: Ring,
}

/// The host's end of a queue pair: entries at fixed places of its memory.
pub struct Ring {
    qid: u16,
    at: usize,
    tail: u32,
    head: u32,
    phase: bool,
}

impl Ring {
    /// Makes a ring whose submission queue's page is `at`; the completion queue's is the next.
    pub fn new(qid: u16, at: usize) -> Ring {
        Ring {
            qid,
            at,
            tail: 0,
            head: 0,
            phase: true,
        }
    }
}

impl Client {
    /// Connects, and sends nothing.
    pub fn connect(path: &Path) -> Client {
        let (memory, file) = SharedMemory::shareable(MEMORY).unwrap();
        Client {
            stream: UnixStream::connect(path).unwrap(),
            id: 0,
            memory,
            file,
            page: None,
            admin: Ring::new(0, 0),
        }
    }

    /// Makes a client that has negotiated the version. The server may still be busy with the one before.
    pub fn settled(path: &Path) -> Client {
        loop {
            let mut client = Client::connect(path);
            match client.version(0, 1) {
                Ok(Ok(_)) => return client,
                Ok(Err(Errno::BUSY)) | Err(Cut) => std::thread::yield_now(),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Makes a client whose memory is mapped, with an enabled controller.
    pub fn enabled(path: &Path) -> Client {
        let mut client = Client::settled(path);
        client.map_memory().unwrap();
        client.map_doorbells();
        client.enable();
        client
    }

    pub fn version(&mut self, major: u16, minor: u16) -> Answer {
        let mut body = Version { major, minor }.as_bytes().to_vec();
        body.extend_from_slice(b"{\"capabilities\":{\"max_msg_fds\":8}}\0");
        self.call(command::VERSION, &body, &[])
    }

    pub fn send(&mut self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Cut> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(fds));
        }
        let slice = [IoSlice::new(bytes)];
        let sent = sendmsg(&self.stream, &slice, &mut control, SendFlags::NOSIGNAL);
        sent.map(|_| ()).map_err(|_| Cut)
    }

    pub fn header(&mut self, command: u16, body: &[u8]) -> Header {
        self.id = self.id.wrapping_add(1);
        Header {
            id: self.id,
            command,
            size: (Header::BYTES + body.len()) as u32,
            flags: 0,
            error: 0,
        }
    }

    pub fn call(&mut self, command: u16, body: &[u8], fds: &[BorrowedFd<'_>]) -> Answer {
        let header = self.header(command, body);
        self.send(&[header.as_bytes(), body].concat(), fds)?;
        let (reply, body, fds) = self.reply()?;
        assert_eq!((reply.id, reply.command), (header.id, command));
        assert!(reply.is_reply());
        if reply.is_error() {
            return Ok(Err(Errno::from_raw_os_error(reply.error as i32)));
        }
        Ok(Ok((body, fds)))
    }

    pub fn reply(&mut self) -> Result<(Header, Vec<u8>, Vec<OwnedFd>), Cut> {
        let mut bytes = [0; Header::BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slice = [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(&self.stream, &mut slice, &mut control, RecvFlags::WAITALL);
        let mut fds = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(more) = message {
                fds.extend(more);
            }
        }
        if received.map_or(0, |received| received.bytes) != Header::BYTES {
            return Err(Cut);
        }
        let header = Header::read_from_bytes(&bytes).unwrap();
        let mut body = vec![0; header.size as usize - Header::BYTES];
        match self.stream.read_exact(&mut body) {
            Ok(()) => Ok((header, body, fds)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(Cut),
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes a call during which the server must not close the connection.
    pub fn ask(
        &mut self,
        command: u16,
        body: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, Errno> {
        let answer = self.call(command, body, fds).expect("still connected");
        answer.map(|(body, _)| body)
    }

    pub fn map(&mut self, address: u64, offset: u64, size: u64, access: u32) -> Result<(), Errno> {
        let requested = DmaMap {
            argsz: DmaMap::BYTES as u32,
            flags: access,
            offset,
            address,
            size,
        };
        let file = self.file.try_clone().unwrap();
        self.ask(command::DMA_MAP, requested.as_bytes(), &[file.as_fd()])
            .map(|_| ())
    }

    pub fn map_memory(&mut self) -> Result<(), Errno> {
        self.map(BASE, 0, MEMORY as u64, DmaMap::READ | DmaMap::WRITE)
    }

    pub fn unmap(&mut self, address: u64, size: u64) -> Result<(), Errno> {
        let requested = DmaUnmap {
            argsz: DmaUnmap::BYTES as u32,
            flags: 0,
            address,
            size,
        };
        self.ask(command::DMA_UNMAP, requested.as_bytes(), &[])
            .map(|_| ())
    }

    pub fn region(
        &mut self,
        index: u32,
        argsz: u32,
    ) -> Result<(RegionInfo, Vec<u8>, Vec<OwnedFd>), Errno> {
        let requested = RegionInfo {
            argsz,
            index,
            ..RegionInfo::default()
        };
        let answer = self.call(command::DEVICE_GET_REGION_INFO, requested.as_bytes(), &[]);
        let (body, fds) = answer.expect("still connected")?;
        let (info, rest) = RegionInfo::read_from_prefix(&body).unwrap();
        Ok((info, rest.to_vec(), fds))
    }

    fn map_doorbells(&mut self) {
        let (_, _, fds) = self.region(pci::BAR0, 256).unwrap();
        self.page = fds
            .first()
            .map(|file| SharedMemory::from_file(file.as_fd(), 0x1000, 4096, true).unwrap());
    }

    pub fn access(
        &mut self,
        command: u16,
        region: u32,
        offset: u64,
        count: u32,
        data: &[u8],
    ) -> Result<Vec<u8>, Errno> {
        let requested = RegionAccess {
            offset,
            region,
            count,
        };
        let body = [requested.as_bytes(), data].concat();
        let mut reply = self.ask(command, &body, &[])?;
        Ok(reply.split_off(RegionAccess::BYTES))
    }

    pub fn read(&mut self, region: u32, offset: u64, count: u32) -> Result<Vec<u8>, Errno> {
        self.access(command::REGION_READ, region, offset, count, &[])
    }

    pub fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let count = data.len() as u32;
        self.access(command::REGION_WRITE, region, offset, count, data)
            .map(|_| ())
    }

    pub fn register(&mut self, offset: u32) -> u32 {
        let bytes = self.read(pci::BAR0, offset.into(), 4).unwrap();
        u32::from_le_bytes(bytes.try_into().unwrap())
    }

    pub fn status(&mut self) -> Csts {
        Csts::from(self.register(CSTS))
    }

    pub fn enable(&mut self) {
        self.memory.write(0, &[0; 0x2000]);
        self.admin = Ring::new(0, 0);
        let aqa = Aqa::new().with_asqs(15).with_acqs(15);
        let bar = pci::BAR0;
        self.write(bar, AQA.into(), &u32::from(aqa).to_le_bytes())
            .unwrap();
        self.write(bar, ASQ.into(), &BASE.to_le_bytes()).unwrap();
        self.write(bar, ACQ.into(), &(BASE + 0x1000).to_le_bytes())
            .unwrap();
        let cc = Cc::new()
            .with_en(true)
            .with_iosqes(Cc::SQES)
            .with_iocqes(Cc::CQES);
        self.write(bar, CC.into(), &u32::from(cc).to_le_bytes())
            .unwrap();
        assert!(self.status().rdy());
    }

    /// Rings through the mapped page, or by a message.
    pub fn ring(&mut self, qid: u16, side: u16, value: u32) {
        let offset = qid * 8 + side * 4;
        match &self.page {
            Some(page) => page.store_u32(offset.into(), value),
            None => self
                .write(pci::BAR0, 0x1000 + u64::from(offset), &value.to_le_bytes())
                .unwrap(),
        }
    }

    /// Writes a command into a ring, and does not ring the doorbell.
    pub fn put(&mut self, ring: &mut Ring, mut command: Command, cid: u16) {
        let dword0 = command.cdw0.get() & 0xffff | u32::from(cid) << 16;
        command.cdw0.set(dword0);
        let at = ring.at + ring.tail as usize * 64;
        self.memory.write(at, command.as_bytes());
        ring.tail = (ring.tail + 1) % ENTRIES;
    }

    pub fn submit(&mut self, ring: &mut Ring, command: Command, cid: u16) {
        self.put(ring, command, cid);
        self.ring(ring.qid, 0, ring.tail);
    }

    /// Returns the next completion, if it is there; does not ring the head.
    pub fn peek(&self, ring: &mut Ring) -> Option<CompletionEntry> {
        let at = ring.at + 0x1000 + ring.head as usize * 16;
        let dword3 = self.memory.load_u32(at + CompletionEntry::DWORD3);
        if (dword3 >> 16 & 1 != 0) != ring.phase {
            return None;
        }
        let mut bytes = [0; 16];
        self.memory.read(at, &mut bytes);
        ring.head = (ring.head + 1) % ENTRIES;
        ring.phase ^= ring.head == 0;
        Some(CompletionEntry::read_from_bytes(&bytes).unwrap())
    }

    /// Waits for a completion, and rings the head.
    pub fn reap(&mut self, ring: &mut Ring) -> CompletionEntry {
        loop {
            if let Some(completion) = self.peek(ring) {
                self.ring(ring.qid, 1, ring.head);
                return completion;
            }
            std::thread::yield_now();
        }
    }

    pub fn admin(&mut self, command: Command) -> CompletionEntry {
        self.admin_meanwhile(command, |_| {})
    }

    /// Executes an admin command, with `meanwhile` between its submission and its completion.
    pub fn admin_meanwhile(
        &mut self,
        command: Command,
        meanwhile: impl FnOnce(&mut Client),
    ) -> CompletionEntry {
        let mut ring = std::mem::replace(&mut self.admin, Ring::new(0, 0));
        self.submit(&mut ring, command, 0x55);
        meanwhile(self);
        let completion = self.reap(&mut ring);
        self.admin = ring;
        completion
    }

    pub fn must(&mut self, command: Command) {
        let completion = self.admin(command);
        assert!(completion.status().is_success(), "{}", completion.status());
    }

    /// Creates a queue pair whose pages are `at` and the one after.
    pub fn pair(&mut self, qid: u16, at: usize, vector: Option<u16>) -> Ring {
        self.memory.write(at, &[0; 0x2000]);
        let mut create = Command::create_completion_queue(QueueId(qid), ENTRIES, vector);
        create.prp1.set(BASE + at as u64 + 0x1000);
        self.must(create);
        let mut create = Command::create_submission_queue(QueueId(qid), ENTRIES, QueueId(qid));
        create.prp1.set(BASE + at as u64);
        self.must(create);
        Ring::new(qid, at)
    }

    /// Connects vectors from `start` to new eventfds.
    pub fn wire(&mut self, start: u32, count: u32) -> Vec<OwnedFd> {
        let events: Vec<OwnedFd> = (0..count).map(|_| Vector::eventfd().unwrap()).collect();
        let fds: Vec<BorrowedFd<'_>> = events.iter().map(AsFd::as_fd).collect();
        self.set_irqs(IrqSet::DATA_EVENTFD | IrqSet::TRIGGER, start, count, &fds)
            .unwrap();
        events
    }

    pub fn set_irqs(
        &mut self,
        flags: u32,
        start: u32,
        count: u32,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), Errno> {
        let requested = IrqSet {
            argsz: IrqSet::BYTES as u32,
            flags,
            index: pci::MSIX,
            start,
            count,
        };
        self.ask(command::DEVICE_SET_IRQS, requested.as_bytes(), fds)
            .map(|_| ())
    }
}

/// A header that asks for no reply.
pub fn quiet(header: Header) -> Header {
    Header {
        flags: flags::NO_REPLY,
        ..header
    }
}
