//! Engines, which do I/O for one thread, whoever drives the device: a [`Request`] goes in with a
//! [`Buffer`], and both come back in a [`Completion`].
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
