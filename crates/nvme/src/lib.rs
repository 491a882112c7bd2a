//! A user-space NVMe driver whose completion mode is a replaceable part.
//!
//! A read is five lines:
//!
//! ```
//! # use joulio_nvme::{Controller, ControllerOptions};
//! # use joulio_emulator::{EmulatedDevice, Options};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let profile = joulio_model::DeviceProfile::builtin("instant")?;
//! # let device = EmulatedDevice::spawn(&Options::new(profile))?;
//! let controller = Controller::open(device, ControllerOptions::default())?;
//! let mut queue = controller.create_queue_pair(32)?;
//! queue.read(&controller.namespace(1)?, 0, 8, controller.allocate_trusted(1, 4096)?.remove(0), 0)?;
//! queue.ring();
//! while queue.reap(1, |done| println!("{:x?}", done.buffer.unwrap().as_slice()))? == 0 {}
//! # Ok(()) }
//! ```
//!
//! `device` is any [`joulio_device::Device`]: a PCIe function through VFIO
//! ([`VfioDevice`](joulio_device::vfio::VfioDevice)), a controller behind a vfio-user socket, or an emulated one. A
//! [`PollGroup`] waits for completions of one or more [`QueuePair`]s, in any completion mode ([`wait::AnyPolicy`]);
//! the mode may change at any time:
//!
//! ```
//! # use joulio_nvme::{Controller, ControllerOptions, PollGroup};
//! # use joulio_nvme::wait::AnyPolicy;
//! # use joulio_emulator::{EmulatedDevice, Options};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let profile = joulio_model::DeviceProfile::builtin("instant")?;
//! # let device = EmulatedDevice::spawn(&Options::new(profile))?;
//! let controller = Controller::open(device, ControllerOptions::default())?;
//! let namespace = controller.namespace(1)?;
//! let mut queue = controller.create_queue_pair(32)?;
//! queue.set_policy(AnyPolicy::INTERRUPT)?;
//!
//! let mut buffer = controller.allocate_buffers(1, 4096)?.remove(0);
//! buffer.write(0, b"joules per I/O");
//! queue.write(&namespace, 0, 8, buffer, 7)?;
//! queue.ring();
//!
//! let mut group = PollGroup::new(vec![queue]);
//! group.reap(1, None, |_, done| {
//!     assert!(done.status.is_success());
//!     assert_eq!(done.tag, 7);
//! })?;
//! # Ok(()) }
//! ```
//!
//! A command takes its buffer, and the completion gives it back: code that uses the buffer in between does not
//! compile.
//!
//! ```compile_fail,E0382
//! # use joulio_nvme::{DmaBuffer, Namespace, QueuePair};
//! # use joulio_emulator::EmulatedDevice;
//! fn early(queue: &mut QueuePair<EmulatedDevice>, namespace: &Namespace, buffer: DmaBuffer) {
//!     queue.read(namespace, 0, 1, buffer, 0).unwrap();
//!     let mut bytes = [0; 512];
//!     buffer.read(0, &mut bytes);
//! }
//! ```
//!
//! | to get | use |
//! |---|---|
//! | data without a copy | [`Controller::allocate_trusted`]: a [`TrustedBuffer`] is a slice while no command has it |
//! | many buffers in one mapping | [`Controller::allocate_arena`], [`TrustedArena`] |
//! | your own memory | [`SharedMemory::from_raw`], [`Controller::register_trusted`], [`Controller::register`] |
//! | I/O on a part of a buffer | [`QueuePair::read_at`], [`DmaBuffer::split_off`] |
//! | one command with several buffers | [`BufferList`], [`QueuePair::readv`] |
//! | any other command | [`QueuePair::submit_with_data`], [`Controller::submit_admin`] |
//! | a vendor's command | [`QueuePair::submit_vendor`], [`Controller::submit_admin_vendor`] |
//! | an event loop | [`EventGroup`]; for futures, the crate `joulio-nvme-async` |
//! | several tenants on one core | [`Reactor`] |
//!
//! A queue pair, or a group of them, may move from thread to thread, but only one thread may use it at a time (it
//! is `Send` and not `Sync`). One controller serves many threads:
//!
//! ```compile_fail,E0277
//! # use joulio_nvme::QueuePair;
//! # use joulio_emulator::EmulatedDevice;
//! fn shared<T: Sync>() {}
//! shared::<QueuePair<EmulatedDevice>>();
//! ```
//!
//! Sections of the [specifications][Base] are cited in short: "Base 5.27" is section 5.27 of the NVM Express Base
//! Specification, "NVM" is the NVM Command Set Specification, and "PCIe" the NVMe over PCIe Transport Specification, in
//! the versions that [`spec`] names.
//!
//! [Base]: https://nvmexpress.org/specifications/
//!
//! The programs in `examples/` show more: hello, depth_32, change_completion, epoll, own_memory, adaptive, reactor,
//! and on a zoned drive zone_append.
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod admin;
mod cancel;
mod controller;
mod error;
mod group;
mod inspect;
mod kernel;
mod namespace;
mod power;
mod queue;
mod quirks;
mod reactor;
mod registers;

pub use cancel::Cancel;
pub use controller::{AdminCompleted, Controller, ControllerOptions, HostMemory};
pub use error::{AdminRejected, NvmeError, PolicyError, Rejected, RejectedList, SubmitError};
pub use group::{EventGroup, PollGroup, Queues, SharedCacheLine, UsualQueue};
pub use inspect::Inspect;
pub use joulio_device::{
    AdminData, Arena, BufferList, DmaBuffer, PageKind, SharedMemory, TrustedArena, TrustedBuffer,
    TrustedDevice, TrustedMemory,
};
pub use joulio_nvme_spec as spec;
pub use joulio_trace as trace;
pub use joulio_wait as wait;
pub use kernel::KernelController;
pub use namespace::{Namespace, NamespaceAttributes};
pub use power::PowerControl;
pub use queue::{
    Completed, CompletionFault, Faults, MAX_RANGES, QueueInfo, QueuePair, Taken, Transfer,
};
pub use quirks::IdleStates;
pub use reactor::{NextCall, Poller, PollerId, PollerQueues, Reactor, ReactorCounters};
