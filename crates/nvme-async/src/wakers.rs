//! Wakers to wake once no lock is held.

use std::task::Waker;

/// Wakers to wake once no lock is held.
pub(crate) type Wakers = Vec<Waker>;

/// Wakes all of `wake`; no lock may be held.
#[inline]
pub(crate) fn wake_all(wake: &mut Wakers) {
    match wake.len() {
        // Draining a vector of one costs more than popping its element.
        1 => wake.pop().into_iter().for_each(Waker::wake),
        _ => wake.drain(..).for_each(Waker::wake),
    }
}
