//! Completion status (Base 3.3.3.2.1, figures 92 to 101; NVM figure 20).

mod name;

use core::fmt;

/// The 15-bit status field of a completion: type, code, more, do not retry.
///
/// Not reduced to an errno, since it determines what a caller may do next.
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
    /// Invalid SGL Segment Descriptor.
    pub const INVALID_SGL_SEGMENT: Status = field(0, 0x0d);
    /// Invalid Number of SGL Descriptors.
    pub const INVALID_SGL_COUNT: Status = field(0, 0x0e);
    /// Data SGL Length Invalid.
    pub const INVALID_SGL_LENGTH: Status = field(0, 0x0f);
    /// Metadata SGL Length Invalid.
    pub const INVALID_METADATA_SGL_LENGTH: Status = field(0, 0x10);
    /// SGL Descriptor Type Invalid.
    pub const INVALID_SGL_TYPE: Status = field(0, 0x11);
    /// Invalid Use of Controller Memory Buffer.
    pub const INVALID_CMB_USE: Status = field(0, 0x12);
    /// PRP Offset Invalid.
    pub const PRP_OFFSET_INVALID: Status = field(0, 0x13);
    /// SGL Offset Invalid.
    pub const INVALID_SGL_OFFSET: Status = field(0, 0x16);
    /// SGL Data Block Granularity Invalid.
    pub const INVALID_SGL_GRANULARITY: Status = field(0, 0x1e);
    /// Namespace is Write Protected.
    pub const NAMESPACE_WRITE_PROTECTED: Status = field(0, 0x20);
    /// Command Interrupted.
    pub const COMMAND_INTERRUPTED: Status = field(0, 0x21);
    /// Transient Transport Error.
    pub const TRANSIENT_TRANSPORT_ERROR: Status = field(0, 0x22);
    /// LBA Out of Range (NVM figure 20).
    pub const LBA_OUT_OF_RANGE: Status = field(0, 0x80);
    /// Capacity Exceeded (NVM figure 20).
    pub const CAPACITY_EXCEEDED: Status = field(0, 0x81);
    /// Namespace Not Ready.
    pub const NAMESPACE_NOT_READY: Status = field(0, 0x82);
    /// Completion Queue Invalid.
    pub const INVALID_COMPLETION_QUEUE: Status = field(1, 0x00);
    /// Invalid Queue Identifier.
    pub const INVALID_QUEUE_ID: Status = field(1, 0x01);
    /// Invalid Queue Size.
    pub const INVALID_QUEUE_SIZE: Status = field(1, 0x02);
    /// Abort Command Limit Exceeded.
    pub const ABORT_COMMAND_LIMIT: Status = field(1, 0x03);
    /// Asynchronous Event Request Limit Exceeded.
    pub const ASYNC_EVENT_LIMIT: Status = field(1, 0x05);
    /// Invalid Interrupt Vector.
    pub const INVALID_INTERRUPT_VECTOR: Status = field(1, 0x08);
    /// Invalid Log Page.
    pub const INVALID_LOG_PAGE: Status = field(1, 0x09);
    /// Invalid Queue Deletion.
    pub const INVALID_QUEUE_DELETION: Status = field(1, 0x0c);
    /// Feature Identifier Not Saveable.
    pub const FEATURE_NOT_SAVEABLE: Status = field(1, 0x0d);
    /// Feature Not Changeable.
    pub const FEATURE_NOT_CHANGEABLE: Status = field(1, 0x0e);
    /// Attempted Write to Read Only Range (NVM 3.1.2).
    pub const WRITE_TO_READ_ONLY_RANGE: Status = field(1, 0x82);
    /// Write Fault.
    pub const WRITE_FAULT: Status = field(2, 0x80);
    /// Unrecovered Read Error.
    pub const UNRECOVERED_READ: Status = field(2, 0x81);
    /// Compare Failure.
    pub const COMPARE_FAILURE: Status = field(2, 0x85);
    /// Access Denied.
    pub const ACCESS_DENIED: Status = field(2, 0x86);
    /// Deallocated or Unwritten Logical Block.
    pub const DEALLOCATED_BLOCK: Status = field(2, 0x87);
    /// Internal Path Error.
    pub const INTERNAL_PATH_ERROR: Status = field(3, 0x00);
    /// Controller Pathing Error.
    pub const CONTROLLER_PATHING_ERROR: Status = field(3, 0x60);
    /// Host Pathing Error: reported by a host for a command whose controller it cannot reach.
    pub const HOST_PATHING_ERROR: Status = field(3, 0x70);
    /// Command Aborted By Host: reported by a host that has given up the command.
    pub const ABORTED_BY_HOST: Status = field(3, 0x71);

    /// Returns the status in the 15-bit field of a completion, without the phase tag.
    pub const fn from_field(bits: u16) -> Status {
        Status(bits & 0x7fff)
    }

    /// Returns the 15-bit field, without the phase tag.
    pub const fn field(self) -> u16 {
        self.0
    }

    /// Returns the status with DNR set: the command would fail again (Base figure 92).
    pub const fn do_not_retry(self) -> Status {
        Status(self.0 | 1 << 14)
    }

    /// Returns SC, the status code within its type.
    pub const fn code(self) -> u8 {
        self.0 as u8
    }

    /// Returns SCT, the status code type.
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

    /// Returns CRD, the command retry delay index (0 = none).
    pub const fn retry_delay(self) -> u8 {
        (self.0 >> 11) as u8 & 3
    }

    /// Returns M: the error log has more information.
    pub const fn more(self) -> bool {
        self.0 & 1 << 13 != 0
    }

    /// Returns DNR: do not retry.
    pub const fn dnr(self) -> bool {
        self.0 & 1 << 14 != 0
    }

    /// Returns true if type and code are both zero; M and DNR do not indicate an error.
    pub const fn is_success(self) -> bool {
        self.0 & 0x7ff == 0
    }

    /// Returns whether the same command may succeed if it is sent again: it failed, DNR is clear, and the fault is
    /// neither in the command nor in the data.
    ///
    /// Linux (nvme_decide_disposition) retries every command with DNR clear, including path errors and aborted
    /// commands. So does this function, except for statuses that would only be repeated, even if the controller
    /// leaves DNR clear: malformed commands, blocks out of range, a namespace that is write protected or full, and
    /// a comparison that found a difference.
    pub const fn may_retry(self) -> bool {
        let hopeless = matches!(
            self.0 & 0x7ff,
            0x001 | 0x002 | 0x00b | 0x00d..=0x013 | 0x016 | 0x01e | 0x020 | 0x080 | 0x081
                | 0x180..=0x183 | 0x285..=0x287
        );
        !self.is_success() && !self.dnr() && !hopeless
    }

    /// Returns type and code, without CRD, M and DNR: the form of the constants.
    pub const fn kind(self) -> Status {
        Status(self.0 & 0x7ff)
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
    fn a_retry_is_for_what_may_pass() {
        for passing in [
            Status::INTERNAL_ERROR,
            Status::ABORT_REQUESTED,
            Status::NAMESPACE_NOT_READY,
            Status::DATA_TRANSFER_ERROR,
            Status::ABORT_COMMAND_LIMIT,
            Status::UNRECOVERED_READ,
            Status::HOST_PATHING_ERROR,
            Status::ABORTED_BY_HOST,
        ] {
            assert!(passing.may_retry(), "{passing}");
            assert!(!passing.do_not_retry().may_retry(), "{passing}");
        }
        for lasting in [
            Status::SUCCESS,
            Status::INVALID_OPCODE,
            Status::INVALID_SGL_TYPE,
            Status::LBA_OUT_OF_RANGE,
            Status::NAMESPACE_WRITE_PROTECTED,
            Status::COMPARE_FAILURE,
        ] {
            assert!(!lasting.may_retry(), "{lasting}");
        }
    }

    #[test]
    fn path_errors_are_of_their_own_type_and_have_names() {
        for (status, name) in [
            (Status::HOST_PATHING_ERROR, "Host Pathing Error"),
            (Status::ABORTED_BY_HOST, "Command Aborted By Host"),
        ] {
            assert_eq!(status.status_type(), StatusType::Path);
            assert_eq!(status.name(), Some(name));
        }
    }

    #[test]
    fn a_field_survives_the_round_trip_without_its_phase() {
        assert_eq!(Status::from_field(0xffff).field(), 0x7fff);
    }
}
