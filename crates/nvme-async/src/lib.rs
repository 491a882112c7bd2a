//! Futures over the joulio NVMe driver, for any executor.
//!
//! An [`AsyncQueue`] is a queue pair whose commands are futures:
//!
//! ```
//! # use joulio_nvme::{Controller, ControllerOptions};
//! # use joulio_nvme_async::AsyncQueue;
//! # use joulio_emulator::{EmulatedDevice, Options};
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! # let profile = joulio_model::DeviceProfile::builtin("instant")?;
//! # let device = EmulatedDevice::spawn(&Options::new(profile))?;
//! # let controller = Controller::open(device, ControllerOptions::default())?;
//! # let namespace = controller.namespace(1)?;
//! let queue = AsyncQueue::new(controller.create_queue_pair(32)?)?;
//! let mut buffer = controller.allocate_buffers(1, 4096)?.remove(0);
//! buffer.write(0, b"joules per I/O");
//! let buffer = queue.write(&namespace, 0, 8, buffer).await?;
//! let buffer = queue.read(&namespace, 0, 8, buffer).await?;
//! # Ok(()) }
//! # let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # rt.block_on(run()).unwrap();
//! ```
//!
//! **Who reaps.** A [`Driver`] ([`AsyncQueue::driver`]) waits for completions of the queue and wakes the futures.
//! Either its descriptor is registered with the executor's reactor (tokio's `AsyncFd`: `examples/tokio.rs`), or it
//! runs in a thread of its own ([`Driver::run`]). Without a driver, each poll of a future polls the queue, and the
//! future asks the executor to poll it again: the right choice for a queue that is polled on a core of its own, by
//! an executor that has no reactor for descriptors.
//!
//! **Cancellation.** When a future is dropped, the device keeps its command and its buffer: [`AsyncQueue::reclaim`]
//! returns the buffer once the command has completed, never before.
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod driver;
mod error;
mod from_completed;
mod io;
mod operations;
mod queue;
mod request;
mod state;
mod wakers;

pub use driver::Driver;
pub use error::{IoError, IoFailure};
pub use from_completed::FromCompleted;
pub use io::Io;
pub use queue::AsyncQueue;
