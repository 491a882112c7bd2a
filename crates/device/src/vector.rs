//! Interrupt vectors: an eventfd and an MSI-X table entry each.

use crate::{DeviceError, Iova};
use joulio_units::CpuList;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Control of a device's MSI-X table entries (PCI 3.0, 6.8.2), implemented by its back end.
pub trait VectorControl: Send + Sync + 'static {
    /// Sets or clears the vector's mask bit. Clearing it delivers interrupts that became pending meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    fn set_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError>;

    /// Whether a vector is masked by a store to a mapped table, not by a message or a call.
    fn masks_by_store(&self) -> bool {
        false
    }

    /// Masks or unmasks as [`VectorControl::set_mask`] does, but by one posted store: nothing is read back, so that it
    /// takes effect a moment later, in the order of stores to the device. For vectors that an earlier call of
    /// `set_mask` has masked or unmasked, where masking is a store.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    fn post_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        self.set_mask(vector, masked)
    }

    /// Checks that the entry is still masked, if it is to be, and still points at `target`, if it is redirected, and
    /// sets it again if not; returns whether it was right. The owner of the table may write it: a kernel does when it
    /// moves an interrupt to another CPU without interrupt remapping.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    fn keep(
        &self,
        vector: u16,
        masked: bool,
        target: Option<(Iova, u32)>,
    ) -> Result<bool, DeviceError> {
        let _ = (vector, masked, target);
        Ok(true)
    }

    /// Directs the vector's interrupt to `cpu` and returns the CPUs that it is then delivered to; `None` if it is no
    /// interrupt of this machine.
    ///
    /// # Errors
    /// The system's: it takes root to change it, or the CPU is not online.
    fn direct(&self, vector: u16, cpu: usize) -> Result<Option<CpuList>, DeviceError> {
        let _ = (vector, cpu);
        Ok(None)
    }

    /// Returns the CPUs that the vector's interrupt is delivered to; `None` if it is no interrupt of this machine.
    ///
    /// # Errors
    /// The system does not say it.
    fn cpus(&self, vector: u16) -> Result<Option<CpuList>, DeviceError> {
        let _ = vector;
        Ok(None)
    }

    /// Points the entry at `target`: from now on the interrupt is a write of `data` there, and no longer reaches the
    /// eventfd. `None` restores the entry.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    fn redirect(&self, vector: u16, target: Option<(Iova, u32)>) -> Result<(), DeviceError>;
}

/// An interrupt vector, masked until [`Vector::unmask`].
pub struct Vector {
    index: u16,
    event: Arc<OwnedFd>,
    control: Arc<dyn VectorControl>,
}

impl Vector {
    /// Makes an eventfd for each of `count` vectors of a device that has `have`.
    ///
    /// # Errors
    /// [`DeviceError::Vectors`] when the device has fewer; [`DeviceError::Os`] without a descriptor
    /// left.
    pub fn eventfds(count: u16, have: u16) -> Result<Vec<OwnedFd>, DeviceError> {
        if count > have {
            return Err(DeviceError::Vectors {
                wanted: count,
                have,
            });
        }
        (0..count).map(|_| Vector::eventfd()).collect()
    }

    /// Makes masked vectors, numbered from 0, which signal `events` and whose table entries `control` accesses.
    pub(crate) fn masked(
        events: Vec<OwnedFd>,
        control: &Arc<impl VectorControl>,
    ) -> Result<Vec<Vector>, DeviceError> {
        (0..)
            .zip(events)
            .map(|(index, event)| {
                let vector = Vector::new(index, event, Arc::clone(control) as _);
                vector.mask().map(|()| vector)
            })
            .collect()
    }

