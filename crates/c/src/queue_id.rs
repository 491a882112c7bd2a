//! Numbers of queues, by which a buffer finds whether the queue that has it is still there.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Number of a queue, never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId(u64);

struct Live {
    last: u64,
    queues: BTreeSet<QueueId>,
}

static LIVE: Mutex<Live> = Mutex::new(Live {
    last: 0,
    queues: BTreeSet::new(),
});

fn live<T>(run: impl FnOnce(&mut Live) -> T) -> T {
    run(&mut LIVE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl QueueId {
    /// The number of no queue.
    pub(crate) const NONE: QueueId = QueueId(0);

    pub(crate) fn is_live(self) -> bool {
        live(|live| live.queues.contains(&self))
    }
}

/// The number of a queue that is there until this is dropped.
pub(crate) struct LiveQueueId(QueueId);

impl LiveQueueId {
    /// A number for a new queue.
    pub(crate) fn new() -> LiveQueueId {
        live(|live| {
            live.last += 1;
            let id = QueueId(live.last);
            live.queues.insert(id);
            LiveQueueId(id)
        })
    }

    pub(crate) fn id(&self) -> QueueId {
        self.0
    }
}

impl Drop for LiveQueueId {
    fn drop(&mut self) {
        live(|live| live.queues.remove(&self.0));
    }
}
