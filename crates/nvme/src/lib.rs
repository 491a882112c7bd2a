//! A user-space NVMe driver whose completion mode is a replaceable part.
//!
//! Open a [`Controller`] over any [`joulio_device::Device`], take a [`QueuePair`] of it, put the
//! pair into a [`PollGroup`], submit, and reap:
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
//! A buffer is moved into the queue with its command and comes back with the completion: a use in
//! between does not compile.
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
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod admin;
mod cancel;
mod controller;
mod error;
mod group;
mod kernel;
mod namespace;
mod power;
mod queue;
mod reactor;
mod registers;

pub use cancel::Cancel;
pub use controller::{Controller, ControllerOptions};
pub use error::{NvmeError, PolicyError, Rejected, RejectedList, SubmitError};
pub use group::{EventGroup, PollGroup, Queues, SharedCacheLine};
pub use joulio_device::{
    Arena, BufferList, DmaBuffer, PageKind, SharedMemory, TrustedArena, TrustedBuffer,
    TrustedDevice, TrustedMemory,
};
pub use joulio_nvme_spec as spec;
pub use joulio_trace as trace;
pub use joulio_wait as wait;
pub use kernel::KernelController;
pub use namespace::{Namespace, NamespaceAttributes};
pub use power::{AdminData, PowerControl};
pub use queue::{Completed, CompletionFault, Faults, MAX_RANGES, QueueInfo, QueuePair};
pub use reactor::{NextCall, Poller, PollerId, PollerQueues, Reactor, ReactorCounters};
