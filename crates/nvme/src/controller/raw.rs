//! Raw admin commands: any that the caller has built, checked for fields that would break the driver or let the
//! device reach past a buffer.

use super::Controller;
use crate::queue::raw::vendor_bytes;
use crate::{AdminRejected, NvmeError, SubmitError};
use joulio_device::{AdminData, Device, DmaBuffer};
use joulio_nvme_spec::command::Cdw0;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::{AdminOpcode, Command, PAGE_SIZE, Status};

/// Name of a raw command in errors.
const NAME: &str = "admin command";

/// First of the opcodes for vendors (Base figure 138).
const VENDOR: u8 = 0xc0;

/// A completed admin command.
pub struct AdminCompleted {
    /// Status of the completion.
    pub status: Status,
    /// Dword 0 of the completion, specific to the command.
    pub dw0: u32,
    /// Dword 1 of the completion, specific to the command.
    pub dw1: u32,
    /// Buffer of the command, which is the caller's again.
    pub buffer: Option<DmaBuffer>,
}

impl<D: Device> Controller<D> {
    /// Executes `command`, which moves no data of the caller's, on the admin queue, and waits for its completion.
    /// After a reset the driver does not repeat its effect, except for features.
    ///
    /// # Errors
    /// [`NvmeError::Submit`]: the command moves data, has fields set that are the driver's, or is one that the driver
    /// keeps to itself ([`SubmitError::DriverCommand`]). Otherwise as [`Controller::feature`], except that an error
    /// status is no error here.
    pub fn submit_admin(&self, command: Command) -> Result<AdminCompleted, NvmeError> {
        self.check_admin(&command)?;
        let opcode = command.dword0().opc();
        // Features go both ways: with data or without.
        let feature = AdminOpcode(opcode) == AdminOpcode::SET_FEATURES
            || AdminOpcode(opcode) == AdminOpcode::GET_FEATURES;
        if opcode & 0b11 != 0 && !feature {
            return Err(SubmitError::Data {
                opcode,
                moves: true,
            }
            .into());
        }
        if feature {
            self.without_data(FeatureId(command.cdw10[0].get() as u8))?;
        }
        ended(self.shared.run(NAME, command), None).map_err(|rejected| rejected.reason)
    }

    /// Executes `command` on the admin queue with `buffer`. The number of bytes that it moves follows from its own
    /// dwords: a log page (NUMD), a page (Identify, features), a part of an image, a security protocol's transfer
    /// length, NDT of a vendor's command where the controller keeps to that format (AVSCC);
    /// [`Controller::submit_admin_vendor`] takes the number for the others.
    ///
    /// ```
    /// # use joulio_nvme::{Controller, ControllerOptions};
    /// # use joulio_nvme::spec::{Command, NamespaceId, log::LogId};
    /// # use joulio_emulator::{EmulatedDevice, Options};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let profile = joulio_model::DeviceProfile::builtin("instant")?;
    /// # let device = EmulatedDevice::spawn(&Options::new(profile))?;
    /// # let controller = Controller::open(device, ControllerOptions::default())?;
    /// let buffer = controller.allocate_buffers(1, 512)?.remove(0);
    /// let smart = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, 512);
    /// let done = controller.submit_admin_with_data(smart, buffer)?;
    /// assert!(done.status.is_success() && done.buffer.is_some());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Controller::submit_admin`]; the buffer is another device's or too short, the command is longer than
    /// a transfer may be, or how much it moves is not known.
    pub fn submit_admin_with_data(
        &self,
        command: Command,
        buffer: impl Into<DmaBuffer>,
    ) -> Result<AdminCompleted, AdminRejected> {
        let buffer = buffer.into();
        self.run_checked(self.check_admin_data(&command, &buffer), command, buffer)
    }

    /// Executes a vendor's `command` on the admin queue, which moves the first `len` bytes of `buffer`: whole dwords.
    /// The caller knows that from the vendor: if the command moves more, the device reaches past what is checked here.
    /// Where the controller keeps to the standard format (AVSCC), and NDT says more, NDT counts.
    ///
    /// # Errors
    /// As [`Controller::submit_admin_with_data`]; the opcode is below C0h ([`SubmitError::NotVendor`]), or `len` is not
    /// a multiple of 4 ([`SubmitError::Alignment`]).
    pub fn submit_admin_vendor(
        &self,
        command: Command,
        len: u32,
        buffer: impl Into<DmaBuffer>,
    ) -> Result<AdminCompleted, AdminRejected> {
        let buffer = buffer.into();
        self.run_checked(
            self.check_admin_vendor(&command, len, &buffer),
            command,
            buffer,
        )
    }

