//! Handles in a child of fork(2): they are the parent's, whose devices a child must not use.

use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// First word of a handle that was live in the parent when it called fork(2): eight letters.
pub(crate) const MARK: u64 = u64::from_le_bytes(*b"jlParent");

/// Memory of a handle, in a list of all.
struct Made {
    /// First word of the memory, which is never freed.
    mark: *mut u64,
    /// The one that was made before.
    before: *mut Made,
}

/// The handle's memory that was made last.
static LAST: AtomicPtr<Made> = AtomicPtr::new(null_mut());

/// Records new memory of a handle, which begins with `mark` and is never freed.
pub(crate) fn record(mark: *mut u64) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without memory for this a child finds out by itself.
        // SAFETY: the function calls nothing and takes no lock.
        unsafe { libc::pthread_atfork(None, None, Some(mark_all)) };
    });
    let before = null_mut();
    let made = Box::into_raw(Box::new(Made { mark, before }));
    let mut before = LAST.load(Ordering::Relaxed);
    loop {
        // SAFETY: nobody else has it before it is in the list.
        unsafe { (*made).before = before };
        match LAST.compare_exchange_weak(before, made, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(newer) => before = newer,
        }
    }
}

/// Marks each live handle as the parent's. Called in the child, in its only thread.
unsafe extern "C" fn mark_all() {
    let mut at = LAST.load(Ordering::Acquire);
    while !at.is_null() {
        // SAFETY: entries and the memory of handles are never freed, and the child has no other thread.
        unsafe {
            if *(*at).mark != 0 {
                *(*at).mark = MARK;
            }
            at = (*at).before;
        }
    }
}
