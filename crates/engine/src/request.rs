//! Requests to an engine.

use joulio_units::Direction;

/// A read or a write. Offset and length are multiples of the device's logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the device among the engine's, from 0.
    pub device: usize,
    /// Read or write.
    pub direction: Direction,
    /// Bytes from the start of the device or file.
    pub offset: u64,
    /// Length in bytes, at most the buffer's.
    pub len: u32,
    /// Caller's identifier, returned with the completion.
    pub tag: u64,
}
