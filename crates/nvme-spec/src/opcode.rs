//! Opcodes (Base figure 138; NVM figure 22).

use open_enum::open_enum;

/// Admin commands (Base figure 138).
#[open_enum]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AdminOpcode {
    /// Base 5.6.
    DELETE_IO_SUBMISSION_QUEUE = 0x00,
    /// Base 5.5.
    CREATE_IO_SUBMISSION_QUEUE = 0x01,
    /// Base 5.16.
    GET_LOG_PAGE = 0x02,
    /// Base 5.5.
    DELETE_IO_COMPLETION_QUEUE = 0x04,
    /// Base 5.4.
    CREATE_IO_COMPLETION_QUEUE = 0x05,
    /// Base 5.17.
    IDENTIFY = 0x06,
    /// Base 5.1.
    ABORT = 0x08,
    /// Base 5.27.
    SET_FEATURES = 0x09,
    /// Base 5.15.
    GET_FEATURES = 0x0a,
    /// Base 5.2.
    ASYNCHRONOUS_EVENT_REQUEST = 0x0c,
    /// Base 5.23.
    NAMESPACE_MANAGEMENT = 0x0d,
    /// Base 5.12.
    FIRMWARE_IMAGE_DOWNLOAD = 0x11,
    /// Base 5.22.
    NAMESPACE_ATTACHMENT = 0x15,
    /// Base 5.10.
    DIRECTIVE_SEND = 0x19,
    /// Base 5.9.
    DIRECTIVE_RECEIVE = 0x1a,
    /// Base 5.28.
    VIRTUALIZATION_MANAGEMENT = 0x1c,
    /// Base 5.3.
    CAPACITY_MANAGEMENT = 0x20,
    /// Base 5.8.
    DOORBELL_BUFFER_CONFIG = 0x7c,
    /// Base 5.14: joulio refuses to send it.
    FORMAT_NVM = 0x80,
    /// Base 5.26.
    SECURITY_SEND = 0x81,
    /// Base 5.25.
    SECURITY_RECEIVE = 0x82,
    /// Base 5.24: joulio refuses to send it.
    SANITIZE = 0x84,
}

/// Commands of the NVM command set (NVM figure 22).
#[open_enum]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NvmOpcode {
    /// Base 7.1.
    FLUSH = 0x00,
    /// NVM 3.2.6.
    WRITE = 0x01,
    /// NVM 3.2.4.
    READ = 0x02,
    /// NVM 3.2.7.
    WRITE_UNCORRECTABLE = 0x04,
    /// NVM 3.2.1.
    COMPARE = 0x05,
    /// NVM 3.2.8.
    WRITE_ZEROES = 0x08,
    /// NVM 3.2.3.
    DATASET_MANAGEMENT = 0x09,
    /// NVM 3.2.5.
    VERIFY = 0x0c,
    /// Base 7.6.
    RESERVATION_REGISTER = 0x0d,
    /// Base 7.8.
    RESERVATION_REPORT = 0x0e,
    /// Base 7.5.
    RESERVATION_ACQUIRE = 0x11,
    /// Base 2.1, 7.3.
    IO_MANAGEMENT_RECEIVE = 0x12,
    /// Base 7.7.
    RESERVATION_RELEASE = 0x15,
    /// NVM 3.2.2.
    COPY = 0x19,
    /// Base 2.1, 7.4.
    IO_MANAGEMENT_SEND = 0x1d,
    /// Zoned Namespaces 1.1, 3.4.3.
    ZONE_MANAGEMENT_SEND = 0x79,
    /// Zoned Namespaces 1.1, 3.4.2.
    ZONE_MANAGEMENT_RECEIVE = 0x7a,
    /// Zoned Namespaces 1.1, 3.4.1.
    ZONE_APPEND = 0x7d,
}
