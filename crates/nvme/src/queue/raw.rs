//! Raw commands: any I/O command that the caller has built, checked for fields that would break the driver or let the
//! device reach past a buffer.

use super::QueuePair;
use super::commands::DWORD;
use crate::{Namespace, Rejected, SubmitError};
use joulio_device::{Device, DmaBuffer};
use joulio_nvme_spec::command::Cdw0;
use joulio_nvme_spec::{Command, DsmRange, NvmOpcode};
use joulio_units::Direction;
use zerocopy::little_endian::U32;

/// First of the opcodes for vendors (NVM figure 22).
const VENDOR: u8 = 0x80;

/// Bytes of a registration or an acquisition: two keys (Base 7.5 and 7.6).
const TWO_KEYS: u64 = 16;
/// Bytes of a release: a key (Base 7.7).
const KEY: u64 = 8;

impl<D: Device> QueuePair<D> {
    /// Submits `command`, which moves no data of the caller's, to `namespace`. NSID is overwritten.
    ///
    /// # Errors
    /// The queue is full, or the namespace is another device's; the command moves data ([`SubmitError::Data`]) or has
    /// fields set that the driver sets ([`SubmitError::DriverFields`]).
    pub fn submit(
        &mut self,
        namespace: &Namespace,
        command: Command,
        tag: u64,
    ) -> Result<(), SubmitError> {
        match self.checked(namespace, &command)? {
            None => self.dataless(addressed(command, namespace), namespace, tag),
            Some(_) => Err(SubmitError::Data {
                opcode: command.dword0().opc(),
                moves: true,
            }),
        }
    }

    /// Submits `command` to `namespace` with `buffer`. The number of bytes that it moves follows from its own dwords:
    /// blocks (Read, Write, Compare, Zone Append), ranges (Dataset Management, Copy), keys (reservations), dwords
    /// (Zone Management Receive, Reservation Report, I/O Management), NDT of a vendor's command where the controller
    /// keeps to that format (ICSVSCC); [`QueuePair::submit_vendor`] takes the number for the others. NSID and the data
    /// pointer are set here.
    ///
    /// ```
    /// # use joulio_nvme::{Controller, ControllerOptions};
    /// # use joulio_nvme::spec::{Command, NvmOpcode};
    /// # use joulio_emulator::{EmulatedDevice, Options};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let profile = joulio_model::DeviceProfile::builtin("instant")?;
    /// # let device = EmulatedDevice::spawn(&Options::new(profile))?;
    /// # let controller = Controller::open(device, ControllerOptions::default())?;
    /// # let namespace = controller.namespace(1)?;
    /// # let mut queue = controller.create_queue_pair(1)?;
    /// let buffer = controller.allocate_buffers(1, 4096)?.remove(0);
    /// // A read with FUA: from the media, not from a cache.
    /// let read = Command::transfer(NvmOpcode::READ, namespace.id(), 0, 8).with_fua();
    /// queue.submit_with_data(&namespace, read, buffer, 0)?;
    /// queue.ring();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`QueuePair::submit`]; the buffer is another device's or too short, the command is longer
    /// than MDTS, or how much it moves is not known ([`SubmitError::UnknownLength`]).
    pub fn submit_with_data(
        &mut self,
        namespace: &Namespace,
        command: Command,
        buffer: impl Into<DmaBuffer>,
        tag: u64,
    ) -> Result<(), Rejected> {
        let buffer = buffer.into();
        let checked = self.checked_transfer(namespace, &command, self.room(&buffer));
        self.submit_checked(checked, addressed(command, namespace), buffer, tag)
    }

