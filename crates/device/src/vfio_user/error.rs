//! Errors of a peer at the other end of a socket, each with what to do about it.

use std::io;

/// A failure of the vfio-user back end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VfioUserError {
    /// No socket at the path.
    #[error("{device}: there is no such socket; start the controller's server there first")]
    NoSocket {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// The path is not a socket, or no server listens on it.
    #[error(
        "{device}: no server listens there (not a socket, or its server has ended): start the server again"
    )]
    NobodyListens {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// A socket to which the user may not write.
    #[error(
        "{device}: permission denied; run as the user who started the server, or let it give your group write permission on the socket"
    )]
    Permission {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// The connection could not be made.
    #[error("{device}: cannot connect: {source}")]
    Connect {
        /// Name of the device, as the user gave it.
        device: String,
        /// The system's error.
        source: io::Error,
    },
    /// The server did not answer in time.
    #[error(
        "{device}: no answer to {command} within {seconds} s; the server hangs, or serves another client: stop one of them"
    )]
    Silent {
        /// Name of the device, as the user gave it.
        device: String,
        /// The command.
        command: &'static str,
        /// Seconds waited for the reply.
        seconds: u64,
    },
    /// Another client has the controller.
    #[error(
        "{device}: another client has this controller; stop that one, or start a second server"
    )]
    Busy {
        /// Name of the device, as the user gave it.
        device: String,
    },
    /// The connection has ended.
    #[error(
        "{device}: the server closed the connection at {command}; see its own messages for why"
    )]
    Closed {
        /// Name of the device, as the user gave it.
        device: String,
        /// The command.
        command: &'static str,
    },
    /// The server speaks another version of the protocol.
    #[error(
        "{device}: the server speaks vfio-user {major}.{minor}, joulio speaks 0.1: use a server of that version"
    )]
    Version {
        /// Name of the device, as the user gave it.
        device: String,
        /// The server's major version.
        major: u16,
        /// The server's minor version.
        minor: u16,
    },
    /// The server replied with an error.
    #[error("{device}: the server refuses {command}: {source}")]
    Refused {
        /// Name of the device, as the user gave it.
        device: String,
        /// The command.
        command: &'static str,
        /// The error that it reported.
        source: io::Error,
    },
    /// A reply breaks the protocol.
    #[error(
        "{device}: the answer to {command} is not vfio-user ({problem}); is that a vfio-user server?"
    )]
    Malformed {
        /// Name of the device, as the user gave it.
        device: String,
        /// The command.
        command: &'static str,
        /// The problem.
        problem: String,
    },
    /// The device is not an NVMe controller.
    #[error(
        "{device}: not an NVMe controller but a device of PCI class {class:06x}h (NVMe is 010802h)"
    )]
    NotNvme {
        /// Name of the device, as the user gave it.
        device: String,
        /// PCI class code.
        class: u32,
    },
}
