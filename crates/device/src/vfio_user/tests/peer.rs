//! A small vfio-user server that lets a test change each of its replies.

use crate::vfio_user::link::Link;
use crate::vfio_user::{VfioUserDevice, VfioUserError};
use crate::{DeviceError, SharedMemory};
use joulio_vfio_user_wire::{
    CapabilityHeader, DeviceInfo, DmaMap, DmaUnmap, Header, IrqInfo, IrqSet, RegionAccess,
    RegionInfo, SparseArea, SparseHeader, command, flags, pci,
};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use zerocopy::{FromBytes, IntoBytes};

/// Offset of the MSI-X table in BAR0, in bytes.
pub(super) const TABLE: usize = 0x2000;
/// Entries of the MSI-X table.
pub(super) const ENTRIES: u16 = 5;
const BAR0: usize = 0x3000;
const MSIX: usize = 0x40;
/// Time within which a peer that replies has done so, however busy the machine is.
const ANSWERED: Duration = Duration::from_secs(120);

/// The state of the peer.
pub(super) struct Inside {
    pub(super) config: [u8; 256],
    pub(super) bar0: Vec<u8>,
    /// The page of doorbells, as a file and as the peer has it mapped.
    pub(super) page: Option<(SharedMemory, OwnedFd)>,
    pub(super) maps: HashMap<u64, (DmaMap, OwnedFd)>,
    pub(super) events: HashMap<u32, OwnedFd>,
    /// Most descriptors that came in one message.
    pub(super) max_fds: usize,
    /// Commands received so far.
    pub(super) seen: Vec<u16>,
    /// Whether the peer is like SPDK's: writes to the MSI-X table are refused, interrupts are
    /// enabled by either of two bits of configuration space, and one that cannot be delivered is
    /// fatal.
    pub(super) like_spdk: bool,
    /// Vectors that completions raise after every message, once the controller is enabled.
    pub(super) raising: Vec<u32>,
    /// Whether an interrupt could not be delivered: CSTS.CFS.
    pub(super) fatal: bool,
}

impl Inside {
    pub(super) fn new(mapped: bool) -> Inside {
        let mut config = [0; 256];
        config[0x09..0x0c].copy_from_slice(&[2, 8, 1]);
        config[0x34] = MSIX as u8;
        config[MSIX] = 0x11;
        config[MSIX + 2..MSIX + 4].copy_from_slice(&(ENTRIES - 1).to_le_bytes());
        config[MSIX + 4..MSIX + 8].copy_from_slice(&(TABLE as u32).to_le_bytes());
        Inside {
            config,
            bar0: vec![0; BAR0],
            page: mapped.then(|| SharedMemory::shareable(0x2000).unwrap()),
            maps: HashMap::new(),
            events: HashMap::new(),
            max_fds: 0,
            seen: Vec::new(),
            like_spdk: false,
            raising: Vec::new(),
            fatal: false,
        }
    }

    /// Makes a peer like SPDK's target, whose admin queue raises vector 0.
    pub(super) fn like_spdk() -> Inside {
        Inside {
            like_spdk: true,
            raising: vec![0],
            ..Inside::new(true)
        }
    }

    /// Whether the function may raise interrupts: Interrupt Disable is clear, or MSI-X Enable is set.
    pub(super) fn interrupts(&self) -> bool {
        self.config[0x05] & 0x04 == 0 || self.config[MSIX + 3] & 0x80 != 0
    }

    /// Posts completions on all the vectors that are raised.
    pub(super) fn complete(&mut self) {
        let enabled = self.bar0[0x14] & 1 != 0;
        if !self.like_spdk || !enabled || !self.interrupts() {
            return;
        }
        for vector in &self.raising {
            match self.events.get(vector) {
                Some(event) => drop(rustix::io::write(event, &1u64.to_ne_bytes()).unwrap()),
                None => self.fatal = true,
            }
        }
    }

    pub(super) fn table(&self, vector: usize, word: usize) -> u32 {
        let at = TABLE + 16 * vector + 4 * word;
        u32::from_le_bytes(self.bar0[at..at + 4].try_into().unwrap())
    }
}

/// An answer, before it is sent.
pub(super) struct Answer {
    pub(super) header: Header,
    pub(super) body: Vec<u8>,
    pub(super) fds: Vec<OwnedFd>,
    /// Bytes to send before closing, if only a part of the answer is sent.
    pub(super) cut: Option<usize>,
    /// Whether to close instead, or say nothing.
    pub(super) close: bool,
    pub(super) silent: bool,
    /// Pause before each byte, where the answer is sent one byte at a time.
    pub(super) drip: Option<Duration>,
}