    /// Makes a non-blocking, close-on-exec eventfd for a vector.
    ///
    /// # Errors
    /// [`DeviceError::Os`] without a descriptor left.
    pub fn eventfd() -> Result<OwnedFd, DeviceError> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|error| {
            DeviceError::Os {
                what: "create an eventfd".into(),
                source: error.into(),
            }
        })
    }

    /// Makes vector `index`, which signals `event` and whose table entry `control` accesses.
    pub fn new(index: u16, event: OwnedFd, control: Arc<dyn VectorControl>) -> Vector {
        Vector {
            index,
            event: Arc::new(event),
            control,
        }
    }

    /// Returns the number of the vector, as Create I/O Completion Queue takes it.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// Returns the eventfd, which is readable when the vector was raised since the last [`Vector::take`].
    pub fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Returns the eventfd of the vector, shared.
    pub(crate) fn event_shared(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.event)
    }

    /// Returns the number of interrupts since the last call and resets it. At most 2^32 - 1: a process at the other end
    /// of a socket can write any count. Does not block.
    pub fn take(&self) -> u64 {
        take(self.event()).min(MAX_RAISED)
    }

    /// Directs the interrupt to `cpu`, as [`VectorControl::direct`] does.
    ///
    /// # Errors
    /// The system's: it takes root to change it, or the CPU is not online.
    pub fn direct(&self, cpu: usize) -> Result<Option<CpuList>, DeviceError> {
        self.control.direct(self.index, cpu)
    }

    /// Returns the CPUs that the interrupt is delivered to, as [`VectorControl::cpus`] does.
    ///
    /// # Errors
    /// The system does not say it.
    pub fn cpus(&self) -> Result<Option<CpuList>, DeviceError> {
        self.control.cpus(self.index)
    }

    /// Masks the vector: interrupts become pending instead of being delivered.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn mask(&self) -> Result<(), DeviceError> {
        self.control.set_mask(self.index, true)
    }

    /// Unmasks the vector; a pending interrupt is delivered at once.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn unmask(&self) -> Result<(), DeviceError> {
        self.control.set_mask(self.index, false)
    }

    /// Whether masking is a store to the mapped MSI-X table: cheap enough for a wait.
    pub fn masks_by_store(&self) -> bool {
        self.control.masks_by_store()
    }

    /// Masks the vector as [`Vector::mask`] does, but a moment later: an interrupt may still come meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn post_mask(&self) -> Result<(), DeviceError> {
        self.control.post_mask(self.index, true)
    }

    /// Unmasks the vector as [`Vector::unmask`] does, but a moment later: a pending interrupt may be late by as much.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn post_unmask(&self) -> Result<(), DeviceError> {
        self.control.post_mask(self.index, false)
    }

    /// Redirects the interrupt: from now on it writes `data` to the DMA memory at `target` instead of signalling the
    /// eventfd. The memory must stay mapped until [`Vector::restore`].
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn redirect(&self, target: Iova, data: u32) -> Result<(), DeviceError> {
        self.control.redirect(self.index, Some((target, data)))
    }

    /// Sets the entry again if somebody else has written it since; returns whether it was unchanged.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn keep(&self, masked: bool, target: Option<(Iova, u32)>) -> Result<bool, DeviceError> {
        self.control.keep(self.index, masked, target)
    }

    /// Restores the entry that [`Vector::redirect`] changed: interrupts signal the eventfd again.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn restore(&self) -> Result<(), DeviceError> {
        self.control.redirect(self.index, None)
    }
}

/// Most interrupts that are believed of a vector since the last read: far more than a device can raise, and few enough
/// that their sum never overflows.
const MAX_RAISED: u64 = u32::MAX as u64;

/// Reads the counter of an eventfd and resets it. Does not block: O_NONBLOCK is not enough for that, since any other
/// owner of the eventfd can clear it at any time (Linux 5.9; older kernels go by the flag).
pub(crate) fn take(event: BorrowedFd<'_>) -> u64 {
    let mut count = [0u8; 8];
    let mut parts = [IoSliceMut::new(&mut count)];
    let read = match preadv2(event, &mut parts, NO_POSITION, ReadWriteFlags::NOWAIT) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => rustix::io::read(event, &mut count),
        other => other,
    };
    match read {
        Ok(8) => u64::from_ne_bytes(count),
        _ => 0,
    }
}

/// Offset -1 of preadv2(2): reads as read(2) does, at no position.
const NO_POSITION: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eventfd_whose_flags_another_has_changed_is_not_waited_for() {
        let event = eventfd(3, EventfdFlags::CLOEXEC).unwrap();
        assert_eq!(take(event.as_fd()), 3);
        assert_eq!(take(event.as_fd()), 0);
    }

    struct NoTable;

    impl VectorControl for NoTable {
        fn set_mask(&self, _: u16, _: bool) -> Result<(), DeviceError> {
            Ok(())
        }
        fn redirect(&self, _: u16, _: Option<(Iova, u32)>) -> Result<(), DeviceError> {
            Ok(())
        }
    }

    #[test]
    fn a_count_that_no_device_can_have_raised_is_not_believed() {
        let vector = Vector::new(0, Vector::eventfd().unwrap(), Arc::new(NoTable));
        for count in [u64::MAX - 1, 1 << 63] {
            rustix::io::write(vector.event(), &count.to_ne_bytes()).unwrap();
            assert_eq!(vector.take(), u64::from(u32::MAX));
            assert_eq!(vector.take(), 0);
        }
    }
}
