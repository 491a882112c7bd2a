//! I/Os and completions in a C program's arrays.

use crate::buffer_handle::joulio_buffer;
use std::ffi::c_uint;

/// A read: the opcode of joulio_io (NVM figure 22).
pub const JOULIO_READ: c_uint = 2;
/// A write.
pub const JOULIO_WRITE: c_uint = 1;

/// A read or a write, for joulio_submit_and_wait().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct joulio_io {
    /// First logical block.
    pub lba: u64,
    /// Buffer that is read into or written from.
    pub buffer: *mut joulio_buffer,
    /// Value that is returned with its completion.
    pub tag: u64,
    /// Number of logical blocks.
    pub blocks: u32,
    /// JOULIO_READ or JOULIO_WRITE.
    pub opcode: c_uint,
}

/// A completed command.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct joulio_completion {
    /// Value that was given with the command.
    pub tag: u64,
    /// Buffer of the command, the caller's again; NULL: it had none.
    pub buffer: *mut joulio_buffer,
    /// Dword 0 of the completion.
    pub result: u32,
    /// Status field of the completion (NVM Express Base 2.0, 3.3.3.2) without the phase: 0 is success.
    pub status: u16,
}
