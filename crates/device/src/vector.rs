//! Interrupt vectors: an eventfd, and the MSI-X table entry behind it.

use crate::{DeviceError, Iova};
use joulio_units::CpuList;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Control of a device's MSI-X table entries (PCI 3.0, 6.8.2), by its back end.
pub trait VectorControl: Send + Sync + 'static {
    /// Sets or clears the vector's mask bit. Clearing it delivers what became pending meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    fn set_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError>;

    /// Whether a vector is masked by a store to a mapped table, not by a message or a call.
    fn masks_by_store(&self) -> bool {
        false
    }

    /// [`VectorControl::set_mask`] by one posted store: nothing is read back, so that it takes
    /// effect a moment later, in the order of stores to the device. For vectors that were masked or
    /// unmasked by the call before, where masking is a store.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    fn post_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        self.set_mask(vector, masked)
    }

    /// Checks that the entry is masked, if it is to be, and points at `target`, if it is to be
    /// redirected, and sets it again if not. Whether it was so. Who owns the table may write it: a
    /// kernel that moves an interrupt to another CPU, without interrupt remapping, does.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
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

    /// Points the entry at `target`: from now on the interrupt is a write of `data` there, and no
    /// longer reaches the eventfd. `None` puts the entry back.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    fn redirect(&self, vector: u16, target: Option<(Iova, u32)>) -> Result<(), DeviceError>;
}

/// An interrupt vector, masked until [`Vector::unmask`].
pub struct Vector {
    index: u16,
    event: Arc<OwnedFd>,
    control: Arc<dyn VectorControl>,
}

impl Vector {
    /// An eventfd for each of `count` vectors of a device that has `have`.
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

    /// Vectors 0 and up, which signal `events` and whose table entries `control` reaches; masked.
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

    /// A non-blocking, close-on-exec eventfd for a vector.
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

    /// Vector `index`, which signals `event` and whose table entry `control` reaches.
    pub fn new(index: u16, event: OwnedFd, control: Arc<dyn VectorControl>) -> Vector {
        Vector {
            index,
            event: Arc::new(event),
            control,
        }
    }

    /// Number of the vector, as Create I/O Completion Queue takes it.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// Readable when the vector was raised since the last [`Vector::take`].
    pub fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// The eventfd of the vector, shared.
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

    /// Stops delivery; what happens meanwhile becomes pending.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    pub fn mask(&self) -> Result<(), DeviceError> {
        self.control.set_mask(self.index, true)
    }

    /// Starts delivery; what is pending is delivered now.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    pub fn unmask(&self) -> Result<(), DeviceError> {
        self.control.set_mask(self.index, false)
    }

    /// Whether masking is a store to the mapped MSI-X table: cheap enough for a wait.
    pub fn masks_by_store(&self) -> bool {
        self.control.masks_by_store()
    }

    /// [`Vector::mask`] that takes effect a moment later: an interrupt may still come meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    pub fn post_mask(&self) -> Result<(), DeviceError> {
        self.control.post_mask(self.index, true)
    }

    /// [`Vector::unmask`] that takes effect a moment later: so may the delivery of what is pending.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    pub fn post_unmask(&self) -> Result<(), DeviceError> {
        self.control.post_mask(self.index, false)
    }

    /// Redirects the interrupt: from now on it writes `data` to the DMA memory at `target` instead of signalling the
    /// eventfd. The memory must stay mapped until [`Vector::restore`].
    ///
    /// # Errors [`DeviceError::VectorTable`] when the table cannot be accessed, and errors of the back end.
    pub fn redirect(&self, target: Iova, data: u32) -> Result<(), DeviceError> {
        self.control.redirect(self.index, Some((target, data)))
    }

    /// Sets the entry again if somebody else has written it since; whether it was as it should be.
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    pub fn keep(&self, masked: bool, target: Option<(Iova, u32)>) -> Result<bool, DeviceError> {
        self.control.keep(self.index, masked, target)
    }

    /// Undoes [`Vector::redirect`].
    ///
    /// # Errors
    /// [`DeviceError::VectorTable`] when the table is out of reach, and what the back end says.
    pub fn restore(&self) -> Result<(), DeviceError> {
        self.control.redirect(self.index, None)
    }
}

/// Interrupts that a vector is believed to have raised since the last read: far more than a
/// device can, and few enough that their sum never overflows.
const MAX_RAISED: u64 = u32::MAX as u64;

/// The count of an eventfd, which is zero afterwards. Does not block: O_NONBLOCK is not enough for
/// that, since whoever else has the eventfd can clear it at any time (Linux 5.9; older kernels
/// go by the flag).
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

/// -1: as read(2), at no position (preadv2(2)).
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
