//! The checks that a group makes several times a second while commands are outstanding.

use super::{CALLS, PollGroup};
use crate::NvmeError;
use crate::queue::{Completed, QueuePair};
use joulio_device::Device;
use joulio_units::Nanos;
use joulio_wait::now;

/// Gets the completions of a group, each with the index of its queue.
type Sink<'a> = &'a mut dyn FnMut(usize, Completed);

impl<D: Device> PollGroup<D> {
    /// Checks the queues if the interval is over; called once in [`CALLS`] calls.
    #[cold]
    pub(super) fn tick_if_due(&mut self, sink: Sink<'_>) -> Result<usize, NvmeError> {
        self.calls_left = CALLS;
        let at = now();
        if at < self.next_tick {
            return Ok(0);
        }
        self.tick(at, sink)
    }

    /// Sets the next check of the queues to an interval after `at`, and returns the interval.
    pub(super) fn schedule_tick(&mut self, at: Nanos) -> Nanos {
        let intervals = self.queues.iter().map(QueuePair::tick_interval);
        let interval = intervals.min().unwrap_or(Nanos::ZERO);
        self.next_tick = at + interval;
        interval
    }

    /// Checks every queue.
    #[cold]
    pub(super) fn tick(&mut self, at: Nanos, sink: Sink<'_>) -> Result<usize, NvmeError> {
        // Also forgets what changed without the group's knowledge.
        self.forget_known();
        self.queues.forget_done();
        let interval = self.schedule_tick(at);
        self.waiter.keep_binding();
        if let Some(sharing) = &mut self.sharing {
            sharing.sample(at);
        }
        self.share_cpu();
        let mut delivered = 0;
        let mut failed = None;
        for (index, queue) in self.queues.all_mut().iter_mut().enumerate() {
            match queue.tick(interval, &mut |completed| sink(index, completed)) {
                Ok(count) => delivered += count,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let Some(error) = failed else {
            return Ok(delivered);
        };
        // A fault found at one queue also ends the commands of the queues before it.
        for (index, queue) in self.queues.all_mut().iter_mut().enumerate() {
            if queue.needs_reconnect() {
                let _ = queue.reconnect(&mut |completed| sink(index, completed));
            }
        }
        Err(error)
    }
}
