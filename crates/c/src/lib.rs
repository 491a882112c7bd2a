//! The C interface of [`joulio_nvme`]: controllers, buffers, queues with any completion mode, and a descriptor for
//! event loops.
//!
//! A handle is an opaque pointer. Every call checks that the handle is live and of the right kind, catches panics,
//! and leaves a line in [`joulio_error`](error::joulio_error) if it fails. The driver's tag of a command is the
//! handle of its buffer, so that a completion finds its buffer; destroying a queue marks the buffers of its
//! commands in flight as lost. `include/joulio.h` is generated from these sources.
//!
//! Each I/O calls functions of the queue's back end (`queue_handle::Calls`), which get the queue's handle. They try
//! the fast path first, [`joulio_nvme::QueuePair::transfer_page`] and [`joulio_nvme::QueuePair::take_usual`]; if it
//! does not apply, they call the ordinary path, without holding a borrow of the queue. The arguments of a call that
//! reaps are kept in the queue (`queue_handle::Call`), so that the fast path saves no registers for the ordinary one.
#![allow(non_camel_case_types, reason = "the names that C programs use")]

mod admin;
mod any_commands;
mod arena;
mod buffer;
mod buffer_handle;
mod commands;
mod completions;
mod controller;
mod each;
mod error;
mod file;
mod group;
mod handle;
mod inherited;
mod io;
mod list;
mod meters;
mod opened;
mod opened_group;
mod opened_queue;
mod opened_submit;
mod options;
mod queue;
mod queue_handle;
mod seat;
mod sink;
mod slots;
mod volume;

pub use admin::*;
pub use arena::*;
pub use buffer::*;
pub use buffer_handle::joulio_buffer;
pub use commands::*;
pub use completions::*;
pub use controller::*;
pub use each::joulio_each;
pub use error::*;
pub use file::*;
pub use group::*;
pub use io::*;
pub use list::*;
pub use meters::*;
pub use options::joulio_options;
pub use queue::*;
pub use queue_handle::joulio_queue;
pub use volume::*;