    /// Executes `command` with `buffer`, if it was `checked`: its number of bytes.
    fn run_checked(
        &self,
        checked: Result<u32, SubmitError>,
        command: Command,
        buffer: DmaBuffer,
    ) -> Result<AdminCompleted, AdminRejected> {
        match checked {
            Ok(bytes) => {
                let (result, buffer) = self.shared.run_with(NAME, command, buffer, bytes);
                ended(result, buffer)
            }
            Err(error) => Err(AdminRejected {
                reason: error.into(),
                buffer: Some(buffer),
            }),
        }
    }

    /// Refuses fields that the driver sets, and commands that it sends itself.
    pub(super) fn check_admin(&self, command: &Command) -> Result<(), SubmitError> {
        let opcode = command.dword0().opc();
        let others = command.mptr.get() | command.prp1.get() | command.prp2.get();
        if command.dword0() != Cdw0::new().with_opc(opcode) || others != 0 {
            return Err(SubmitError::DriverFields { opcode });
        }
        match refusal(command) {
            Some(why) => Err(SubmitError::DriverCommand { opcode, why }),
            None => Ok(()),
        }
    }

    /// Refuses a command that moves other data than `data`, or more than the driver's page has room for.
    pub(super) fn check_page(
        &self,
        command: &Command,
        data: &AdminData<'_>,
    ) -> Result<(), NvmeError> {
        self.check_admin(command)?;
        let opcode = command.dword0().opc();
        let moves = opcode & 0b11 != 0;
        match (data, AdminOpcode(opcode)) {
            // Data that nobody wants goes to the driver's page.
            (AdminData::None, AdminOpcode::GET_FEATURES) => return Ok(()),
            (AdminData::None, AdminOpcode::SET_FEATURES) => {
                return self.without_data(FeatureId(command.cdw10[0].get() as u8));
            }
            (AdminData::None, _) if !moves => return Ok(()),
            (AdminData::None, _) => return Err(SubmitError::Data { opcode, moves }.into()),
            _ if !moves => return Err(SubmitError::Data { opcode, moves }.into()),
            _ => {}
        }
        self.bytes(command, PAGE_SIZE as u32)?;
        Ok(())
    }

    /// Returns the number of bytes that a command moves; refuses one that moves none or more than `max`, or of which
    /// that is not known.
    fn bytes(&self, command: &Command, max: u32) -> Result<u32, SubmitError> {
        let opcode = command.dword0().opc();
        let vendor = self.shared.has_vendor_admin_format();
        let bytes = bytes(command, vendor).ok_or(SubmitError::UnknownLength { opcode })?;
        in_range(bytes, max)
    }

    /// Returns the number of bytes that a command moves, after checking the command and its buffer.
    fn check_admin_data(&self, command: &Command, buffer: &DmaBuffer) -> Result<u32, SubmitError> {
        self.check_admin(command)?;
        self.check_buffer(command, buffer)?;
        held(self.bytes(command, self.max_transfer())?, buffer)
    }

    /// Returns the number of bytes that a vendor's command moves, after checking the command and its buffer. `len`: the
    /// number that the caller gives.
    fn check_admin_vendor(
        &self,
        command: &Command,
        len: u32,
        buffer: &DmaBuffer,
    ) -> Result<u32, SubmitError> {
        self.check_admin(command)?;
        let known = bytes(command, self.shared.has_vendor_admin_format());
        let bytes = vendor_bytes(command, VENDOR, len, known)?;
        self.check_buffer(command, buffer)?;
        held(in_range(bytes, self.max_transfer())?, buffer)
    }

    /// Refuses a command that moves no data, and another device's buffer.
    fn check_buffer(&self, command: &Command, buffer: &DmaBuffer) -> Result<(), SubmitError> {
        let opcode = command.dword0().opc();
        if opcode & 0b11 == 0 {
            return Err(SubmitError::Data {
                opcode,
                moves: false,
            });
        }
        if buffer.domain() != self.shared.admin().memory().domain() {
            return Err(SubmitError::Foreign);
        }
        Ok(())
    }
}

/// Returns `bytes` if a command may move so many, at least 1 and at most `max`.
fn in_range(bytes: u64, max: u32) -> Result<u32, SubmitError> {
    match u32::try_from(bytes) {
        Ok(bytes) if bytes > 0 && bytes <= max => Ok(bytes),
        _ => Err(SubmitError::Length { bytes, max }),
    }
}

/// Returns `bytes` if `buffer` holds so many.
fn held(bytes: u32, buffer: &DmaBuffer) -> Result<u32, SubmitError> {
    match bytes as usize <= buffer.len() {
        true => Ok(bytes),
        false => Err(SubmitError::Buffer {
            bytes: bytes.into(),
        }),
    }
}

