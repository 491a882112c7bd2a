//! Memory of a trusted device, whose buffers can be used as slices while the caller has them.
//!
//! A `&[u8]` requires that nobody writes the bytes while it lives. Four could: the device, other code of this process,
//! another process, and the device on somebody else's command. So a slice is only made of memory that satisfies all of
//! these:
//!
//! - It is reached by a device that writes during commands only, as its type promises ([`TrustedDevice`]). A PCIe
//!   function and the emulated controller do; the peer at the other end of a socket is another process, and does not.
//! - No other code of this process has a reference to it: [`TrustedMemory`] is made from a [`SharedMemory`] by value,
//!   and hands out nothing but buffers that do not overlap. Memory of [`DmaMemory::new`], which others may share
//!   ([`DmaMemory::share`]), is never trusted.
//! - No other process maps it: it is not that of a file ([`SharedMemory::is_private`]).
//! - No command names it but the one that has the buffer: the driver sets every data pointer itself, refuses
//!   commands that come with one or whose length it does not know, and keeps the buffer until the completion, or
//!   until the device has stopped (CSTS.RDY = 0).
//!
//! The device's stores come before its completion entry, and the queue executes an acquire fence after it has read
//! the phase tag; the caller's loads and stores come before the doorbell, which is a release ([`crate::fence`]). So
//! the I/O itself orders both sides' plain accesses.

use crate::{Device, DeviceError, DmaBuffer, DmaMemory, Iova, PageKind, SharedMemory};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A device that is trusted to write memory during commands only.
///
/// # Safety
/// [`Device::allocate`] returns memory that nobody else has a reference to. As long as only a driver writes the
/// device's registers and queues, the device writes into that memory, and into memory passed to [`Device::reach`], only
/// at addresses that an outstanding command names; and into no other memory.
pub unsafe trait TrustedDevice: Device {}

/// Memory that a trusted device can reach, and that nobody else has a reference to. Buffers are made of it:
/// [`TrustedMemory::carve`], [`TrustedArena`](crate::TrustedArena).
pub struct TrustedMemory(DmaMemory);

impl TrustedMemory {
    /// Allocates at least `len` bytes, zeroed, on huge pages where there are some.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    pub fn allocate(device: &impl TrustedDevice, len: usize) -> Result<TrustedMemory, DeviceError> {
        let memory = device.allocate(len)?;
        match memory.memory().is_private() {
            true => Ok(TrustedMemory(memory)),
            false => Err(DeviceError::NotPrivate),
        }
    }

    /// Maps `memory` for `device`: the caller's own, made with [`SharedMemory::from_raw`].
    ///
    /// # Errors
    /// [`DeviceError::NotPrivate`] for memory of a file, which other processes may write; else as
    /// [`Device::reach`].
    pub fn register(
        device: &impl TrustedDevice,
        memory: SharedMemory,
    ) -> Result<TrustedMemory, DeviceError> {
        if !memory.is_private() {
            return Err(DeviceError::NotPrivate);
        }
        device.reach(Arc::new(memory)).map(TrustedMemory)
    }

    /// Returns the device address of the first byte.
    pub fn iova(&self) -> Iova {
        self.0.iova()
    }

    /// Returns the length in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.memory().len()
    }

    /// Returns the kind of the pages.
    pub fn pages(&self) -> PageKind {
        self.0.pages()
    }

    /// Cuts the memory into `count` buffers of `len` bytes, each starting on a page.
    ///
    /// # Panics
    /// When they do not fit.
    pub fn carve(self, count: usize, len: usize) -> Vec<TrustedBuffer> {
        let buffers = DmaBuffer::carve_of(self.0, count, len, true);
        buffers.into_iter().map(TrustedBuffer).collect()
    }

    pub(crate) fn into_inner(self) -> DmaMemory {
        self.0
    }
}

/// A data buffer in memory of a trusted device, whose bytes are a slice while the caller has it. It is passed to a
/// command as a [`DmaBuffer`], and comes back as one (`TrustedBuffer::try_from`).
#[derive(Debug)]
pub struct TrustedBuffer(DmaBuffer);

impl TrustedBuffer {
    /// Wraps a buffer that is known to be trusted.
    pub(crate) fn of(buffer: DmaBuffer) -> TrustedBuffer {
        debug_assert!(buffer.is_trusted());
        TrustedBuffer(buffer)
    }

    /// Splits the buffer in two, as [`DmaBuffer::split_off`].
    ///
    /// # Panics
    /// When `at` is past the end, or no multiple of 4.
    #[must_use = "dropped, the rest is nobody's"]
    pub fn split_off(&mut self, at: usize) -> TrustedBuffer {
        TrustedBuffer(self.0.split_off(at))
    }

    /// Joins the buffer with `rest`, which begins where it ends.
    ///
    /// # Errors
    /// Returns `rest` when it is not of the same memory, or does not begin where this buffer ends.
    pub fn join(&mut self, rest: TrustedBuffer) -> Result<(), TrustedBuffer> {
        self.0.join(rest.0).map_err(TrustedBuffer)
    }
}

impl Deref for TrustedBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.as_slice().unwrap_or_default()
    }
}

impl DerefMut for TrustedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_slice().unwrap_or_default()
    }
}

impl From<TrustedBuffer> for DmaBuffer {
    #[inline]
    fn from(buffer: TrustedBuffer) -> DmaBuffer {
        buffer.0
    }
}

impl TryFrom<DmaBuffer> for TrustedBuffer {
    /// The buffer itself, when its device is not trusted.
    type Error = DmaBuffer;

    #[inline]
    fn try_from(buffer: DmaBuffer) -> Result<TrustedBuffer, DmaBuffer> {
        match buffer.is_trusted() {
            true => Ok(TrustedBuffer(buffer)),
            false => Err(buffer),
        }
    }
}
