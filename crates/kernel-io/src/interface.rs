//! Interfaces of the kernel for reading and writing.

use std::fmt;

/// Interface of the kernel that does the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interface {
    /// preadv2(2) and pwritev2(2), one at a time.
    Psync,
    /// io_submit(2) and io_getevents(2).
    Libaio,
    /// io_uring(7).
    IoUring,
}

impl Interface {
    /// Names of the completion modes that the interface has on some kernel.
    pub fn completion_modes(self) -> &'static str {
        match self {
            Interface::Psync => "interrupt, poll, hybrid and hybrid=TIME",
            Interface::Libaio => "interrupt",
            Interface::IoUring => "interrupt, poll, hybrid, sqpoll and sqpoll+poll",
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Interface::Psync => "psync",
            Interface::Libaio => "libaio",
            Interface::IoUring => "io_uring",
        })
    }
}
