//! The kernel's thread of a ring that has one.

use super::ring::Ring;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

/// The thread that submits for `ring`: from the ring's fdinfo, or, if that says nothing (its
/// number is hidden while the thread is busy), the only thread of this process with such a name.
pub(super) fn thread(ring: &Ring) -> Option<i32> {
    let fd = ring.as_fd().as_raw_fd();
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
    in_fdinfo(&info).filter(|&tid| is_poller(tid)).or_else(only)
}

fn in_fdinfo(text: &str) -> Option<i32> {
    let line = text.lines().find_map(|line| line.strip_prefix("SqThread:"));
    line?.trim().parse().ok().filter(|&tid| tid > 0)
}

fn is_poller(tid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/self/task/{tid}/comm"));
    name.is_ok_and(|name| name.starts_with("iou-sqp-"))
}

fn only() -> Option<i32> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let mut pollers = tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .filter(|&tid| is_poller(tid));
    let first = pollers.next();
    first.filter(|_| pollers.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_thread_is_a_positive_number() {
        assert_eq!(
            in_fdinfo("pos:\t0\nSqThread:\t123\nSqThreadCpu:\t1\n"),
            Some(123)
        );
        assert_eq!(in_fdinfo("SqThread:\t-1\n"), None);
        assert_eq!(in_fdinfo("pos:\t0\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = in_fdinfo(&text);
        }
    }
}