pub(super) type Twist = Box<dyn FnMut(&mut Answer) + Send>;

/// A peer in a thread of its own, which ends with the connection.
pub(super) struct Peer {
    pub(super) inside: Arc<Mutex<Inside>>,
}

impl Peer {
    /// Starts a peer that answers, and connects to it.
    pub(super) fn open(
        inside: Inside,
        twist: impl FnMut(&mut Answer) + Send + 'static,
    ) -> (Peer, Result<VfioUserDevice, DeviceError>) {
        Peer::open_within(ANSWERED, inside, twist)
    }

    /// Starts a peer and connects to it; each of its answers is waited for as long as `timeout`.
    fn open_within(
        timeout: Duration,
        inside: Inside,
        twist: impl FnMut(&mut Answer) + Send + 'static,
    ) -> (Peer, Result<VfioUserDevice, DeviceError>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let inside = Arc::new(Mutex::new(inside));
        let shared = Arc::clone(&inside);
        std::thread::spawn(move || serve(&theirs, &shared, Box::new(twist)));
        let peer = Peer { inside };
        let link = Link::over("vfio-user:test", ours, timeout).unwrap();
        let device = VfioUserDevice::open("vfio-user:test".into(), link);
        (peer, device)
    }

    /// Makes a peer that follows the protocol.
    pub(super) fn honest(mapped: bool) -> (Peer, VfioUserDevice) {
        let (peer, device) = Peer::open(Inside::new(mapped), |_| {});
        (peer, device.unwrap())
    }

    /// Returns the error of opening a peer that changes its replies to `command`.
    pub(super) fn twisted(
        command: u16,
        twist: impl FnMut(&mut Answer) + Send + 'static,
    ) -> VfioUserError {
        Peer::twisted_within(ANSWERED, command, twist)
    }

    /// Returns the error of opening a peer that changes its replies to `command`, each of which is waited for as long
    /// as `timeout`.
    pub(super) fn twisted_within(
        timeout: Duration,
        command: u16,
        mut twist: impl FnMut(&mut Answer) + Send + 'static,
    ) -> VfioUserError {
        let twist = move |answer: &mut Answer| {
            if answer.header.command == command {
                twist(answer);
            }
        };
        let (_peer, device) = Peer::open_within(timeout, Inside::new(true), twist);
        match device.err() {
            Some(DeviceError::VfioUser(error)) => error,
            Some(error) => panic!("another error: {error}"),
            None => panic!("it opened"),
        }
    }
}

fn serve(stream: &UnixStream, inside: &Mutex<Inside>, mut twist: Twist) {
    while let Some((header, body, fds)) = receive(stream) {
        let mut answer = {
            let mut inside = inside.lock().unwrap();
            let answer = reply(&mut inside, &header, &body, fds);
            inside.complete();
            answer
        };
        twist(&mut answer);
        if answer.close {
            return;
        }
        if !answer.silent && !send(stream, &answer) {
            return;
        }
    }
}

fn receive(stream: &UnixStream) -> Option<(Header, Vec<u8>, Vec<OwnedFd>)> {
    let mut head = [0; Header::BYTES];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let mut parts = [IoSliceMut::new(&mut head)];
    let came = recvmsg(stream, &mut parts, &mut control, RecvFlags::empty()).ok()?;
    if came.bytes != head.len() {
        return None;
    }
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            fds.extend(some);
        }
    }
    let header = Header::read_from_bytes(&head).unwrap();
    let mut body = vec![0; header.size as usize - Header::BYTES];
    let mut stream = stream;
    stream.read_exact(&mut body).ok()?;
    Some((header, body, fds))
}

fn send(stream: &UnixStream, answer: &Answer) -> bool {
    let mut bytes = answer.header.as_bytes().to_vec();
    bytes.extend(&answer.body);
    bytes.truncate(answer.cut.unwrap_or(usize::MAX));
    let borrowed: Vec<_> = answer.fds.iter().map(AsFd::as_fd).collect();
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    if !borrowed.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&borrowed));
    }
    let pieces = bytes.chunks(if answer.drip.is_some() { 1 } else { usize::MAX });
    for piece in pieces {
        std::thread::sleep(answer.drip.unwrap_or_default());
        let parts = [IoSlice::new(piece)];
        if sendmsg(stream, &parts, &mut control, SendFlags::NOSIGNAL).is_err() {
            return false;
        }
        control.clear();
    }
    answer.cut.is_none()
}

