//! Waking a core from another thread.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Result, read, write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// The core runs, and was not woken since [`Waker::take`].
const AWAKE: u8 = 0;
/// The core was woken and has not called [`Waker::take`] yet.
const WOKEN: u8 = 1;
/// The core blocks on the eventfd, or is about to.
const ASLEEP: u8 = 2;

/// Handle by which any thread wakes a core, whatever its kind of wait. A clone wakes the same core.
///
/// A system call is made only for a core that blocks or sleeps. A core that polls sees the wake at the next poll, and
/// one in a user-level wait at the end of that wait.
///
/// Dropping a handle wakes the core too, so that a core that waits only for handles finds that none is left.
#[derive(Debug)]
pub struct Waker {
    core: Arc<CoreState>,
    event: Arc<OwnedFd>,
}

/// State that all handles of a core share.
#[derive(Debug)]
struct CoreState {
    state: AtomicU8,
    /// Number of handles. The reference count will not do: it falls only after a handle can no longer wake.
    handles: AtomicUsize,
    /// Writes to the eventfd that are still under way although the core has taken their wakes. Only the core uses it.
    late: AtomicU64,
}

impl Waker {
    /// Creates the waker of a core.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> Result<Waker> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Waker {
            core: Arc::new(CoreState {
                state: AtomicU8::new(AWAKE),
                handles: AtomicUsize::new(1),
                late: AtomicU64::new(0),
            }),
            event: Arc::new(event),
        })
    }

    /// Wakes the core. Writes of the caller before this are visible to the core after [`Waker::take`].
    pub fn wake(&self) {
        if self.core.state.swap(WOKEN, Ordering::AcqRel) == ASLEEP {
            // Fails after 2^64 - 1 wakes that were not taken: then the eventfd is readable anyway.
            let _ = write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    /// Returns whether the core was woken since [`Waker::take`].
    #[inline]
    pub fn is_woken(&self) -> bool {
        self.core.state.load(Ordering::Relaxed) == WOKEN
    }

    /// Takes a wake; returns whether there was one.
    #[inline]
    pub fn take(&self) -> bool {
        self.is_woken() && self.core.state.swap(AWAKE, Ordering::AcqRel) == WOKEN
    }

    /// Announces that the core is about to block on [`Waker::event`]; returns false if it was woken and must not
    /// block.
    pub fn fall_asleep(&self) -> bool {
        let asleep = Ordering::AcqRel;
        let fell = self
            .core
            .state
            .compare_exchange(AWAKE, ASLEEP, asleep, Ordering::Relaxed);
        fell.is_ok()
    }

    /// Announces that the core has blocked; returns whether it was woken. A wake that is under way may end one of the
    /// next blocks too early.
    pub fn get_up(&self) -> bool {
        let up = Ordering::AcqRel;
        let nobody = self
            .core
            .state
            .compare_exchange(ASLEEP, AWAKE, up, Ordering::Relaxed);
        let woken = nobody.is_err();
        // Each wake of a sleeping core is one write, which may come after the core got up and took the wake.
        let writes = self.core.late.load(Ordering::Relaxed) + u64::from(woken);
        if writes > 0 {
            let left = writes.saturating_sub(self.read_event());
            self.core.late.store(left, Ordering::Relaxed);
        }
        woken
    }

    /// Empties the eventfd, and returns the number of writes that it held.
    fn read_event(&self) -> u64 {
        let mut writes = [0; 8];
        match read(&self.event, &mut writes) {
            Ok(_) => u64::from_ne_bytes(writes),
            // Empty while the write is still under way.
            Err(_) => 0,
        }
    }

    /// Returns the descriptor that is readable once a sleeping core was woken.
    pub fn event(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.event)
    }

    /// Returns the number of handles that can wake the core, this one included. A core that reads the number also
    /// sees the wakes by handles that are gone.
    pub fn handles(&self) -> usize {
        self.core.handles.load(Ordering::Acquire)
    }
}

