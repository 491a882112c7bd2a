//! Receivers of the interrupts of a vector.

use joulio_device::Signaller;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The event that a vector signals.
#[derive(Debug)]
pub(crate) enum Event {
    /// An eventfd, or an interrupt's source, that nobody outside of this process has.
    Ours(OwnedFd),
    /// A host's eventfd, whose flags and count are the host's as well.
    Theirs {
        /// The eventfd.
        event: OwnedFd,
        /// The signaller that signals it without waiting.
        by: Arc<Signaller>,
    },
}

impl Event {
    /// Signals it; whether that went.
    pub(super) fn signal(&self) -> bool {
        match self {
            // The count cannot overflow before the driver reads it 2^64 interrupts later.
            Event::Ours(event) => rustix::io::write(event, &1u64.to_ne_bytes()).is_ok(),
            Event::Theirs { event, by } => by.signal(event.as_fd()).is_ok(),
        }
    }
}
