//! Wakers that are woken when no lock is held.

use std::task::Waker;

/// Wakers to be woken when no lock is held.
pub(crate) type Wakers = Vec<Waker>;

/// Wakes all of `wake`, when no lock is held.
#[inline]
pub(crate) fn wake_all(wake: &mut Wakers) {
    match wake.len() {
        // A drain of one costs more than the one.
        1 => wake.pop().into_iter().for_each(Waker::wake),
        _ => wake.drain(..).for_each(Waker::wake),
    }
}
