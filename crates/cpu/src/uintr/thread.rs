//! Identity of the calling thread, without a system call.

use std::sync::atomic::{AtomicU64, Ordering};

/// Identity of a thread of this process, which no other thread ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadId(u64);

impl ThreadId {
    /// Returns the identity of the calling thread.
    #[inline]
    pub(super) fn here() -> ThreadId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        thread_local! {
            static HERE: ThreadId = ThreadId(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        HERE.with(|here| *here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_itself_and_no_other() {
        let here = ThreadId::here();
        assert_eq!(ThreadId::here(), here);
        let there = std::thread::spawn(ThreadId::here).join().unwrap();
        assert_ne!(there, here);
    }
}
