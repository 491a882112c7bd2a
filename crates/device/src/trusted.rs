//! Memory of a device that is trusted, whose buffers are slices while the caller has them.
//!
//! A `&[u8]` says that nobody writes the bytes while it lives. Four can: the device, other code of
//! this process, another process, and the device again at somebody else's word. So a slice is only made
//! of memory that
//!
//! - a device reaches which writes during commands only: its type promises that ([`TrustedDevice`]). A
//!   PCIe function behind an IOMMU and the emulated controller do; the peer at the other end of a socket
//!   is another process, and does not;
//! - no other code names: [`TrustedMemory`] is made from a [`SharedMemory`] by value, and hands out nothing but
//!   buffers that do not overlap. Memory of [`DmaMemory::new`], which others may share
//!   ([`DmaMemory::share`]), is never trusted;
//! - no other process maps: not that of a file ([`SharedMemory::is_private`]);
//! - no command names that does not have the buffer: the driver sets every data pointer itself, refuses
//!   commands that come with one or whose length it does not know, and keeps the buffer until the
//!   completion, or until the device has been seen to let go (CSTS.RDY = 0).
//!
//! The device's stores come before its completion entry, behind whose phase tag the queue has an acquire fence;
//! the caller's loads and stores come before the doorbell, which is a release ([`crate::fence`]). So both
//! sides' plain accesses are ordered by the I/O itself.

use crate::{Device, DeviceError, DmaBuffer, DmaMemory, Iova, PageKind, SharedMemory};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A device that is trusted to write memory during commands only.
///
/// # Safety
/// [`Device::allocate`] gives memory that nobody else names. As long as a driver alone writes the device's
/// registers and queues, the device writes into that memory, and what [`Device::reach`] was given, only what
/// a command, outstanding, was given the address for; and into no other.
pub unsafe trait TrustedDevice: Device {}

/// Memory that a trusted device can reach, and that nobody else names. Buffers are made of it:
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

    /// Maps `memory` for `device`: for instance the caller's own, by [`SharedMemory::from_raw`].
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

    /// Device address of the first byte.
    pub fn iova(&self) -> Iova {
        self.0.iova()
    }

    /// Length in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.memory().len()
    }

    /// The pages behind it.
    pub fn pages(&self) -> PageKind {
        self.0.pages()
    }

    /// Cuts it into `count` buffers of `len` bytes, each starting on a page.
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

/// A data buffer whose bytes are a slice while the caller has it: of memory of a trusted device. It
/// goes into a command as a [`DmaBuffer`], and comes back as one (`TrustedBuffer::try_from`).
#[derive(Debug)]
pub struct TrustedBuffer(DmaBuffer);

impl TrustedBuffer {
    /// A buffer that is known to be trusted.
    pub(crate) fn of(buffer: DmaBuffer) -> TrustedBuffer {
        debug_assert!(buffer.is_trusted());
        TrustedBuffer(buffer)
    }

    /// Cuts the buffer in two, as [`DmaBuffer::split_off`].
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
    /// `rest` comes back: it is not of the same memory, or begins elsewhere.
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
    /// The buffer, of a device that is not trusted.
    type Error = DmaBuffer;

    #[inline]
    fn try_from(buffer: DmaBuffer) -> Result<TrustedBuffer, DmaBuffer> {
        match buffer.is_trusted() {
            true => Ok(TrustedBuffer(buffer)),
            false => Err(buffer),
        }
    }
}
