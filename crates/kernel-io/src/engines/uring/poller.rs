//! The kernel's thread of a ring that has one: `iou-sqp-TID` among this process's threads. The ring's fdinfo names
//! it too, but not while the thread is busy.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// Largest number of checks for a new thread, which gets its name when it first runs.
const MAX_CHECKS: usize = 200;
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// Held while a ring is created: of two rings that are created at the same time, the threads could not be told
/// apart.
static MAKING: Mutex<()> = Mutex::new(());

/// Threads of the process before a ring is created. No other ring is created until it is dropped.
pub(super) struct Before {
    threads: BTreeSet<i32>,
    _alone: MutexGuard<'static, ()>,
}

impl Before {
    pub(super) fn now() -> Before {
        let alone = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        Before {
            threads: pollers(),
            _alone: alone,
        }
    }

    /// Returns the thread that was added since then. `None` on kernels before Linux 5.12, where it is not a thread
    /// of the process.
    pub(super) fn newcomer(self) -> Option<i32> {
        for _ in 0..MAX_CHECKS {
            if let Some(new) = pollers().difference(&self.threads).next() {
                return Some(*new);
            }
            sleep(CHECK_INTERVAL);
        }
        None
    }
}

fn pollers() -> BTreeSet<i32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .filter(|&tid| is_poller(tid))
        .collect()
}

fn is_poller(tid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/self/task/{tid}/comm"));
    name.is_ok_and(|name| name.starts_with("iou-sqp-"))
}