/// Returns the result of a command that completed, whatever its status, or the error of one that failed.
fn ended(
    result: Result<u64, NvmeError>,
    buffer: Option<DmaBuffer>,
) -> Result<AdminCompleted, AdminRejected> {
    let (status, result) = match result {
        Ok(result) => (Status::SUCCESS, result),
        Err(NvmeError::Admin { status, .. }) => (status, 0),
        Err(reason) => return Err(AdminRejected { reason, buffer }),
    };
    Ok(AdminCompleted {
        status,
        dw0: result as u32,
        dw1: (result >> 32) as u32,
        buffer,
    })
}

/// Returns the reason why only the driver may send a command, if there is one.
fn refusal(command: &Command) -> Option<&'static str> {
    /// Features 0Fh and 19h.
    const KEEP_ALIVE_TIMER: FeatureId = FeatureId(0x0f);
    const COMMAND_SET_PROFILE: FeatureId = FeatureId(0x19);
    match AdminOpcode(command.dword0().opc()) {
        AdminOpcode::CREATE_IO_SUBMISSION_QUEUE
        | AdminOpcode::CREATE_IO_COMPLETION_QUEUE
        | AdminOpcode::DELETE_IO_SUBMISSION_QUEUE
        | AdminOpcode::DELETE_IO_COMPLETION_QUEUE => {
            Some("the driver makes its queues: create_queue_pair")
        }
        AdminOpcode::ABORT => Some("identifiers are the driver's, which aborts by itself"),
        AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST => Some("the driver has it outstanding already"),
        AdminOpcode::DOORBELL_BUFFER_CONFIG => Some("doorbells are the driver's"),
        AdminOpcode::VIRTUALIZATION_MANAGEMENT => {
            Some("it would take queues and vectors that the driver has")
        }
        AdminOpcode::FORMAT_NVM
        | AdminOpcode::SANITIZE
        | AdminOpcode::NAMESPACE_MANAGEMENT
        | AdminOpcode::CAPACITY_MANAGEMENT => {
            Some("it destroys data: use nvme-cli, with the kernel's driver")
        }
        AdminOpcode::SET_FEATURES => match FeatureId(command.cdw10[0].get() as u8) {
            FeatureId::NUMBER_OF_QUEUES => Some("the driver has agreed on the number of queues"),
            FeatureId::HOST_MEMORY_BUFFER => {
                Some("the driver lends the memory: ControllerOptions::host_memory_max")
            }
            KEEP_ALIVE_TIMER => Some("the driver sends no Keep Alive"),
            COMMAND_SET_PROFILE => Some("it would change the command sets that the driver has"),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the number of bytes that a command moves, from its dwords; none where they do not say. `vendor`: vendor's
/// commands have NDT in dword 10 (Base figure 92).
fn bytes(command: &Command, vendor: bool) -> Option<u64> {
    let dword = |number: usize| u64::from(command.cdw10[number - 10].get());
    let dwords = |zeroes_based: u64| (zeroes_based + 1) * 4;
    let bytes = match AdminOpcode(command.dword0().opc()) {
        AdminOpcode::GET_LOG_PAGE => dwords((dword(11) & 0xffff) << 16 | dword(10) >> 16),
        // A feature has no more data than that.
        AdminOpcode::IDENTIFY | AdminOpcode::GET_FEATURES | AdminOpcode::SET_FEATURES => {
            PAGE_SIZE as u64
        }
        AdminOpcode::NAMESPACE_ATTACHMENT => PAGE_SIZE as u64,
        AdminOpcode::FIRMWARE_IMAGE_DOWNLOAD
        | AdminOpcode::DIRECTIVE_SEND
        | AdminOpcode::DIRECTIVE_RECEIVE => dwords(dword(10)),
        AdminOpcode::SECURITY_SEND | AdminOpcode::SECURITY_RECEIVE => dword(11),
        AdminOpcode(VENDOR..) if vendor => dword(10) * 4,
        _ => return None,
    };
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::little_endian::U32;

    #[test]
    fn each_command_tells_its_bytes() {
        let table = [
            (AdminOpcode::GET_LOG_PAGE, [127 << 16 | 2, 0], Some(512)),
            (AdminOpcode::GET_LOG_PAGE, [0xffff << 16, 1], Some(1 << 19)),
            (AdminOpcode::IDENTIFY, [1, 0], Some(4096)),
            (AdminOpcode::FIRMWARE_IMAGE_DOWNLOAD, [1023, 0], Some(4096)),
            (AdminOpcode::SECURITY_RECEIVE, [0, 100], Some(100)),
            (AdminOpcode(0xc1), [16, 0], Some(64)),
            (AdminOpcode(0x1d), [16, 0], None),
        ];
        for (opcode, [dword10, dword11], expected) in table {
            let mut command = Command::admin(opcode);
            command.cdw10[0] = U32::new(dword10);
            command.cdw10[1] = U32::new(dword11);
            assert_eq!(bytes(&command, true), expected, "{opcode:?}");
        }
        assert_eq!(bytes(&Command::admin(AdminOpcode(0xc1)), false), None);
    }
}