    /// Submits a vendor's `command` to `namespace`, which moves the first `len` bytes of `buffer`, a multiple of 4. The
    /// caller knows that from the vendor: if the command moves more, the device reaches past what is checked here.
    /// Where the controller keeps to the standard format (ICSVSCC), and NDT says more, NDT counts.
    ///
    /// ```
    /// # use joulio_nvme::{Controller, ControllerOptions};
    /// # use joulio_nvme::spec::{Command, NvmOpcode};
    /// # use joulio_emulator::{EmulatedDevice, Options};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let profile = joulio_model::DeviceProfile::builtin("instant")?;
    /// # let device = EmulatedDevice::spawn(&Options::new(profile))?;
    /// # let controller = Controller::open(device, ControllerOptions::default())?;
    /// # let namespace = controller.namespace(1)?;
    /// # let mut queue = controller.create_queue_pair(1)?;
    /// let buffer = controller.allocate_buffers(1, 4096)?.remove(0);
    /// let mut command = Command::nvm(NvmOpcode(0xc2), namespace.id());
    /// command.cdw10[2].set(7);
    /// queue.submit_vendor(&namespace, command, 512, buffer, 0)?;
    /// queue.ring();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`QueuePair::submit_with_data`]; the opcode is below 80h ([`SubmitError::NotVendor`]), or `len` is not a
    /// multiple of 4 ([`SubmitError::Alignment`]).
    pub fn submit_vendor(
        &mut self,
        namespace: &Namespace,
        command: Command,
        len: u32,
        buffer: impl Into<DmaBuffer>,
        tag: u64,
    ) -> Result<(), Rejected> {
        let buffer = buffer.into();
        let checked = self.checked_vendor(namespace, &command, len, self.room(&buffer));
        self.submit_checked(checked, addressed(command, namespace), buffer, tag)
    }

    /// Submits `command` with `buffer`, if it was `checked`: its direction and number of bytes.
    fn submit_checked(
        &mut self,
        checked: Result<(Direction, u32), SubmitError>,
        mut command: Command,
        buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), Rejected> {
        let (direction, bytes) = match checked {
            Ok(transfer) => transfer,
            Err(reason) => return Err(Rejected { reason, buffer }),
        };
        let start = buffer.iova();
        let cid = self.take_slot(buffer, tag)?;
        self.lists
            .describe(cid, start, bytes)
            .put_into(&mut command);
        self.issue(cid, command, (direction, bytes));
        Ok(())
    }

    /// Returns the number of bytes of a buffer; none if it is another device's.
    fn room(&self, buffer: &DmaBuffer) -> Option<u64> {
        (buffer.domain() == self.domain).then_some(buffer.len() as u64)
    }

    /// Returns the direction of a vendor's command and its number of bytes, as [`QueuePair::checked_transfer`]. `len`:
    /// the number that the caller gives.
    fn checked_vendor(
        &self,
        namespace: &Namespace,
        command: &Command,
        len: u32,
        room: Option<u64>,
    ) -> Result<(Direction, u32), SubmitError> {
        self.check_fields(namespace, command)?;
        let known = bytes(command, namespace.shift(), self.shared.has_vendor_format());
        let bytes = vendor_bytes(command, VENDOR, len, known)?;
        Ok((Direction::Other, self.fitting(bytes, room)?))
    }

    /// Returns the direction of a command and its number of bytes, once it fits into buffers of `room` bytes. A
    /// `room` of `None`: the buffers are another device's.
    pub(super) fn checked_transfer(
        &self,
        namespace: &Namespace,
        command: &Command,
        room: Option<u64>,
    ) -> Result<(Direction, u32), SubmitError> {
        let Some(bytes) = self.checked(namespace, command)? else {
            return Err(SubmitError::Data {
                opcode: command.dword0().opc(),
                moves: false,
            });
        };
        let bytes = self.fitting(bytes, room)?;
        let direction = match NvmOpcode(command.dword0().opc()) {
            NvmOpcode::READ => Direction::Read,
            NvmOpcode::WRITE | NvmOpcode::ZONE_APPEND => Direction::Write,
            _ => Direction::Other,
        };
        Ok((direction, bytes))
    }

    /// Returns `bytes` if one command may move so many, and buffers of `room` bytes hold them. A `room` of `None`: the
    /// buffers are another device's.
    fn fitting(&self, bytes: u64, room: Option<u64>) -> Result<u32, SubmitError> {
        let Some(room) = room else {
            return Err(SubmitError::Foreign);
        };
        let max = self.max_transfer;
        if bytes == 0 || bytes > u64::from(max) {
            return Err(SubmitError::Length { bytes, max });
        }
        if bytes > room {
            return Err(SubmitError::Buffer { bytes });
        }
        Ok(bytes as u32)
    }

