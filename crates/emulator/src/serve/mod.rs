//! A controller behind a vfio-user socket, for hosts in other processes: a virtual machine, or the driver's own back
//! end.
//!
//! There are two threads: one waits for messages, the other is the device. The controller's lock is held only while a
//! message accesses the controller; the device's thread makes no system call for I/O. Hosts are served one after the
//! other; one that connects while another is served is refused (EBUSY). A connection without a message within 5 s is
//! closed, and keeps nobody else out. A host is not trusted: every address, length, queue identifier and doorbell value
//! is checked before use, as are messages. However a host leaves, the controller afterwards is as new.
//!
//! A host's files are not trusted either: memory that it shrinks afterwards reads as zeroes
//! ([`joulio_device::SharedMemory::from_file`]), and its events are eventfds that are signalled without blocking
//! ([`joulio_device::Signaller`]).

mod config;
mod connection;
mod error;
mod injector;
mod irqs;
mod layout;
mod newcomers;
mod options;
mod regions;
mod server;
mod session;
mod socket;
mod stats;
mod version;

pub use error::ServeError;
pub use injector::Injector;
pub use options::{DoorbellMode, ServeOptions};
pub use server::{PollCount, Server};
pub use stats::Stats;
