//! What can go wrong with a peer at the other end of a socket, each with what to do about it.

use std::io;

/// A failure of the vfio-user back end. `device` is the name that the user gave.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VfioUserError {
    /// Nothing at the path.
    #[error("{device}: there is no such socket; start the controller's server there first")]
    NoSocket {
        /// What was asked for.
        device: String,
    },
    /// Something else than a socket that is listened on, or nobody at it any more.
    #[error(
        "{device}: nobody listens there (not a socket, or left behind by a server that is gone); start the server again"
    )]
    NobodyListens {
        /// What was asked for.
        device: String,
    },
    /// The socket may not be written to.
    #[error(
        "{device}: permission denied; run as the user who started the server, or let it give your group write permission on the socket"
    )]
    Permission {
        /// What was asked for.
        device: String,
    },
    /// The path cannot be a socket's.
    #[error("{device}: cannot connect: {source}")]
    Connect {
        /// What was asked for.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// No answer in time.
    #[error(
        "{device}: no answer to {command} within {seconds} s; the server hangs, or serves another client: stop one of them"
    )]
    Silent {
        /// What was asked for.
        device: String,
        /// The command.
        command: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The server says so.
    #[error(
        "{device}: another client has this controller; stop that one, or start a second server"
    )]
    Busy {
        /// What was asked for.
        device: String,
    },
    /// The connection has ended.
    #[error(
        "{device}: the server closed the connection at {command}; see its own messages for why"
    )]
    Closed {
        /// What was asked for.
        device: String,
        /// The command.
        command: &'static str,
    },
    /// Another version of the protocol.
    #[error(
        "{device}: the server speaks vfio-user {major}.{minor}, joulio speaks 0.1: use a server of that version"
    )]
    Version {
        /// What was asked for.
        device: String,
        /// The server's major version.
        major: u16,
        /// The server's minor version.
        minor: u16,
    },
    /// An error reply.
    #[error("{device}: the server refuses {command}: {source}")]
    Refused {
        /// What was asked for.
        device: String,
        /// The command.
        command: &'static str,
        /// The error that it named.
        source: io::Error,
    },
    /// A reply that breaks the protocol.
    #[error(
        "{device}: the answer to {command} is not vfio-user ({problem}); is that a vfio-user server?"
    )]
    Malformed {
        /// What was asked for.
        device: String,
        /// The command.
        command: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Another kind of device.
    #[error(
        "{device}: not an NVMe controller but a device of PCI class {class:06x}h (NVMe is 010802h)"
    )]
    NotNvme {
        /// What was asked for.
        device: String,
        /// Its class code.
        class: u32,
    },
}
