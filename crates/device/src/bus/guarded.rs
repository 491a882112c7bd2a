//! The mappings that the handler of SIGBUS serves, in a list that it can read without a lock.
//!
//! Slots are never freed, only reused; each has a version, which is odd while the slot changes. The handler searches
//! for the mapping whose access it interrupted: the slot of that mapping does not change meanwhile, and a slot that
//! does change is skipped.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The content that replaces a page that vanished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Zeroes: memory whose file was truncated.
    Zeroes,
    /// All ones: registers whose device is gone.
    Ones,
}

/// A mapping that contains an address.
pub(super) struct Place {
    /// Addresses of the whole mapping.
    pub(super) range: Range<usize>,
    /// Size of its pages in bytes.
    pub(super) page: usize,
    pub(super) fill: Fill,
    /// Number of pages of it that vanished before.
    pub(super) vanished: usize,
}

#[derive(Default)]
struct Slot {
    version: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    page: AtomicUsize,
    ones: AtomicBool,
    vanished: AtomicUsize,
}

const SLOTS: usize = 64;

struct Chunk {
    slots: [Slot; SLOTS],
    next: *const Chunk,
}

/// The chunk that was allocated last.
static CHUNKS: AtomicPtr<Chunk> = AtomicPtr::new(std::ptr::null_mut());

/// The free slots.
static FREE: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

/// A guarded mapping: no longer guarded when this is dropped, which is before it is unmapped.
#[derive(Debug)]
pub(crate) struct Guard(&'static Slot);

impl Guard {
    pub(super) fn new(range: Range<usize>, page: usize, fill: Fill) -> Guard {
        let mut free = free();
        let slot = free.pop().unwrap_or_else(|| more(&mut free));
        slot.set(range, page, fill);
        Guard(slot)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(0..0, 0, Fill::Zeroes);
        free().push(self.0);
    }
}

fn free() -> MutexGuard<'static, Vec<&'static Slot>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates another chunk and returns its first slot; the others become free.
fn more(free: &mut Vec<&'static Slot>) -> &'static Slot {
    let chunk: &'static Chunk = Box::leak(Box::new(Chunk {
        slots: std::array::from_fn(|_| Slot::default()),
        next: CHUNKS.load(SeqCst),
    }));
    CHUNKS.store(std::ptr::from_ref(chunk).cast_mut(), SeqCst);
    let [first, others @ ..] = &chunk.slots;
    free.extend(others);
    first
}

impl Slot {
    fn set(&self, range: Range<usize>, page: usize, fill: Fill) {
        self.version.fetch_add(1, SeqCst);
        self.start.store(range.start, SeqCst);
        self.end.store(range.end, SeqCst);
        self.page.store(page, SeqCst);
        self.ones.store(fill == Fill::Ones, SeqCst);
        self.vanished.store(0, SeqCst);
        self.version.fetch_add(1, SeqCst);
    }

    /// Returns the slot's mapping if it contains `address`, whose page vanished; `None` also while the slot is being
    /// changed.
    fn find(&self, address: usize) -> Option<Place> {
        let version = self.version.load(SeqCst);
        let range = self.start.load(SeqCst)..self.end.load(SeqCst);
        if !range.contains(&address) {
            return None;
        }
        let place = Place {
            range,
            page: self.page.load(SeqCst),
            fill: if self.ones.load(SeqCst) {
                Fill::Ones
            } else {
                Fill::Zeroes
            },
            vanished: self.vanished.fetch_add(1, SeqCst),
        };
        let steady = version.is_multiple_of(2) && self.version.load(SeqCst) == version;
        steady.then_some(place)
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = self.start.load(SeqCst)..self.end.load(SeqCst);
        f.debug_tuple("Slot").field(&range).finish()
    }
}

/// Finds the guarded mapping that contains `address`, whose page vanished. Takes no lock.
pub(super) fn find(address: usize) -> Option<Place> {
    let mut chunk: *const Chunk = CHUNKS.load(SeqCst);
    // SAFETY: chunks are leaked: a pointer to one stays valid, and only its atomics change.
    while let Some(some) = unsafe { chunk.as_ref() } {
        if let Some(place) = some.slots.iter().find_map(|slot| slot.find(address)) {
            return Some(place);
        }
        chunk = some.next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_found_as_long_as_it_is_guarded() {
        // Addresses that are in no mapping.
        let base = 1 << 60;
        let guards: Vec<_> = (0..3 * SLOTS)
            .map(|index| {
                let start = base + index * 8192;
                Guard::new(start..start + 4096, 4096, Fill::Ones)
            })
            .collect();
        for index in 0..3 * SLOTS {
            let start = base + index * 8192;
            assert!(find(start).is_some_and(|place| place.fill == Fill::Ones));
            assert!(find(start + 4095).is_some());
            assert!(find(start + 4096).is_none());
        }
        drop(guards);
        assert!((0..6 * SLOTS).all(|index| find(base + index * 4096).is_none()));
    }

    #[test]
    fn slots_are_used_again() {
        let base = 2 << 60;
        let before = (0..100).map(|_| {
            let guard = Guard::new(base..base + 4096, 4096, Fill::Zeroes);
            std::ptr::from_ref(guard.0) as usize
        });
        let mut slots: Vec<_> = before.collect();
        slots.sort_unstable();
        slots.dedup();
        // Other tests use some meanwhile.
        assert!(slots.len() < 50, "{}", slots.len());
    }
}