    /// Returns the number of bytes that the command moves; none if it moves no data. Refuses fields that the driver
    /// sets.
    fn checked(
        &self,
        namespace: &Namespace,
        command: &Command,
    ) -> Result<Option<u64>, SubmitError> {
        self.check_fields(namespace, command)?;
        let opcode = command.dword0().opc();
        // Two bits of an opcode give the direction of its data (Base figure 87).
        if opcode & 0b11 == 0 || moves_nothing(command) {
            return Ok(None);
        }
        let vendor = self.shared.has_vendor_format();
        match bytes(command, namespace.shift(), vendor) {
            None => Err(SubmitError::UnknownLength { opcode }),
            bytes => Ok(bytes),
        }
    }

    /// Refuses another device's namespace, and fields that the driver sets.
    fn check_fields(&self, namespace: &Namespace, command: &Command) -> Result<(), SubmitError> {
        if namespace.controller != self.controller {
            return Err(SubmitError::Foreign);
        }
        let opcode = command.dword0().opc();
        let others = command.mptr.get() | command.prp1.get() | command.prp2.get();
        if command.dword0() != Cdw0::new().with_opc(opcode) || others != 0 {
            return Err(SubmitError::DriverFields { opcode });
        }
        Ok(())
    }
}

/// Returns the number of bytes that a vendor's command moves: `len`, which the caller gives, or those that are `known`
/// from its dwords, if they are more. `first`: first of the vendors' opcodes of this kind of queue.
pub(crate) fn vendor_bytes(
    command: &Command,
    first: u8,
    len: u32,
    known: Option<u64>,
) -> Result<u64, SubmitError> {
    let opcode = command.dword0().opc();
    if opcode < first {
        return Err(SubmitError::NotVendor { opcode, first });
    }
    if opcode & 0b11 == 0 {
        let moves = false;
        return Err(SubmitError::Data { opcode, moves });
    }
    if !(len as usize).is_multiple_of(DWORD) {
        return Err(SubmitError::Alignment);
    }
    Ok(known.unwrap_or(0).max(len.into()))
}

/// The command with its namespace.
pub(super) fn addressed(mut command: Command, namespace: &Namespace) -> Command {
    command.nsid = U32::new(namespace.id().0);
    command
}

/// Zone Send Action 10h: Set Zone Descriptor Extension, the only one with data (Zoned Namespaces 1.1,
/// 3.4.3).
const SET_ZONE_DESCRIPTOR: u32 = 0x10;

/// Returns whether a command moves no data though its opcode says that it may.
fn moves_nothing(command: &Command) -> bool {
    let action = command.cdw10[3].get() & 0xff;
    NvmOpcode(command.dword0().opc()) == NvmOpcode::ZONE_MANAGEMENT_SEND
        && action != SET_ZONE_DESCRIPTOR
}

