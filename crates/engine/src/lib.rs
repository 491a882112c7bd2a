//! Engines, which execute I/O for one thread, whichever driver has the device: a [`Request`] is submitted with a
//! [`Buffer`], and a [`Completion`] returns the buffer.
//!
//! The kernel's engines and the user-space driver implement [`Engine`], so that one loop runs on
//! any of them, chosen once per job and generic inside. Nothing is measured here.
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
