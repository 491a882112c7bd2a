//! Identity of the calling thread, without a system call.

use std::sync::atomic::{AtomicU64, Ordering};

/// A thread of this process; no other ever has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadId(u64);

impl ThreadId {
    /// The calling thread.
    #[inline]
    pub(super) fn here() -> ThreadId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        thread_local! {
            static HERE: ThreadId = ThreadId(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        HERE.with(|here| *here)
    }
}

/// Reports whether the kernel gave the calling thread a shadow stack
/// (Documentation/arch/x86/shstk.rst).
pub(super) fn has_shadow_stack() -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    names_shadow_stack(&status)
}

fn names_shadow_stack(status: &str) -> bool {
    let line = |line: &str| line.strip_prefix("x86_Thread_features:").map(str::to_owned);
    let features = status.lines().find_map(line).unwrap_or_default();
    features.split_whitespace().any(|word| word == "shstk")
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

    #[test]
    fn a_shadow_stack_is_seen_where_it_is_on() {
        let on = "Name:\tx\nx86_Thread_features:\tshstk wrss \nx86_Thread_features_locked:\t\n";
        assert!(names_shadow_stack(on));
        let off = "x86_Thread_features:\t\nx86_Thread_features_locked:\tshstk wrss \n";
        assert!(!names_shadow_stack(off) && !names_shadow_stack(""));
    }
}
