//! The eventfds of several vectors, prepared for repeated calls of poll(2).
//!
//! poll(2) takes an array of descriptors without owners. Here the array is kept beside the owners and changes only
//! together with them, so that a number that belongs to another file by now is never polled.

use crate::Vector;
use rustix::event::{PollFd, PollFlags};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Vectors to wait for together: built once, polled for each wait.
#[derive(Default)]
pub struct VectorSet {
    /// Poll entries of `events`, in their order. Lent only with a lifetime that callers cannot name, so that no
    /// descriptor with a shorter lifetime can be put in.
    fds: Vec<PollFd<'static>>,
    events: Vec<Arc<OwnedFd>>,
}

impl VectorSet {
    /// Makes a set without vectors.
    pub fn new() -> VectorSet {
        VectorSet::default()
    }

    /// Reserves room for `vectors` in total.
    pub fn reserve(&mut self, vectors: usize) {
        self.fds.reserve(vectors.saturating_sub(self.fds.len()));
        let more = vectors.saturating_sub(self.events.len());
        self.events.reserve(more);
    }

    /// Removes all vectors; keeps the allocated room.
    pub fn clear(&mut self) {
        self.fds.clear();
        self.events.clear();
    }

    /// Adds `vector`.
    pub fn push(&mut self, vector: &Vector) {
        self.push_event(vector.event_shared());
    }

    /// Adds an eventfd that is not of a vector.
    pub fn push_event(&mut self, event: Arc<OwnedFd>) {
        // SAFETY: `events` keeps the descriptor open for as long as `fds` has it, and `fds` is
        // lent only with a shorter lifetime than its own (`poll`).
        let fd = unsafe { BorrowedFd::borrow_raw(event.as_raw_fd()) };
        self.fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        self.events.push(event);
    }

    /// Calls `poll` with the array that poll(2) takes.
    pub fn poll<R>(&mut self, poll: impl for<'fd> FnOnce(&mut [PollFd<'fd>]) -> R) -> R {
        poll(&mut self.fds)
    }

    /// Returns whether the vector that was added as number `index` was raised at the last poll.
    ///
    /// # Panics
    /// When there is none.
    pub fn was_raised(&self, index: usize) -> bool {
        self.fds[index].revents().contains(PollFlags::IN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceError, Iova, VectorControl};
    use rustix::event::poll;
    use rustix::io::write;
    use rustix::time::Timespec;

    struct Nothing;

    impl VectorControl for Nothing {
        fn set_mask(&self, _: u16, _: bool) -> Result<(), DeviceError> {
            Ok(())
        }
        fn redirect(&self, _: u16, _: Option<(Iova, u32)>) -> Result<(), DeviceError> {
            Ok(())
        }
    }

    const AT_ONCE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };

    #[test]
    fn a_set_outlives_its_vectors_and_names_who_was_raised() {
        let control: Arc<dyn VectorControl> = Arc::new(Nothing);
        let vector = |index| Vector::new(index, Vector::eventfd().unwrap(), Arc::clone(&control));
        let (one, other) = (vector(0), vector(1));
        let mut set = VectorSet::new();
        set.push(&one);
        set.push(&other);
        assert_eq!(set.poll(|fds| poll(fds, Some(&AT_ONCE))), Ok(0));
        write(other.event(), &1u64.to_ne_bytes()).unwrap();
        drop((one, other));
        assert_eq!(set.poll(|fds| poll(fds, Some(&AT_ONCE))), Ok(1));
        assert!(!set.was_raised(0) && set.was_raised(1));
    }
}
