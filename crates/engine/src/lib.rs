//! Engines: each executes I/O for one thread, through the kernel or through joulio's own driver. The caller submits
//! a [`Request`] with a [`Buffer`], and the [`Completion`] returns the buffer.
//!
//! The kernel's engines and the user-space driver implement [`Engine`], so that one generic loop runs on any of
//! them; the engine is chosen once per job. Nothing is measured here.
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
