//! Targets of a vector's interrupts.

use joulio_device::Signaller;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The event that a vector signals.
#[derive(Debug)]
pub(crate) enum Event {
    /// An eventfd, or a test source's interrupt, that only this process has.
    Ours(OwnedFd),
    /// A host's eventfd, whose flags and counter the host can change.
    Theirs {
        /// The eventfd.
        event: OwnedFd,
        /// The signaller that signals it without waiting.
        by: Arc<Signaller>,
    },
}

impl Event {
    /// Signals the event; returns whether that worked.
    pub(super) fn signal(&self) -> bool {
        match self {
            // The counter cannot overflow: the driver would have to miss 2^64 interrupts.
            Event::Ours(event) => rustix::io::write(event, &1u64.to_ne_bytes()).is_ok(),
            Event::Theirs { event, by } => by.signal(event.as_fd()).is_ok(),
        }
    }
}
