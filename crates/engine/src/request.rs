//! Requests to an engine.

use joulio_units::Operation;

/// An operation on a range of a device. Offset and length are multiples of the device's logical
/// block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index of the device in the engine, from 0.
    pub device: usize,
    /// Read, write, trim or flush.
    pub operation: Operation,
    /// Bytes from the start of the device or file; unused for a flush.
    pub offset: u64,
    /// Length in bytes: of a read or a write at most the buffer's; unused for a flush.
    pub len: u32,
    /// Caller's identifier, returned with the completion.
    pub tag: u64,
}

impl Request {
    /// Returns the bytes transferred between the buffer and the device.
    #[inline]
    pub fn moved(&self) -> u32 {
        match self.operation.moves_data() {
            true => self.len,
            false => 0,
        }
    }
}
