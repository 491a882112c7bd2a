//! Completion status (Base 3.3.3.2.1, figures 92 to 101; NVM figure 20).

use core::fmt;

/// The 15-bit status field of a completion: type, code, more, do not retry.
///
/// It is never squashed into an errno: what a caller may do next is in it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Status(u16);

/// SCT, the status code type (Base figure 93).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusType {
    /// 0h.
    Generic,
    /// 1h.
    CommandSpecific,
    /// 2h.
    Media,
    /// 3h.
    Path,
    /// 7h.
    VendorSpecific,
    /// 4h to 6h.
    Reserved(u8),
}

const fn field(sct: u16, sc: u16) -> Status {
    Status(sct << 8 | sc)
}

impl Status {
    /// Successful Completion.
    pub const SUCCESS: Status = field(0, 0x00);
    /// Invalid Command Opcode.
    pub const INVALID_OPCODE: Status = field(0, 0x01);
    /// Invalid Field in Command.
    pub const INVALID_FIELD: Status = field(0, 0x02);
    /// Command ID Conflict.
    pub const COMMAND_ID_CONFLICT: Status = field(0, 0x03);
    /// Data Transfer Error.
    pub const DATA_TRANSFER_ERROR: Status = field(0, 0x04);
    /// Internal Error.
    pub const INTERNAL_ERROR: Status = field(0, 0x06);
    /// Command Abort Requested.
    pub const ABORT_REQUESTED: Status = field(0, 0x07);
    /// Command Aborted due to SQ Deletion.
    pub const ABORTED_SQ_DELETION: Status = field(0, 0x08);
    /// Invalid Namespace or Format.
    pub const INVALID_NAMESPACE: Status = field(0, 0x0b);
    /// PRP Offset Invalid.
    pub const PRP_OFFSET_INVALID: Status = field(0, 0x13);
    /// LBA Out of Range (NVM figure 20).
    pub const LBA_OUT_OF_RANGE: Status = field(0, 0x80);
    /// Capacity Exceeded (NVM figure 20).
    pub const CAPACITY_EXCEEDED: Status = field(0, 0x81);
    /// Completion Queue Invalid.
    pub const INVALID_COMPLETION_QUEUE: Status = field(1, 0x00);
    /// Invalid Queue Identifier.
    pub const INVALID_QUEUE_ID: Status = field(1, 0x01);
    /// Invalid Queue Size.
    pub const INVALID_QUEUE_SIZE: Status = field(1, 0x02);
    /// Asynchronous Event Request Limit Exceeded.
    pub const ASYNC_EVENT_LIMIT: Status = field(1, 0x05);
    /// Invalid Interrupt Vector.
    pub const INVALID_INTERRUPT_VECTOR: Status = field(1, 0x08);
    /// Invalid Log Page.
    pub const INVALID_LOG_PAGE: Status = field(1, 0x09);
    /// Invalid Queue Deletion.
    pub const INVALID_QUEUE_DELETION: Status = field(1, 0x0c);
    /// Feature Not Changeable.
    pub const FEATURE_NOT_CHANGEABLE: Status = field(1, 0x0e);
    /// Write Fault.
    pub const WRITE_FAULT: Status = field(2, 0x80);
    /// Unrecovered Read Error.
    pub const UNRECOVERED_READ: Status = field(2, 0x81);
    /// Compare Failure.
    pub const COMPARE_FAILURE: Status = field(2, 0x85);

    /// The status in the 15-bit field of a completion, phase tag shifted out.
    pub const fn from_field(bits: u16) -> Status {
        Status(bits & 0x7fff)
    }

    /// The 15-bit field, phase tag not included.
    pub const fn field(self) -> u16 {
        self.0
    }

    /// The same status with DNR set: the command would fail again (Base figure 92).
    pub const fn do_not_retry(self) -> Status {
        Status(self.0 | 1 << 14)
    }

    /// SC, the status code within its type.
    pub const fn code(self) -> u8 {
        self.0 as u8
    }

    /// SCT, the status code type.
    pub const fn status_type(self) -> StatusType {
        match (self.0 >> 8) & 7 {
            0 => StatusType::Generic,
            1 => StatusType::CommandSpecific,
            2 => StatusType::Media,
            3 => StatusType::Path,
            7 => StatusType::VendorSpecific,
            other => StatusType::Reserved(other as u8),
        }
    }

    /// CRD, the command retry delay index (0 = none).
    pub const fn retry_delay(self) -> u8 {
        (self.0 >> 11) as u8 & 3
    }

    /// M: the error log holds more.
    pub const fn more(self) -> bool {
        self.0 & 1 << 13 != 0
    }

    /// DNR: do not retry.
    pub const fn dnr(self) -> bool {
        self.0 & 1 << 14 != 0
    }

    /// Type and code both zero; M and DNR do not make an error.
    pub const fn is_success(self) -> bool {
        self.0 & 0x7ff == 0
    }

    /// Type and code without delay, more and DNR: what the constants compare with.
    pub const fn kind(self) -> Status {
        Status(self.0 & 0x7ff)
    }

    /// The specification's name of this status, where this crate knows it.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 & 0x7ff {
            0x000 => "Successful Completion",
            0x001 => "Invalid Command Opcode",
            0x002 => "Invalid Field in Command",
            0x003 => "Command ID Conflict",
            0x004 => "Data Transfer Error",
            0x005 => "Commands Aborted due to Power Loss Notification",
            0x006 => "Internal Error",
            0x007 => "Command Abort Requested",
            0x008 => "Command Aborted due to SQ Deletion",
            0x00b => "Invalid Namespace or Format",
            0x00c => "Command Sequence Error",
            0x013 => "PRP Offset Invalid",
            0x020 => "Namespace is Write Protected",
            0x080 => "LBA Out of Range",
            0x081 => "Capacity Exceeded",
            0x082 => "Namespace Not Ready",
            0x100 => "Completion Queue Invalid",
            0x101 => "Invalid Queue Identifier",
            0x102 => "Invalid Queue Size",
            0x103 => "Abort Command Limit Exceeded",
            0x105 => "Asynchronous Event Request Limit Exceeded",
            0x108 => "Invalid Interrupt Vector",
            0x109 => "Invalid Log Page",
            0x10c => "Invalid Queue Deletion",
            0x10d => "Feature Identifier Not Saveable",
            0x10e => "Feature Not Changeable",
            0x280 => "Write Fault",
            0x281 => "Unrecovered Read Error",
            0x282 => "End-to-end Guard Check Error",
            0x283 => "End-to-end Application Tag Check Error",
            0x284 => "End-to-end Reference Tag Check Error",
            0x285 => "Compare Failure",
            0x286 => "Access Denied",
            0x287 => "Deallocated or Unwritten Logical Block",
            _ => return None,
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("unknown status"))?;
        write!(f, " (sct {:x}h sc {:02x}h", (self.0 >> 8) & 7, self.code())?;
        if self.dnr() {
            f.write_str(", do not retry")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_do_not_change_what_a_status_is() {
        let s = Status::LBA_OUT_OF_RANGE.do_not_retry();
        assert!(s.dnr() && !s.more() && !s.is_success());
        assert_eq!(s.kind(), Status::LBA_OUT_OF_RANGE);
        assert_eq!(s.status_type(), StatusType::Generic);
        assert!(Status::SUCCESS.do_not_retry().is_success());
        assert_eq!(Status::COMPARE_FAILURE.status_type(), StatusType::Media);
    }

    #[test]
    fn a_field_survives_the_round_trip_without_its_phase() {
        assert_eq!(Status::from_field(0xffff).field(), 0x7fff);
    }
}
