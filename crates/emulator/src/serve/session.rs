//! The session of one host: its messages and the replies.
//!
//! Every number in a message is checked here or where it is used. A command that cannot be executed is answered with an
//! errno, and has no effect.

use super::config::{self, ConfigSpace, Written};
use super::connection::Message;
use super::irqs;
use super::layout::{DOORBELL_BYTES, DOORBELLS, Layout, Place};
use super::options::ServeOptions;
use super::regions::Regions;
use super::version;
use crate::bell::Side;
use crate::controller::EmulatedController;
use crate::shared::Shared;
use joulio_device::Signaller;
use joulio_vfio_user_wire::{
    CapabilityHeader, DeviceInfo, DmaMap, DmaUnmap, Header, IrqInfo, IrqSet, MAX_DATA,
    RegionAccess, RegionInfo, SparseArea, SparseHeader, command, flags, pci,
};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Content of a reply: the body, and a descriptor with it.
type Answer = Result<(Vec<u8>, Option<OwnedFd>), Errno>;

/// A host, from its first message to its last.
pub(super) struct Session {
    shared: Arc<Shared>,
    /// The signaller of the host's eventfds.
    signaller: Arc<Signaller>,
    options: ServeOptions,
    layout: Layout,
    config: ConfigSpace,
    regions: Regions,
    /// The page of doorbells, if it can be mapped.
    doorbells: Option<OwnedFd>,
    /// Whether the version is negotiated.
    settled: bool,
}

/// A reply.
pub(super) struct Reply {
    pub(super) bytes: Vec<u8>,
    pub(super) fd: Option<OwnedFd>,
    /// Whether the reply says that the command failed.
    pub(super) failed: bool,
}

impl Session {
    /// Makes the session of a host that has just connected; `doorbells` is the page that it may map.
    pub(super) fn new(
        shared: &Arc<Shared>,
        signaller: &Arc<Signaller>,
        options: &ServeOptions,
        doorbells: Option<OwnedFd>,
    ) -> Session {
        let layout = Layout::new(shared.vectors);
        Session {
            shared: Arc::clone(shared),
            signaller: Arc::clone(signaller),
            options: *options,
            config: ConfigSpace::new(&layout),
            layout,
            regions: Regions::new(options),
            doorbells,
            settled: false,
        }
    }

    /// Whether the version is negotiated.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Executes a message's request and returns the reply, if the message wants one.
    pub(super) fn handle(&mut self, message: Message) -> Reply {
        let header = message.header;
        let answer = self.answer(message);
        let silent = header.flags & flags::NO_REPLY != 0;
        let failed = answer.is_err();
        if silent {
            let (bytes, fd) = (Vec::new(), None);
            return Reply { bytes, fd, failed };
        }
        match answer {
            Ok((body, fd)) => Reply {
                bytes: reply(&header, &body),
                fd,
                failed,
            },
            Err(error) => Reply {
                bytes: refusal(&header, error),
                fd: None,
                failed,
            },
        }
    }

