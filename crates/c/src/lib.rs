//! The C face of [`joulio_nvme`]: controllers, buffers, queues with any completion mode, and a descriptor
//! for event loops.
//!
//! A handle is an opaque pointer; every call checks that it is live and of its kind, catches panics, and leaves
//! a line in [`joulio_error`](error::joulio_error) where it fails. A buffer in flight is found again by the
//! driver's tag of its command, which is its handle; a queue that ends marks those buffers lost.
//! `include/joulio.h` is made from these sources.
//!
//! What is done for each I/O is a call of the queue's back end (`any_queue::Calls`), which gets the queue's
//! handle: the short way of [`joulio_nvme::QueuePair::transfer_page`] and
//! [`joulio_nvme::QueuePair::reap_usual`], and behind it, without a borrow of the queue, the ordinary one.
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
