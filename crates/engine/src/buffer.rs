//! Memory that a device reads and writes.

/// A data buffer: the caller's, or the engine's while a request has it.
///
/// The bytes are copied in and out: others may write a device's memory at any time, so that no slice of it may exist.
pub trait Buffer: Send {
    /// Copies the first bytes of the buffer to `to`, as many as both have.
    fn copy_to(&self, to: &mut [u8]);

    /// Returns the address of the first byte in this process: to ask the system about its page, not to access it.
    fn address(&self) -> u64;

    /// Copies `from` to the start of the buffer, as many bytes as fit.
    fn copy_from(&mut self, from: &[u8]);
}