impl Clone for Waker {
    fn clone(&self) -> Waker {
        self.core.handles.fetch_add(1, Ordering::Relaxed);
        Waker {
            core: Arc::clone(&self.core),
            event: Arc::clone(&self.event),
        }
    }
}

impl Drop for Waker {
    /// Counts the handle out before it wakes the core, which then finds the new count.
    fn drop(&mut self) {
        self.core.handles.fetch_sub(1, Ordering::AcqRel);
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{now, poll_until};
    use joulio_units::Nanos;
    use rustix::event::{PollFd, PollFlags};

    fn is_readable(waker: &Waker) -> bool {
        let mut fds = [PollFd::new(&waker.event, PollFlags::IN)];
        poll_until(&mut fds, now()).unwrap() > 0
    }

    #[test]
    fn only_a_sleeping_core_is_woken_by_a_system_call() {
        let waker = Waker::new().unwrap();
        waker.wake();
        assert!(waker.is_woken() && !is_readable(&waker));
        assert!(!waker.fall_asleep(), "it was woken");
        assert!(waker.take() && !waker.take());
        assert!(waker.fall_asleep());
        let other = waker.clone();
        other.wake();
        assert!(is_readable(&waker));
        assert!(waker.get_up() && !is_readable(&waker));
        assert!(waker.take() && waker.handles() == 2);
    }

    #[test]
    fn a_core_that_sleeps_finds_that_a_handle_is_gone() {
        let waker = Waker::new().unwrap();
        let other = waker.clone();
        assert!(waker.handles() == 2 && waker.fall_asleep());
        drop(other);
        assert!(waker.handles() == 1 && is_readable(&waker));
        assert!(waker.get_up() && waker.take());
    }

    #[test]
    fn a_core_that_wakes_by_itself_was_not_woken() {
        let waker = Waker::new().unwrap();
        assert!(waker.fall_asleep());
        assert!(!waker.get_up());
        assert!(!waker.take());
    }

    #[test]
    fn a_late_write_ends_one_block_too_early_and_no_more() {
        let waker = Waker::new().unwrap();
        let write_now = || write(&waker.event, &1_u64.to_ne_bytes()).unwrap();
        // Threads that are kept from their CPU between the two parts of a wake.
        for late in 1..=2 {
            for _ in 0..late {
                assert!(waker.fall_asleep());
                assert_eq!(waker.core.state.swap(WOKEN, Ordering::AcqRel), ASLEEP);
                assert!(waker.get_up() && waker.take());
            }
            for _ in 0..late {
                assert!(waker.fall_asleep());
                write_now();
                assert!(is_readable(&waker));
                assert!(!waker.get_up(), "the wake was taken before");
                assert!(!is_readable(&waker));
            }
            assert_eq!(waker.core.late.load(Ordering::Relaxed), 0);
        }
        // A wake that comes meanwhile is not mixed up with the late write.
        assert!(waker.fall_asleep());
        waker.core.state.swap(WOKEN, Ordering::AcqRel);
        assert!(waker.get_up() && waker.take() && waker.fall_asleep());
        waker.wake();
        assert!(waker.get_up() && waker.take() && waker.fall_asleep());
        write_now();
        assert!(!waker.get_up() && !is_readable(&waker));
    }

    /// Each wake ends a block or is seen before it; a core that misses one would sleep for ever.
    #[test]
    fn no_wake_is_lost_however_the_two_meet() {
        const WAKES: u32 = 2_000;
        let waker = Waker::new().unwrap();
        let other = waker.clone();
        let (taken, next) = std::sync::mpsc::channel();
        let waking = std::thread::spawn(move || {
            for _ in 0..WAKES {
                other.wake();
                next.recv().unwrap();
            }
        });
        for _ in 0..WAKES {
            while !waker.take() {
                if waker.fall_asleep() {
                    let mut fds = [PollFd::new(&waker.event, PollFlags::IN)];
                    poll_until(&mut fds, Nanos::MAX).unwrap();
                    waker.get_up();
                }
            }
            taken.send(()).unwrap();
        }
        waking.join().unwrap();
    }
}
