//! Engines: each executes I/O for one thread, through the kernel or through joulio's own driver. The caller submits
//! a [`Request`] with a [`Buffer`], and the [`Completion`] returns the buffer.
//!
//! The kernel's engines and the user-space driver implement [`Engine`], so that one generic loop runs on any of
//! them; the engine is chosen once per job. Nothing is measured here.
//!
//! ```
//! use joulio_engine::{Buffer, Completion, Engine, Request};
//! use joulio_units::{Nanos, Operation};
//! # use joulio_wait::WaitCounters;
//! # use std::convert::Infallible;
//! #
//! # struct Bytes(Vec<u8>);
//! #
//! # impl Buffer for Bytes {
//! #     fn address(&self) -> u64 {
//! #         self.0.as_ptr() as u64
//! #     }
//! #
//! #     fn copy_to(&self, to: &mut [u8]) {
//! #         to.iter_mut()
//! #             .zip(&self.0)
//! #             .for_each(|(to, from)| *to = *from);
//! #     }
//! #
//! #     fn copy_from(&mut self, from: &[u8]) {
//! #         self.0
//! #             .iter_mut()
//! #             .zip(from)
//! #             .for_each(|(to, from)| *to = *from);
//! #     }
//! # }
//! #
//! # #[derive(Default)]
//! # struct Null {
//! #     done: Vec<Completion<Bytes, Infallible>>,
//! # }
//! #
//! # impl Engine for Null {
//! #     type Buffer = Bytes;
//! #     type Failure = Infallible;
//! #     type Error = Infallible;
//! #
//! #     fn buffers(&mut self, _: usize, count: usize, len: usize) -> Result<Vec<Bytes>, Infallible> {
//! #         Ok((0..count).map(|_| Bytes(vec![0; len])).collect())
//! #     }
//! #
//! #     fn prepare(&mut self, request: Request, buffer: Bytes) -> Result<(), Infallible> {
//! #         self.done.push(Completion {
//! #             tag: request.tag,
//! #             outcome: Ok(()),
//! #             buffer,
//! #         });
//! #         Ok(())
//! #     }
//! #
//! #     fn submit(&mut self) -> Result<(), Infallible> {
//! #         Ok(())
//! #     }
//! #
//! #     fn reap(
//! #         &mut self,
//! #         _: usize,
//! #         _: Nanos,
//! #         sink: impl FnMut(Completion<Bytes, Infallible>),
//! #     ) -> Result<usize, Infallible> {
//! #         let count = self.done.len();
//! #         self.done.drain(..).for_each(sink);
//! #         Ok(count)
//! #     }
//! #
//! #     fn effective(&mut self) -> String {
//! #         "at once".into()
//! #     }
//! #
//! #     fn counters(&mut self) -> WaitCounters {
//! #         WaitCounters::default()
//! #     }
//! # }
//!
//! /// Reads the first 4 KiB of the engine's first device, and returns the tags of the completions.
//! fn read<E: Engine>(engine: &mut E) -> Result<Vec<u64>, E::Error> {
//!     let buffer = engine.buffers(0, 1, 4096)?.remove(0);
//!     let (operation, tag) = (Operation::Read, 7);
//!     engine.prepare(Request { device: 0, operation, offset: 0, len: 4096, tag }, buffer)?;
//!     engine.submit()?;
//!     let mut tags = Vec::new();
//!     engine.reap(1, Nanos::MAX, |done| tags.push(done.tag))?;
//!     Ok(tags)
//! }
//!
//! assert_eq!(read(&mut Null::default())?, [7]);
//! # Ok::<(), Infallible>(())
//! ```
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod buffer;
mod completion;
mod engine;
mod request;

pub use buffer::Buffer;
pub use completion::Completion;
pub use engine::Engine;
pub use request::Request;