    fn answer(&mut self, message: Message) -> Answer {
        let Message { header, body, fds } = message;
        let is_command = header.flags & !flags::NO_REPLY == 0;
        let is_version = header.command == command::VERSION;
        // The version comes first, and only once.
        if !is_command || is_version == self.settled {
            return Err(Errno::INVAL);
        }
        match header.command {
            command::VERSION => {
                let reply = version::negotiate(&body, &self.options)?;
                self.settled = true;
                Ok((reply, None))
            }
            command::DMA_MAP => {
                self.regions
                    .map(&self.shared, &read::<DmaMap>(&body)?, fds)?;
                Ok((Vec::new(), None))
            }
            command::DMA_UNMAP => {
                let requested = read::<DmaUnmap>(&body)?;
                self.regions.unmap(&self.shared, &requested)?;
                Ok((requested.as_bytes().to_vec(), None))
            }
            command::DEVICE_GET_INFO => {
                read::<u32>(&body)?;
                let info = DeviceInfo {
                    argsz: DeviceInfo::BYTES as u32,
                    flags: DeviceInfo::PCI | DeviceInfo::RESET,
                    regions: pci::REGIONS,
                    irqs: pci::IRQS,
                };
                Ok((info.as_bytes().to_vec(), None))
            }
            command::DEVICE_GET_REGION_INFO => self.region_info(&read(&body)?),
            command::DEVICE_GET_IRQ_INFO => {
                let requested = read::<IrqInfo>(&body)?;
                let info = irqs::info(requested.index, self.shared.vectors)?;
                Ok((info.as_bytes().to_vec(), None))
            }
            command::DEVICE_SET_IRQS => {
                let requested = read::<IrqSet>(&body)?;
                let data = &body[IrqSet::BYTES..];
                irqs::set(&self.shared, &self.signaller, &requested, data, fds)?;
                Ok((Vec::new(), None))
            }
            command::REGION_READ => self.read_region(&read(&body)?),
            command::REGION_WRITE => {
                let requested = read::<RegionAccess>(&body)?;
                self.write_region(&requested, &body[RegionAccess::BYTES..])?;
                Ok((requested.as_bytes().to_vec(), None))
            }
            command::DEVICE_RESET if self.shared.controller_first().ignores_function_reset() => {
                Err(Errno::IO)
            }
            command::DEVICE_RESET => {
                self.reset();
                Ok((Vec::new(), None))
            }
            _ => Err(Errno::NOTSUP),
        }
    }

    fn size(&self, region: u32) -> Result<u64, Errno> {
        match region {
            pci::BAR0 => Ok(self.layout.size()),
            pci::CONFIG => Ok(config::SIZE as u64),
            other if other < pci::REGIONS => Ok(0),
            _ => Err(Errno::INVAL),
        }
    }

    fn region_info(&self, requested: &RegionInfo) -> Answer {
        let size = self.size(requested.index)?;
        let mut info = RegionInfo {
            argsz: RegionInfo::BYTES as u32,
            index: requested.index,
            size,
            ..RegionInfo::default()
        };
        if size > 0 {
            info.flags = RegionInfo::READ | RegionInfo::WRITE;
        }
        let (true, Some(file)) = (requested.index == pci::BAR0, &self.doorbells) else {
            return Ok((info.as_bytes().to_vec(), None));
        };
        let areas = [
            CapabilityHeader {
                id: CapabilityHeader::SPARSE_MMAP,
                version: 1,
                next: 0,
            }
            .as_bytes(),
            SparseHeader {
                areas: 1,
                reserved: 0,
            }
            .as_bytes(),
            SparseArea {
                offset: DOORBELLS,
                size: DOORBELL_BYTES,
            }
            .as_bytes(),
        ]
        .concat();
        info.flags |= RegionInfo::MMAP | RegionInfo::CAPABILITIES;
        info.argsz += areas.len() as u32;
        // Also without room for them: QEMU refuses the flag without the offset.
        info.capabilities = RegionInfo::BYTES as u32;
        let has_room = requested.argsz >= info.argsz;
        if !has_room {
            return Ok((info.as_bytes().to_vec(), None));
        }
        let file = file.try_clone().map_err(|_| Errno::MFILE)?;
        Ok(([info.as_bytes(), &areas].concat(), Some(file)))
    }

    /// Checks that an access is inside its region.
    fn check(&self, requested: &RegionAccess) -> Result<(), Errno> {
        let size = self.size(requested.region)?;
        let end = requested.offset.checked_add(u64::from(requested.count));
        let inside = end.is_some_and(|end| end <= size) && requested.count as usize <= MAX_DATA;
        if inside { Ok(()) } else { Err(Errno::INVAL) }
    }

    fn read_region(&self, requested: &RegionAccess) -> Answer {
        self.check(requested)?;
        let mut data = vec![0; requested.count as usize];
        if self.shared.controller_first().is_removed() {
            // No device answers, which the host reads as ones.
            data.fill(0xff);
        } else if requested.region == pci::CONFIG {
            self.config.read(requested.offset as usize, &mut data);
        } else {
            self.read_bar(requested.offset, &mut data);
        }
        Ok(([requested.as_bytes(), &data].concat(), None))
    }

