//! A host's settings of vectors (DEVICE_SET_IRQS).

use crate::controller::Event;
use crate::shared::Shared;
use joulio_device::Signaller;
use joulio_vfio_user_wire::{IrqInfo, IrqSet, pci};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// Describes the interrupts of kind `index`: only MSI-X is supported.
pub(super) fn info(index: u32, vectors: u16) -> Result<IrqInfo, Errno> {
    if index >= pci::IRQS {
        return Err(Errno::INVAL);
    }
    let (flags, count) = if index == pci::MSIX {
        (IrqInfo::EVENTFD | IrqInfo::MASKABLE, u32::from(vectors))
    } else {
        (0, 0)
    };
    Ok(IrqInfo {
        argsz: IrqInfo::BYTES as u32,
        flags,
        index,
        count,
    })
}

const DATA: u32 = IrqSet::DATA_NONE | IrqSet::DATA_BOOL | IrqSet::DATA_EVENTFD;
const ACTION: u32 = IrqSet::MASK | IrqSet::UNMASK | IrqSet::TRIGGER;

/// Executes the request `requested`, with the `data` and `fds` behind it; the eventfds are signalled through `by` from
/// now on.
pub(super) fn set(
    shared: &Shared,
    by: &Arc<Signaller>,
    requested: &IrqSet,
    data: &[u8],
    fds: Vec<OwnedFd>,
) -> Result<(), Errno> {
    let (kind, action) = (requested.flags & DATA, requested.flags & ACTION);
    if requested.flags != kind | action || requested.index >= pci::IRQS {
        return Err(Errno::INVAL);
    }
    if kind == IrqSet::DATA_NONE && action == IrqSet::TRIGGER && requested.count == 0 {
        if requested.index == pci::MSIX {
            wire(shared, by, 0..shared.vectors, Vec::new());
        }
        return Ok(());
    }
    let end = requested
        .start
        .checked_add(requested.count)
        .ok_or(Errno::INVAL)?;
    if requested.index != pci::MSIX || end > u32::from(shared.vectors) {
        return Err(Errno::INVAL);
    }
    // Both fit, since the number of vectors does.
    let range = requested.start as u16..end as u16;
    match (kind, action) {
        (IrqSet::DATA_EVENTFD, IrqSet::TRIGGER) => {
            if !fds.is_empty() && fds.len() != range.len() {
                return Err(Errno::INVAL);
            }
            fds.iter().try_for_each(check_event)?;
            wire(shared, by, range, fds);
            Ok(())
        }
        (IrqSet::DATA_NONE, _) => act(shared, action, range),
        (IrqSet::DATA_BOOL, _) => {
            let chosen = data.get(..range.len()).ok_or(Errno::INVAL)?;
            let chosen = range.zip(chosen).filter(|&(_, &meant)| meant != 0);
            act(shared, action, chosen.map(|(vector, _)| vector))
        }
        _ => Err(Errno::INVAL),
    }
}

fn wire(shared: &Shared, by: &Arc<Signaller>, vectors: std::ops::Range<u16>, fds: Vec<OwnedFd>) {
    let mut controller = shared.controller_first();
    let mut fds = fds.into_iter();
    for vector in vectors {
        let event = fds.next().map(|event| Event::Theirs {
            event,
            by: Arc::clone(by),
        });
        controller.wire(vector, event);
    }
}

fn act(shared: &Shared, action: u32, vectors: impl Iterator<Item = u16>) -> Result<(), Errno> {
    let mut controller = shared.controller_first();
    for vector in vectors {
        match action {
            IrqSet::MASK => {
                controller.set_mask(vector, true);
            }
            IrqSet::UNMASK => {
                controller.set_mask(vector, false);
            }
            IrqSet::TRIGGER => controller.trigger(vector),
            _ => return Err(Errno::INVAL),
        }
    }
    Ok(())
}

/// Checks that an event is an eventfd. A [`Signaller`] signals it without blocking, whatever the host does to its flags
/// and its counter: the device's thread must never wait for a host.
fn check_event(fd: &OwnedFd) -> Result<(), Errno> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let kind = std::fs::read_link(link).map_err(|_| Errno::INVAL)?;
    if kind != Path::new("anon_inode:[eventfd]") {
        return Err(Errno::INVAL);
    }
    Ok(())
}
