//! A host that says anything to a server. Whatever it said, the next one is served.
#![no_main]

use arbitrary::Arbitrary;
use joulio_emulator::serve::{DoorbellMode, ServeOptions, Server};
use joulio_emulator::{NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme_spec::register::{ACQ, AQA, ASQ, CC};
use joulio_vfio_user_wire::{
    DmaMap, DmaUnmap, Header, IrqSet, RegionAccess, RegionInfo, Version, command, flags, pci,
};
use libfuzzer_sys::fuzz_target;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use zerocopy::{FromBytes, IntoBytes};

/// Where the host's memory is for the device.
const BASE: u64 = 0x4000_0000;
const MEMORY: u64 = 1 << 20;

#[derive(Arbitrary, Debug)]
struct Input {
    /// Which of the two servers.
    doorbells_mapped: bool,
    /// Whether it begins as it should: version, memory, the controller enabled,
    /// and a queue of I/O.
    mannered: bool,
    says: Vec<Say>,
}

#[derive(Arbitrary, Debug)]
enum Say {
    /// Bytes that need not be a message.
    Raw(Vec<u8>),
    Message {
        command: u8,
        flags: u8,
        body: Vec<u8>,
        fds: Fds,
    },
    Map {
        page: u8,
        pages: u16,
        offset: u16,
        flags: u8,
        fds: Fds,
    },
    Unmap {
        page: u8,
        pages: u16,
        flags: u8,
    },
    Access {
        write: bool,
        region: u8,
        offset: u16,
        data: Vec<u8>,
    },
    RegionInfo {
        region: u8,
        room: u32,
    },
    Interrupts {
        flags: u8,
        index: u8,
        start: u8,
        count: u8,
        data: Vec<u8>,
        fds: Fds,
    },
    Word {
        offset: u16,
        value: u32,
    },
    Enable,
    /// A queue of I/O, made as it should be.
    Queue {
        qid: u8,
        entries: u8,
    },
    Command {
        queue: u8,
        /// Of the opcode and the dwords only the low bits count.
        small: bool,
        opcode: u8,
        nsid: u8,
        prp1: u32,
        prp2: u32,
        words: [u32; 6],
    },
    Memory {
        at: u32,
        bytes: Vec<u8>,
    },
    Shrink,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Fds {
    None,
    Memory,
    Events(u8),
    Socket,
}

/// A server for all inputs.
struct Stage {
    path: PathBuf,
    _dir: tempfile::TempDir,
    _stop: UnixStream,
}

fn stage(mapped: bool) -> &'static Stage {
    static STAGES: [OnceLock<Stage>; 2] = [const { OnceLock::new() }; 2];
    STAGES[usize::from(mapped)].get_or_init(|| {
        let profile = DeviceProfile::builtin("instant").expect("it is built in");
        let mut options = Options::new(profile);
        options.queue_pairs = 4;
        options.vectors = 5;
        options.namespaces = vec![NamespaceOptions {
            store: StoreOptions::Ram {
                bytes: Some(1 << 20),
            },
            block: Some(512),
        }];
        let limits = ServeOptions {
            doorbells: if mapped {
                DoorbellMode::Mapped
            } else {
                DoorbellMode::Trapped
            },
            max_regions: 8,
            max_bytes: 4 << 20,
        };
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("socket");
        let mut server = Server::bind(&path, &options, &limits).expect("a server");
        let (stop, ear) = UnixStream::pair().expect("a pair");
        std::thread::spawn(move || server.run(ear.as_fd()).expect("it serves"));
        Stage {
            path,
            _dir: dir,
            _stop: stop,
        }
    })
}

struct Host {
    stream: UnixStream,
    memory: std::fs::File,
    id: u16,
    /// The tail of each submission queue.
    tails: [u32; 6],
}

impl Host {
    fn connect(mapped: bool) -> Host {
        let memory = memfd_create("host", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&memory, MEMORY).expect("memory");
        Host {
            stream: UnixStream::connect(&stage(mapped).path).expect("the server listens"),
            memory: memory.into(),
            id: 0,
            tails: [0; 6],
        }
    }

    /// Sends bytes; the server may have cut the connection.
    fn send(&self, bytes: &[u8], fds: Fds) {
        let mut own: Vec<OwnedFd> = Vec::new();
        match fds {
            Fds::None => {}
            Fds::Memory => own.push(self.memory.try_clone().expect("a descriptor").into()),
            Fds::Events(count) => own.extend(
                (0..count % 18).map(|_| eventfd(0, EventfdFlags::CLOEXEC).expect("an event")),
            ),
            Fds::Socket => own.push(self.stream.try_clone().expect("a descriptor").into()),
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

    fn message(&mut self, command: u16, flags: u32, parts: &[&[u8]], fds: Fds) {
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

    fn version(&mut self) {
        let version = Version { major: 0, minor: 1 };
        self.message(command::VERSION, 0, &[version.as_bytes()], Fds::None);
    }

    fn map(&mut self, address: u64, size: u64, offset: u64, flags: u32, fds: Fds) {
        let map = DmaMap {
            argsz: DmaMap::BYTES as u32,
            flags,
            offset,
            address,
            size,
        };
        self.message(command::DMA_MAP, 0, &[map.as_bytes()], fds);
    }

    fn write(&mut self, region: u32, offset: u64, data: &[u8]) {
        let access = RegionAccess {
            offset,
            region,
            count: data.len() as u32,
        };
        let parts = [access.as_bytes(), data];
        self.message(command::REGION_WRITE, 0, &parts, Fds::None);
    }

    fn enable(&mut self) {
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

    /// A command in the next place of a queue of 64, which is rung for.
    fn command(&mut self, qid: u8, opcode: u8, nsid: u8, prps: (u64, u64), words: [u32; 6]) {
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

    fn say(&mut self, say: &Say) {
        match *say {
            Say::Raw(ref bytes) => self.send(bytes, Fds::None),
            Say::Message {
                command,
                flags,
                ref body,
                fds,
            } => self.message(u16::from(command % 16), flags.into(), &[body], fds),
            Say::Map {
                page,
                pages,
                offset,
                flags,
                fds,
            } => self.map(
                BASE + (u64::from(page) << 12),
                u64::from(pages) << 12,
                u64::from(offset) << 12,
                flags.into(),
                fds,
            ),
            Say::Unmap { page, pages, flags } => {
                let unmap = DmaUnmap {
                    argsz: DmaUnmap::BYTES as u32,
                    flags: flags.into(),
                    address: BASE + (u64::from(page) << 12),
                    size: u64::from(pages) << 12,
                };
                self.message(command::DMA_UNMAP, 0, &[unmap.as_bytes()], Fds::None);
            }
            Say::Access {
                write,
                region,
                offset,
                ref data,
            } => {
                let region = u32::from(region % 10);
                if write {
                    self.write(region, offset.into(), data);
                } else {
                    let access = RegionAccess {
                        offset: offset.into(),
                        region,
                        count: data.len() as u32,
                    };
                    self.message(command::REGION_READ, 0, &[access.as_bytes()], Fds::None);
                }
            }
            Say::RegionInfo { region, room } => {
                let info = RegionInfo {
                    argsz: room,
                    index: region.into(),
                    ..RegionInfo::default()
                };
                let command = command::DEVICE_GET_REGION_INFO;
                self.message(command, 0, &[info.as_bytes()], Fds::None);
            }
            Say::Interrupts {
                flags,
                index,
                start,
                count,
                ref data,
                fds,
            } => {
                let set = IrqSet {
                    argsz: IrqSet::BYTES as u32,
                    flags: flags.into(),
                    index: u32::from(index % 6),
                    start: start.into(),
                    count: count.into(),
                };
                let parts = [set.as_bytes(), data];
                self.message(command::DEVICE_SET_IRQS, 0, &parts, fds);
            }
            Say::Word { offset, value } => {
                let offset = u64::from(offset) & 0x7ffc;
                self.write(pci::BAR0, offset, &value.to_le_bytes());
            }
            Say::Enable => self.enable(),
            Say::Queue { qid, entries } => {
                let qid = u32::from(qid % 6);
                let size = u32::from(entries % 64) << 16 | qid;
                for (opcode, page, rest) in [
                    (0x05, 16 + qid, qid << 16 | 3),
                    (0x01, 2 + qid, qid << 16 | 1),
                ] {
                    let words = [size, rest, 0, 0, 0, 0];
                    self.command(0, opcode, 0, (address(page << 12), 0), words);
                }
                if qid > 0 {
                    self.tails[qid as usize] = 0;
                }
            }
            Say::Command {
                queue,
                small,
                opcode,
                nsid,
                prp1,
                prp2,
                words,
            } => {
                let mask = if small { 0xff } else { u32::MAX };
                let prps = (address(prp1), address(prp2));
                let words = words.map(|word| word & mask);
                let opcode = if small { opcode % 16 } else { opcode };
                self.command(queue % 6, opcode, nsid % 4, prps, words);
            }
            Say::Memory { at, ref bytes } => {
                let at = u64::from(at) % MEMORY;
                let len = bytes.len().min((MEMORY - at) as usize);
                let _ = self.memory.write_all_at(&bytes[..len], at);
            }
            Say::Shrink => drop(ftruncate(&self.memory, 4096)),
        }
    }
}

/// An address in the host's memory, or near it.
fn address(value: u32) -> u64 {
    BASE + u64::from(value) % (MEMORY + 4096)
}

/// A host that behaves is answered.
fn check_next(mapped: bool) {
    let mut host = Host::connect(mapped);
    host.version();
    let mut reply = [0; Header::BYTES + Version::BYTES];
    host.stream
        .read_exact(&mut reply)
        .expect("the server answers");
    let (header, body) = Header::read_from_prefix(&reply).expect("a header");
    assert_eq!(header.flags, flags::REPLY);
    assert_eq!(body, Version { major: 0, minor: 1 }.as_bytes());
    finish(&host.stream);
}

/// Says that nothing follows, and waits until the server has let go.
fn finish(mut stream: &UnixStream) {
    let _ = stream.shutdown(Shutdown::Write);
    drain(&mut stream);
}

fn drain(stream: &mut &UnixStream) {
    let mut sink = [0; 4096];
    while stream.read(&mut sink).is_ok_and(|read| read > 0) {}
}

fuzz_target!(|input: Input| {
    let mut host = Host::connect(input.doorbells_mapped);
    let replies = host.stream.try_clone().expect("a descriptor");
    std::thread::scope(|scope| {
        // Replies that nobody reads would stop the server, and then this side.
        scope.spawn(|| drain(&mut &replies));
        if input.mannered {
            host.version();
            let access = DmaMap::READ | DmaMap::WRITE;
            host.map(BASE, MEMORY, 0, access, Fds::Memory);
            host.enable();
            host.say(&Say::Queue {
                qid: 1,
                entries: 63,
            });
        }
        for say in &input.says {
            host.say(say);
        }
        if input.mannered {
            // The device's thread gets to do what was rung for.
            std::thread::sleep(Duration::from_micros(200));
        }
        let _ = host.stream.shutdown(Shutdown::Write);
    });
    drop(host);
    check_next(input.doorbells_mapped);
});