    /// Reads bytes of BAR 0. Reading registers has no side effects, so that any of their bytes may be read.
    fn read_bar(&self, offset: u64, data: &mut [u8]) {
        let controller = self.shared.controller_first();
        for (at, byte) in (offset..).zip(data) {
            let dword = self.read_dword(&controller, at & !3);
            *byte = dword.to_le_bytes()[(at & 3) as usize];
        }
    }

    fn read_dword(&self, controller: &EmulatedController, offset: u64) -> u32 {
        match self.layout.place(offset) {
            Place::Register(offset) => controller.read32(offset),
            Place::Table(index) => controller.read_table(index),
            Place::Pending(index) => controller.read_pending(index),
            Place::Doorbell(_) | Place::Hole => 0,
        }
    }

    fn write_region(&mut self, requested: &RegionAccess, data: &[u8]) -> Result<(), Errno> {
        self.check(requested)?;
        let data = data.get(..requested.count as usize).ok_or(Errno::INVAL)?;
        if requested.region == pci::CONFIG {
            let written = self.config.write(requested.offset as usize, data);
            if written == Written::Reset && !self.shared.controller_first().ignores_function_reset()
            {
                self.reset();
            }
            return Ok(());
        }
        // Whole dwords: smaller writes to registers are undefined (PCIe 3.1).
        if !requested.offset.is_multiple_of(4) || !data.len().is_multiple_of(4) {
            return Err(Errno::INVAL);
        }
        let mut wake = None;
        for (at, word) in (requested.offset..).step_by(4).zip(data.chunks_exact(4)) {
            let value = word.try_into().map_or(0, u32::from_le_bytes);
            if let Some(side) = self.write_dword(at, value) {
                wake = Some(side);
            }
        }
        if let Some(side) = wake {
            self.shared.bell.wake(side);
        }
        Ok(())
    }

    /// Writes a dword; returns which side's doorbells the device's thread is to poll.
    fn write_dword(&self, offset: u64, value: u32) -> Option<Side> {
        match self.layout.place(offset) {
            Place::Register(offset) => {
                let write = |controller: &mut EmulatedController| controller.write32(offset, value);
                self.shared.write_registers(write);
                Some(Side::Tail)
            }
            Place::Doorbell(offset) => self.ring(offset, value),
            Place::Table(index) => {
                self.shared.controller_first().write_table(index, value);
                None
            }
            Place::Pending(_) | Place::Hole => None,
        }
    }

    fn ring(&self, offset: u32, value: u32) -> Option<Side> {
        let doorbells = if self.doorbells.is_some() {
            self.shared.controller_first().doorbells()
        } else {
            // Registers in this process are not mapped.
            Arc::clone(&self.shared.doorbells)
        };
        let (qid, side) = doorbells.decode(offset)?;
        match doorbells.line(qid) {
            Some(line) => self.shared.bell.ring(line, side, value).then_some(side),
            None => {
                doorbells.store(qid, side, value);
                Some(side)
            }
        }
    }

    /// Executes DEVICE_RESET, or a function-level reset by configuration space.
    fn reset(&mut self) {
        self.config = ConfigSpace::new(&self.layout);
        self.shared.controller_now().reset_function();
        self.shared.bell.wake(Side::Tail);
    }
}

impl Drop for Session {
    /// Undoes everything that the host left: the controller is as new, and has no memory mapped.
    fn drop(&mut self) {
        self.shared.controller_now().detach();
        self.shared.bell.wake(Side::Tail);
    }
}

/// Reads the structure that a body begins with.
fn read<T: FromBytes + KnownLayout + Immutable>(body: &[u8]) -> Result<T, Errno> {
    let read = T::read_from_prefix(body);
    read.map(|(value, _)| value).map_err(|_| Errno::INVAL)
}

fn reply(to: &Header, body: &[u8]) -> Vec<u8> {
    let header = Header {
        size: (Header::BYTES + body.len()) as u32,
        flags: flags::REPLY,
        error: 0,
        ..*to
    };
    [header.as_bytes(), body].concat()
}

/// Makes a reply with an error.
pub(super) fn refusal(to: &Header, error: Errno) -> Vec<u8> {
    let header = Header {
        size: Header::BYTES as u32,
        flags: flags::REPLY | flags::ERROR,
        error: error.raw_os_error().cast_unsigned(),
        ..*to
    };
    header.as_bytes().to_vec()
}