fn reply(inside: &mut Inside, header: &Header, body: &[u8], fds: Vec<OwnedFd>) -> Answer {
    inside.seen.push(header.command);
    inside.max_fds = inside.max_fds.max(fds.len());
    let mut out = Vec::new();
    let mut with = Vec::new();
    let mut errno = 0;
    match header.command {
        command::VERSION => {
            out.extend(&body[..4]);
            out.extend(b"{\"capabilities\":{\"max_msg_fds\":2}}\0");
        }
        command::DMA_MAP => {
            let map = DmaMap::read_from_bytes(body).unwrap();
            let file = fds.into_iter().next().unwrap();
            inside.maps.insert(map.address, (map, file));
        }
        command::DMA_UNMAP => {
            let unmap = DmaUnmap::read_from_bytes(body).unwrap();
            let known = inside.maps.remove(&unmap.address);
            assert!(known.is_some_and(|(map, _)| map.size == unmap.size));
            out.extend(body);
        }
        command::DEVICE_GET_INFO => {
            let info = DeviceInfo {
                argsz: 16,
                flags: DeviceInfo::PCI | DeviceInfo::RESET,
                regions: pci::REGIONS,
                irqs: pci::IRQS,
            };
            out.extend(info.as_bytes());
        }
        command::DEVICE_GET_REGION_INFO => {
            (out, with) = region(inside, &RegionInfo::read_from_bytes(body).unwrap());
        }
        command::DEVICE_GET_IRQ_INFO => {
            let mut info = IrqInfo::read_from_bytes(body).unwrap();
            info.flags = IrqInfo::EVENTFD;
            info.count = ENTRIES.into();
            out.extend(info.as_bytes());
        }
        command::DEVICE_SET_IRQS => {
            let set = IrqSet::read_from_bytes(body).unwrap();
            if set.count == 0 {
                inside.events.clear();
            }
            let mut fds = fds.into_iter();
            for vector in set.start..set.start + set.count {
                match fds.next() {
                    Some(event) => inside.events.insert(vector, event),
                    None => inside.events.remove(&vector),
                };
            }
        }
        command::REGION_READ | command::REGION_WRITE => {
            let (access, data) = RegionAccess::read_from_prefix(body).unwrap();
            errno = access_region(inside, &access, data, &mut out);
        }
        _ => {}
    }
    let size = (Header::BYTES + out.len()) as u32;
    let failed = if errno == 0 { 0 } else { flags::ERROR };
    Answer {
        header: Header {
            size,
            flags: flags::REPLY | failed,
            error: errno,
            ..*header
        },
        body: out,
        fds: with,
        cut: None,
        close: false,
        silent: false,
        drip: None,
    }
}

fn region(inside: &Inside, request: &RegionInfo) -> (Vec<u8>, Vec<OwnedFd>) {
    let mut info = RegionInfo {
        argsz: 32,
        flags: RegionInfo::READ | RegionInfo::WRITE,
        index: request.index,
        capabilities: 0,
        size: BAR0 as u64,
        offset: 0,
    };
    let Some((_, file)) = inside.page.as_ref().filter(|_| request.index == 0) else {
        return (info.as_bytes().to_vec(), Vec::new());
    };
    info.argsz = 64;
    info.flags |= RegionInfo::MMAP | RegionInfo::CAPABILITIES;
    info.capabilities = 32;
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
    (parts.concat(), vec![file.try_clone().unwrap()])
}

fn access_region(
    inside: &mut Inside,
    access: &RegionAccess,
    data: &[u8],
    out: &mut Vec<u8>,
) -> u32 {
    let from = access.offset as usize;
    let to = from + access.count as usize;
    if inside.like_spdk && access.region == 0 && from >= TABLE {
        return libc::EINVAL as u32;
    }
    let bytes = match access.region {
        pci::CONFIG => &mut inside.config[from..to],
        _ => &mut inside.bar0[from..to],
    };
    out.extend(access.as_bytes());
    if data.is_empty() {
        out.extend(&*bytes);
    } else {
        bytes.copy_from_slice(data);
    }
    0
}
