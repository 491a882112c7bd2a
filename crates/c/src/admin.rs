//! Raw admin commands.

use crate::buffer_handle::joulio_buffer;
use crate::commands::command_at;
use crate::controller::joulio_controller;
use crate::error::{Failure, guarded};
use crate::handle;
use joulio_nvme::{AdminData, NvmeError, SubmitError};
use joulio_nvme_spec::command::Cdw0;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::{AdminOpcode, Command, PAGE_SIZE};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// Name of the commands in errors.
const NAME: &str = "admin command";

/// Runs any admin command and waits for its end: `command` points to its 64 bytes with CID, FUSE, PSDT,
/// MPTR and both PRPs zero. `data`, at most 4096 bytes, is read or written as the opcode says; NULL with
/// `length` 0: the command moves none. Dword 0 of the completion is written to `*result` unless that is
/// NULL. 0, or a negative errno: -EPERM: the command may change the device, which was opened without
/// JOULIO_ALLOW_WRITE, or is the driver's own (queues, events) or never sent (Format, Sanitize); -EINVAL: it
/// moves another number of bytes than `length`, or how many is not known, as of a vendor's command unless the
/// controller has the standard format (AVSCC); -EIO: the device refused it or did not answer, joulio_error() says what.
///
/// # Safety
/// `controller` is NULL or a controller, `command` is NULL or points to 64 bytes, `data` has `length`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_admin(
    controller: *mut joulio_controller,
    command: *const u8,
    data: *mut c_void,
    length: usize,
    result: *mut u32,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        // SAFETY: by the caller.
        let command = unsafe { command_at(command) }?;
        if data.is_null() && length != 0 {
            return Err(Failure::null("data"));
        }
        check(&command, length, controller.may_write())?;
        let moves = match length {
            0 => Moves::Nothing,
            _ => Moves::of(command.dword0().opc()),
        };
        // The data is copied through a page of the driver's.
        let mut page = [0; PAGE_SIZE];
        let bytes = &mut page[..length];
        let moved = match moves {
            Moves::Nothing => AdminData::None,
            Moves::In => AdminData::In(bytes),
            Moves::Out => {
                // SAFETY: by the caller; `page` is ours.
                unsafe { data.cast::<u8>().copy_to(bytes.as_mut_ptr(), length) };
                AdminData::Out(bytes)
            }
        };
        let control = controller.opened().control();
        let dword0 = control.admin(NAME, command, moved).map_err(not_run)?;
        if let Moves::In = moves {
            // SAFETY: as above.
            unsafe { data.cast::<u8>().copy_from(page.as_ptr(), length) };
        }
        if !result.is_null() {
            // SAFETY: by the caller.
            unsafe { result.write(dword0) };
        }
        Ok(0)
    })
}

/// Runs an admin command as joulio_admin() does, with `buffer` for its data: for more than 4096 bytes, up to the
/// `max_transfer` of joulio_namespace_info(). The command's own dwords tell how many bytes it moves, and the buffer has
/// at least as many (4096 for a feature). The buffer is the caller's again when this returns, except that after
/// -EIO the device may keep its memory (joulio_buffer_data() is NULL then). Returns 0, or a negative errno as
/// joulio_admin(); -EBUSY: the buffer is in flight.
///
/// # Safety
/// `controller` and `buffer` are NULL or handles, `command` is NULL or points to 64 bytes, `result` is NULL or may be
/// written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_admin_buffer(
    controller: *mut joulio_controller,
    command: *const u8,
    buffer: *mut joulio_buffer,
    result: *mut u32,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        // SAFETY: by the caller.
        let command = unsafe { command_at(command) }?;
        check_fields(&command)?;
        check_sent(&command)?;
        check_leave(&command, controller.may_write())?;
        // SAFETY: by the caller.
        let held = unsafe { handle::get(buffer) }?;
        let memory = held.take(0).ok_or_else(|| held.absent())?;
        let opened = controller.opened();
        let completed = match opened.admin(command, memory) {
            Ok(completed) => completed,
            Err(rejected) => {
                held.put_or_lose(rejected.buffer);
                return Err(not_run(rejected.reason));
            }
        };
        held.put_or_lose(completed.buffer);
        if !completed.status.is_success() {
            return Err(not_run(NvmeError::Admin {
                device: opened.control().device_name().into(),
                command: NAME,
                status: completed.status,
            }));
        }
        if !result.is_null() {
            // SAFETY: by the caller.
            unsafe { result.write(completed.dw0) };
        }
        Ok(0)
    })
}

/// Makes the failure of a command that the driver or the device refused.
fn not_run(error: NvmeError) -> Failure {
    let errno = match error {
        NvmeError::Submit(SubmitError::DriverCommand { .. }) => Errno::PERM,
        NvmeError::Submit(_) => Errno::INVAL,
        _ => Errno::IO,
    };
    Failure::new(errno, error)
}

/// Direction of a command's data.
#[derive(Clone, Copy)]
enum Moves {
    Nothing,
    In,
    Out,
}

impl Moves {
    /// Returns the direction of data that two bits of an opcode encode (Base figure 87).
    fn of(opcode: u8) -> Moves {
        match opcode & 0b11 {
            0b01 => Moves::Out,
            0b10 => Moves::In,
            _ => Moves::Nothing,
        }
    }
}

