//! The direction of an I/O's data.

/// Direction of an I/O's data; `Other` moves none (a flush).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A read: data go from the device to memory.
    Read,
    /// A write: data go from memory to the device.
    Write,
    /// Neither: no data.
    Other,
}
