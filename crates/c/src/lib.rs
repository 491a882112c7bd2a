//! The C face of [`joulio_nvme`]: controllers, buffers, queues with any completion mode, and a descriptor
//! for event loops.
//!
//! A handle is an opaque pointer; every call checks it for null, catches panics, and leaves a line in
//! [`joulio_error`](error::joulio_error) where it fails. `include/joulio.h` is made from these sources.
#![allow(non_camel_case_types, reason = "the names that C programs use")]

mod admin;
mod buffer;
mod controller;
mod error;
mod file;
mod handle;
mod meters;
mod opened;
mod opened_queue;
mod queue;
mod queue_id;
mod slots;
mod volume;

pub use admin::*;
pub use buffer::*;
pub use controller::*;
pub use error::*;
pub use file::*;
pub use meters::*;
pub use queue::*;
pub use volume::*;