/// Refuses commands that would break the driver, let the device transfer more than `length` bytes, or change the
/// device.
fn check(command: &Command, length: usize, may_write: bool) -> Result<(), Failure> {
    let invalid = |text: String| Err(Failure::new(Errno::INVAL, text));
    check_fields(command)?;
    if length > PAGE_SIZE {
        return invalid(format!(
            "{length} bytes of data: the maximum is 4096 (joulio_admin_buffer() moves more)"
        ));
    }
    check_sent(command)?;
    let opcode = AdminOpcode(command.dword0().opc());
    match (needs(command), Moves::of(opcode.0)) {
        (Some(needs), _) if needs != length => {
            return invalid(format!(
                "admin command {:02x}h moves {needs} bytes, and data has {length}",
                opcode.0
            ));
        }
        (None, Moves::Nothing) if length != 0 => {
            return invalid(format!("admin command {:02x}h moves no data", opcode.0));
        }
        (None, Moves::Out) if length == 0 && sets_data(command) => {
            return invalid(format!(
                "feature {:02x}h has data, and none is there",
                feature_of(command).0
            ));
        }
        // A feature may have data or none; for other commands this is not known.
        (None, Moves::In | Moves::Out) if length == 0 && !is_feature(opcode) => {
            return invalid(format!(
                "admin command {:02x}h moves data, and has none",
                opcode.0
            ));
        }
        _ => {}
    }
    check_leave(command, may_write)
}

/// Refuses fields that the driver sets.
fn check_fields(command: &Command) -> Result<(), Failure> {
    let opcode = command.dword0().opc();
    let others = command.mptr.get() | command.prp1.get() | command.prp2.get();
    if command.dword0() == Cdw0::new().with_opc(opcode) && others == 0 {
        return Ok(());
    }
    let text = format!(
        "admin command {opcode:02x}h: CID, FUSE, PSDT, MPTR and PRPs are the driver's: leave them zero"
    );
    Err(Failure::new(Errno::INVAL, text))
}

/// Refuses commands that are never sent.
fn check_sent(command: &Command) -> Result<(), Failure> {
    let opcode = AdminOpcode(command.dword0().opc());
    if !is_never_sent(opcode) {
        return Ok(());
    }
    let text = format!(
        "admin command {:02x}h is not sent: queues and events are the driver's, and nothing \
         formats a device",
        opcode.0
    );
    Err(Failure::new(Errno::PERM, text))
}

/// Refuses a command that may change the device, if that is not permitted.
fn check_leave(command: &Command, may_write: bool) -> Result<(), Failure> {
    if may_write || only_reads(AdminOpcode(command.dword0().opc())) {
        return Ok(());
    }
    let text = "the device was opened without JOULIO_ALLOW_WRITE: only Identify, Get Log Page \
                and Get Features are sent";
    Err(Failure::new(Errno::PERM, text))
}

fn is_never_sent(opcode: AdminOpcode) -> bool {
    matches!(
        opcode,
        AdminOpcode::DELETE_IO_SUBMISSION_QUEUE
            | AdminOpcode::CREATE_IO_SUBMISSION_QUEUE
            | AdminOpcode::DELETE_IO_COMPLETION_QUEUE
            | AdminOpcode::CREATE_IO_COMPLETION_QUEUE
            | AdminOpcode::ABORT
            | AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST
            | AdminOpcode::DOORBELL_BUFFER_CONFIG
            | AdminOpcode::FORMAT_NVM
            | AdminOpcode::SANITIZE
    )
}

fn only_reads(opcode: AdminOpcode) -> bool {
    matches!(
        opcode,
        AdminOpcode::IDENTIFY | AdminOpcode::GET_LOG_PAGE | AdminOpcode::GET_FEATURES
    )
}

fn is_feature(opcode: AdminOpcode) -> bool {
    matches!(
        opcode,
        AdminOpcode::GET_FEATURES | AdminOpcode::SET_FEATURES
    )
}

fn feature_of(command: &Command) -> FeatureId {
    FeatureId(command.cdw10[0].get() as u8)
}

/// Whether a command sets a feature that has data.
fn sets_data(command: &Command) -> bool {
    let opcode = AdminOpcode(command.dword0().opc());
    opcode == AdminOpcode::SET_FEATURES && feature_of(command).has_data()
}

/// Returns the number of bytes that a command moves, if its dwords tell it. Of the other commands the driver knows it.
fn needs(command: &Command) -> Option<usize> {
    let dword = |number: usize| command.cdw10[number - 10].get() as usize;
    match AdminOpcode(command.dword0().opc()) {
        AdminOpcode::IDENTIFY => Some(PAGE_SIZE),
        // NUMD, zeroes-based, in two halves (Base figure 197).
        AdminOpcode::GET_LOG_PAGE => Some((((dword(11) & 0xffff) << 16 | dword(10) >> 16) + 1) * 4),
        AdminOpcode::FIRMWARE_IMAGE_DOWNLOAD
        | AdminOpcode::DIRECTIVE_SEND
        | AdminOpcode::DIRECTIVE_RECEIVE => Some((dword(10) + 1) * 4),
        AdminOpcode::SECURITY_SEND | AdminOpcode::SECURITY_RECEIVE => Some(dword(11)),
        AdminOpcode::NAMESPACE_ATTACHMENT => Some(PAGE_SIZE),
        _ => None,
    }
}