/// Returns the number of bytes that a command moves, from its dwords, on a namespace with blocks of 2^`shift` bytes;
/// none where they do not say. `vendor`: vendor's commands have NDT in dword 10 (Base figure 92).
fn bytes(command: &Command, shift: u8, vendor: bool) -> Option<u64> {
    let dword = |number: usize| u64::from(command.cdw10[number - 10].get());
    let blocks = ((dword(12) & 0xffff) + 1) << shift;
    let dwords = |zeroes_based: u64| (zeroes_based + 1) * 4;
    let bytes = match NvmOpcode(command.dword0().opc()) {
        NvmOpcode::READ | NvmOpcode::WRITE | NvmOpcode::COMPARE | NvmOpcode::ZONE_APPEND => blocks,
        NvmOpcode::DATASET_MANAGEMENT => ((dword(10) & 0xff) + 1) * size_of::<DsmRange>() as u64,
        NvmOpcode::RESERVATION_REGISTER | NvmOpcode::RESERVATION_ACQUIRE => TWO_KEYS,
        NvmOpcode::RESERVATION_RELEASE => KEY,
        NvmOpcode::RESERVATION_REPORT => dwords(dword(10)),
        NvmOpcode::IO_MANAGEMENT_RECEIVE => dwords(dword(11)),
        NvmOpcode::ZONE_MANAGEMENT_RECEIVE => dwords(dword(12)),
        // MO 1: MOS gives the number of placement identifiers, two bytes each.
        NvmOpcode::IO_MANAGEMENT_SEND if dword(10) & 0xff == 1 => ((dword(10) >> 16) + 1) * 2,
        // NVM 1.1: descriptors of 40 bytes in formats 1h and 3h, of 32 in 0h and 2h.
        NvmOpcode::COPY => {
            let each = match (dword(12) >> 8) & 0xf {
                0 | 2 => 32,
                1 | 3 => 40,
                _ => return None,
            };
            ((dword(12) & 0xff) + 1) * each
        }
        NvmOpcode(VENDOR..) if vendor => dword(10) * 4,
        _ => return None,
    };
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_nvme_spec::NamespaceId;

    fn command(opcode: NvmOpcode, dwords: [u32; 6]) -> Command {
        Command {
            cdw10: dwords.map(U32::new),
            ..Command::nvm(opcode, NamespaceId(1))
        }
    }

    #[test]
    fn each_command_tells_its_bytes() {
        let table = [
            (NvmOpcode::READ, [0, 0, 7, 0, 0, 0], Some(8 * 512)),
            // Force Unit Access and the like are in the same dword as the number of blocks.
            (NvmOpcode::WRITE, [0, 0, 0x4000_0000, 0, 0, 0], Some(512)),
            (NvmOpcode::ZONE_APPEND, [0, 0, 1, 0, 0, 0], Some(2 * 512)),
            (
                NvmOpcode::DATASET_MANAGEMENT,
                [255, 4, 0, 0, 0, 0],
                Some(4096),
            ),
            (NvmOpcode::COPY, [0, 0, 0x0001, 0, 0, 0], Some(64)),
            (NvmOpcode::COPY, [0, 0, 0x0101, 0, 0, 0], Some(80)),
            (NvmOpcode::COPY, [0, 0, 0x0401, 0, 0, 0], None),
            (
                NvmOpcode::RESERVATION_REPORT,
                [1023, 0, 0, 0, 0, 0],
                Some(4096),
            ),
            (
                NvmOpcode::ZONE_MANAGEMENT_RECEIVE,
                [0, 0, 1023, 0, 0, 0],
                Some(4096),
            ),
            (
                NvmOpcode::ZONE_MANAGEMENT_RECEIVE,
                [0, 0, u32::MAX, 0, 0, 0],
                Some(1 << 34),
            ),
            (
                NvmOpcode::IO_MANAGEMENT_SEND,
                [0x0003_0001, 0, 0, 0, 0, 0],
                Some(8),
            ),
            (NvmOpcode::ZONE_MANAGEMENT_SEND, [0, 0, 0, 4, 0, 0], None),
            (NvmOpcode(0x29), [0; 6], None),
        ];
        for (opcode, dwords, expected) in table {
            let command = command(opcode, dwords);
            assert_eq!(
                bytes(&command, 9, false),
                expected,
                "{opcode:?} {dwords:x?}"
            );
        }
        assert!(moves_nothing(&command(
            NvmOpcode::ZONE_MANAGEMENT_SEND,
            [0, 0, 0, 4, 0, 0]
        )));
        assert!(!moves_nothing(&command(
            NvmOpcode::ZONE_MANAGEMENT_SEND,
            [0, 0, 0, 0x10, 0, 0]
        )));
    }

    #[test]
    fn a_vendor_command_tells_only_where_the_controller_keeps_to_the_format() {
        let vendor = command(NvmOpcode(0xc2), [16, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(&vendor, 9, true), Some(64));
        assert_eq!(bytes(&vendor, 9, false), None);
    }
}
