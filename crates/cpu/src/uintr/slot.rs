//! Marks that the handler sets.

use super::UintrError;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Number of user vectors, which have 6 bits (Intel SDM volume 3, chapter 7, "User Interrupts").
pub(crate) const SLOTS: usize = 64;

/// Mark and count that the handler writes for one receiver, in a cache line of its own. The handler relies on the
/// offsets.
#[derive(Debug)]
#[allow(dead_code, reason = "some fields are read by assembly alone")]
#[repr(C, align(64))]
pub(crate) struct HandlerState {
    /// Not zero: the handler has run since this was cleared.
    pub(crate) mark: AtomicU32,
    /// Number of times that the handler ran.
    pub(crate) count: AtomicU64,
    /// Stack pointers of the polling and of the low-power thread while the other runs, and the counter value at which
    /// the latter ends its pause: for a hand-over.
    pub(crate) polling: AtomicU64,
    pub(crate) low_power: AtomicU64,
    pub(crate) deadline: AtomicU64,
}

/// State by user vector. A table, so that the handler finds its line from the values that the CPU pushes and needs no
/// register for it.
pub(crate) static STATES: [HandlerState; SLOTS] = [const {
    HandlerState {
        mark: AtomicU32::new(0),
        count: AtomicU64::new(0),
        polling: AtomicU64::new(0),
        low_power: AtomicU64::new(0),
        deadline: AtomicU64::new(0),
    }
}; SLOTS];

/// Slots in use: bit n is slot n.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// One of the 64 user vectors of this process, with its state; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot(u8);

impl Slot {
    /// Takes the first free slot.
    pub(super) fn take() -> Result<Slot, UintrError> {
        let mut taken = TAKEN.load(Ordering::Relaxed);
        loop {
            let free = taken.trailing_ones();
            if free as usize == SLOTS {
                return Err(UintrError::TooMany);
            }
            let with = taken | 1 << free;
            match TAKEN.compare_exchange(taken, with, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(Slot(free as u8)),
                Err(now) => taken = now,
            }
        }
    }

    /// Returns the slot's user vector.
    pub(super) fn vector(&self) -> u32 {
        self.0.into()
    }

    /// Returns the slot's state.
    pub(super) fn state(&self) -> &'static HandlerState {
        &STATES[usize::from(self.0)]
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        TAKEN.fetch_and(!(1 << self.0), Ordering::Release);
    }
}

impl HandlerState {
    /// Clears the mark. The caller's later reads come after this.
    #[inline]
    pub(crate) fn clear(&self) {
        self.mark.store(0, Ordering::Relaxed);
        // The handler runs on this thread: it sees the order of the thread's instructions, so that only the compiler
        // has to keep it.
        compiler_fence(Ordering::SeqCst);
    }

    /// Returns whether the mark is set.
    #[inline]
    pub(crate) fn marked(&self) -> bool {
        compiler_fence(Ordering::SeqCst);
        self.mark.load(Ordering::Relaxed) != 0
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn a_state_is_a_line_as_the_handler_expects_it() {
        assert_eq!(
            (size_of::<HandlerState>(), align_of::<HandlerState>()),
            (64, 64)
        );
        assert_eq!(offset_of!(HandlerState, mark), 0);
        assert_eq!(offset_of!(HandlerState, count), 8);
        assert_eq!(&raw const STATES as usize % 64, 0);
    }

    #[test]
    fn slots_are_each_given_once_until_they_are_free_again() {
        let mut all = Vec::new();
        while let Ok(slot) = Slot::take() {
            all.push(slot);
        }
        assert!(matches!(Slot::take(), Err(UintrError::TooMany)));
        let mut vectors: Vec<_> = all.iter().map(Slot::vector).collect();
        vectors.sort_unstable();
        vectors.dedup();
        assert_eq!(vectors.len(), all.len());
        let freed = all.pop().map(|slot| slot.vector());
        assert_eq!(Slot::take().ok().map(|slot| slot.vector()), freed);
    }
}
