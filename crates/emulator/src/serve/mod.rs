//! A controller behind a vfio-user socket, for hosts in other processes: a virtual machine's, or
//! the driver's own back end.
//!
//! Two threads: one waits for messages, the other is the device. A message takes the controller's
//! lock only while it does something with the controller; the device's thread makes no system call
//! for I/O. Hosts come one after the other; one that comes while another is there is refused
//! (EBUSY). One that says nothing within 5 s is cut off, and keeps nobody else out. A host is not
//! trusted: every address, length, queue identifier and doorbell value is checked before use, as
//! are messages. However it goes, the controller afterwards is as new.
//!
//! What a host hands over is used with care: memory that it shrinks afterwards reads as zeroes
//! ([`joulio_device::SharedMemory::from_file`]), and its events are eventfds,
//! which are signalled without waiting ([`joulio_device::Signaller`]).

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
