//! The kernel's request to release the device, when it is unplugged or unbound.
//!
//! The requester waits until the device is closed; until then the device stays readable.

use super::container::os;
use super::ioctl;
use super::retry::connect_up_to;
use crate::DeviceError;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use vfio_bindings::bindings::vfio as sys;

/// Subscription to the kernel's request.
pub(super) struct Removal {
    /// Eventfd that the kernel signals, and that is never read: a request is not withdrawn. `None` on kernels that do
    /// not report it.
    event: Option<OwnedFd>,
}

impl Removal {
    /// Subscribes to the kernel's request (VFIO_PCI_REQ_IRQ_INDEX, Linux 4.0).
    pub(super) fn watch(device: BorrowedFd<'_>) -> Result<Removal, DeviceError> {
        let index = sys::VFIO_PCI_REQ_IRQ_INDEX;
        if ioctl::irq_count(device, index).unwrap_or(0) == 0 {
            return Ok(Removal { event: None });
        }
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags).map_err(|error| os("make an eventfd")(error.into()))?;
        let events = [event.as_raw_fd()];
        connect_up_to(&events, |events| ioctl::set_irqs(device, index, events))
            .map_err(os("VFIO_DEVICE_SET_IRQS (device request)"))?;
        Ok(Removal { event: Some(event) })
    }

    /// Whether the kernel has requested that the device be released.
    pub(super) fn is_requested(&self) -> bool {
        self.event.as_ref().is_some_and(|event| {
            let mut fds = [PollFd::new(event, PollFlags::IN)];
            let now = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
        })
    }
}
