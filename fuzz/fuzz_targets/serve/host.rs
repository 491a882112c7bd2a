//! A host at the other end of the socket.

use crate::says::Fds;
use crate::servers::server;
use joulio_nvme_spec::register::{ACQ, AQA, ASQ, CC};
use joulio_vfio_user_wire::{DmaMap, Header, RegionAccess, Version, command, pci};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// Address of the host's memory in the device's space.
pub const BASE: u64 = 0x4000_0000;
pub const MEMORY: u64 = PAGES * PAGE;
pub const PAGES: u64 = 256;
pub const PAGE: u64 = 4096;
/// First page that is not a queue's.
pub const FREE: u64 = 32;
const BLOCK: usize = 512;
/// Time limit of an I/O, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(15);

pub struct Host {
    pub stream: UnixStream,
    pub memory: std::fs::File,
    id: u16,
    /// Tail of each submission queue.
    tails: [u32; 6],
}

impl Host {
    pub fn connect(mapped: bool) -> Host {
        let memory = memfd_create("host", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&memory, MEMORY).expect("memory");
        Host {
            stream: UnixStream::connect(&server(mapped).path).expect("the server listens"),
            memory: memory.into(),
            id: 0,
            tails: [0; 6],
        }
    }

    /// Sends bytes; the server may have closed the connection.
    pub fn send(&self, bytes: &[u8], fds: Fds) {
        let mut own: Vec<OwnedFd> = Vec::new();
        match fds {
            Fds::None => {}
            Fds::Memory => own.push(self.memory.try_clone().expect("a descriptor").into()),
            Fds::Events(count) => own.extend(events(count, EventfdFlags::CLOEXEC)),
            Fds::MeekEvents(count) => {
                own.extend(events(
                    count,
                    EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
                ));
            }
            Fds::FullEvents(count) => {
                own.extend(events(count, EventfdFlags::CLOEXEC).inspect(|event| {
                    let _ = rustix::io::write(event, &(u64::MAX - 1).to_ne_bytes());
                }));
            }
            Fds::Socket => own.push(self.stream.try_clone().expect("a descriptor").into()),
            Fds::Pipe => own.extend(std::io::pipe().map(|(end, _)| end.into())),
            Fds::Directory => own.extend(File::open("/").map(OwnedFd::from)),
            Fds::File => {
                own.extend(File::open("/sys/devices/system/cpu/online").map(OwnedFd::from))
            }
        }
        let borrowed: Vec<BorrowedFd<'_>> = own.iter().map(AsFd::as_fd).collect();
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !borrowed.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&borrowed));
        }
        let sent = sendmsg(
            &self.stream,
            &[IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        );
        if let Ok(sent) = sent {
            let _ = (&self.stream).write_all(&bytes[sent..]);
        }
    }

    pub fn message(&mut self, command: u16, flags: u32, parts: &[&[u8]], fds: Fds) {
        let body = parts.concat();
        self.id = self.id.wrapping_add(1);
        let header = Header {
            id: self.id,
            command,
            size: (Header::BYTES + body.len()) as u32,
            flags,
            error: 0,
        };
        self.send(&[header.as_bytes(), &body].concat(), fds);
    }

    pub fn version(&mut self) {
        let version = Version { major: 0, minor: 1 };
        self.message(command::VERSION, 0, &[version.as_bytes()], Fds::None);
    }

    pub fn map(&mut self, address: u64, size: u64, offset: u64, flags: u32, fds: Fds) {
        let map = DmaMap {
            argsz: DmaMap::BYTES as u32,
            flags,
            offset,
            address,
            size,
        };
        self.message(command::DMA_MAP, 0, &[map.as_bytes()], fds);
    }

    pub fn write(&mut self, region: u32, offset: u64, data: &[u8]) {
        let access = RegionAccess {
            offset,
            region,
            count: data.len() as u32,
        };
        let parts = [access.as_bytes(), data];
        self.message(command::REGION_WRITE, 0, &parts, Fds::None);
    }

    pub fn enable(&mut self) {
        let registers = [
            (AQA, 0x003f_003f),
            (ASQ, BASE as u32),
            (ASQ + 4, 0),
            (ACQ, BASE as u32 + 4096),
            (ACQ + 4, 0),
            (CC, 0x0046_0001),
        ];
        for (offset, value) in registers {
            self.write(pci::BAR0, offset.into(), &u32::to_le_bytes(value));
        }
        self.tails[0] = 0;
    }

    /// Writes a command into the next place of a queue of 64, and rings the doorbell.
    pub fn command(&mut self, qid: u8, opcode: u8, nsid: u8, prps: (u64, u64), words: [u32; 6]) {
        let page = match qid {
            0 => 0,
            _ => 2 + u64::from(qid),
        };
        let tail = &mut self.tails[usize::from(qid)];
        let at = page * 4096 + u64::from(*tail) * 64;
        *tail = (*tail + 1) % 64;
        let tail = *tail;
        let mut bytes = [0; 64];
        bytes[0] = opcode;
        bytes[2] = tail as u8;
        bytes[4] = nsid;
        bytes[24..32].copy_from_slice(&prps.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&prps.1.to_le_bytes());
        bytes[40..].copy_from_slice(words.as_bytes());
        // A file that was shortened grows again.
        let _ = self.memory.write_all_at(&bytes, at);
        let doorbell = 0x1000 + 8 * u64::from(qid);
        self.write(pci::BAR0, doorbell, &tail.to_le_bytes());
    }

    /// Creates the I/O queues `qid`, the submission queue on page 2 + QID, the completion queue on page 16 + QID.
    pub fn queue(&mut self, qid: u8, entries: u8) {
        let id = u32::from(qid);
        let size = u32::from(entries) << 16 | id;
        for (opcode, page, rest) in [(0x05, 16 + id, id << 16 | 3), (0x01, 2 + id, id << 16 | 1)] {
            let at = BASE + u64::from(page) * PAGE;
            self.command(0, opcode, 0, (at, 0), [size, rest, 0, 0, 0, 0]);
        }
        if qid > 0 {
            self.tails[usize::from(qid)] = 0;
        }
    }

    /// Executes all steps of a well-behaved host, up to a write, and a read of the same data.
    pub fn begin(&mut self) {
        self.version();
        let access = DmaMap::READ | DmaMap::WRITE;
        self.map(BASE, MEMORY, 0, access, Fds::Memory);
        self.enable();
        self.queue(1, 63);
        for place in 0..2 {
            self.completion(1, place);
        }
        let written = [self.id as u8; BLOCK];
        let (from, to) = (FREE, FREE + 1);
        self.memory
            .write_all_at(&written, from * PAGE)
            .expect("memory");
        for (place, opcode, page) in [(0, 1, from), (1, 2, to)] {
            let words = [7, 0, 0, 0, 0, 0];
            self.command(1, opcode, 1, (BASE + page * PAGE, 0), words);
            self.completion(17, place);
        }
        let mut read = [0; BLOCK];
        self.memory
            .read_exact_at(&mut read, to * PAGE)
            .expect("memory");
        assert!(read == written, "what was read is not what was written");
    }

    /// Waits for the completion in a place of the queue on a page, in the first pass of the queue; it must be a
    /// success.
    fn completion(&self, page: u64, place: u64) {
        let start = Instant::now();
        let mut entry = [0; 16];
        loop {
            self.memory
                .read_exact_at(&mut entry, page * PAGE + place * 16)
                .expect("memory");
            let status = u16::from_le_bytes([entry[14], entry[15]]);
            if status & 1 != 0 {
                assert_eq!(status >> 1, 0, "completion {place} on page {page}");
                return;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "no completion {place} on page {page}"
            );
            // Long enough for the server's threads to have the core.
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

/// Makes up to 17 events: one more than a message may have.
fn events(count: u8, flags: EventfdFlags) -> impl Iterator<Item = OwnedFd> {
    (0..count % 18).map(move |_| eventfd(0, flags).expect("an event"))
}
