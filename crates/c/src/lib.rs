//! The C face of [`joulio_nvme`]: controllers, buffers, queues with any completion mode, and a descriptor
//! for event loops.
//!
//! A handle is an opaque pointer; every call checks it for null, catches panics, and leaves a line in
//! [`joulio_error`](error::joulio_error) where it fails. `include/joulio.h` is made from these sources.
#![allow(non_camel_case_types, reason = "the names that C programs use")]

mod admin;
mod any_queue;
mod arena;
mod buffer;
mod commands;
mod completions;
mod controller;
mod error;
mod file;
mod group;
mod handle;
mod list;
mod meters;
mod opened;
mod opened_group;
mod opened_queue;
mod queue;
mod queue_id;
mod seat;
mod slots;
mod volume;

pub use admin::*;
pub use arena::*;
pub use buffer::*;
pub use commands::*;
pub use completions::*;
pub use controller::*;
pub use error::*;
pub use file::*;
pub use group::*;
pub use list::*;
pub use meters::*;
pub use queue::*;
pub use volume::*;
