//! What a waiter sees of the queues it waits on.

use super::SharedCacheLine;
use super::blocking::Blocking;
use crate::queue::QueuePair;
use joulio_device::Device;
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::{Blocked, CacheLine, Watched, now};
use std::error::Error;

/// The core's view of its queues during a wait.
pub(super) struct Core<'a, D: Device> {
    pub(super) queues: &'a mut [QueuePair<D>],
    /// What the interrupts of all of them write.
    pub(super) line: Option<&'a SharedCacheLine>,
    /// What a block waits for.
    pub(super) blocking: &'a mut Blocking,
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

impl<D: Device> Watched for Core<'_, D> {
    #[inline]
    fn ready(&mut self) -> bool {
        self.queues.iter_mut().any(QueuePair::look)
    }

    fn cache_line(&mut self) -> Option<CacheLine<'_>> {
        match &*self.queues {
            [queue] => Some(queue.cache_line()),
            _ => self.line.map(SharedCacheLine::cache_line),
        }
    }

    fn arm(&mut self) -> Outcome<()> {
        for index in self.blocking.members() {
            self.queues[index].arm()?;
        }
        Ok(())
    }

    fn block(&mut self, until: Nanos) -> Outcome<Blocked> {
        self.trace(EventKind::BlockBegin);
        let start = now();
        let mut interrupted = false;
        if self.blocking.poll(until)? {
            for index in self.blocking.interrupted() {
                interrupted |= self.queues[index].claim();
            }
        }
        if !interrupted {
            for index in self.blocking.members() {
                let queue = &mut self.queues[index];
                interrupted |= queue.has_completion() && !queue.missed_interrupt();
            }
        } else if !self.queues.iter().any(QueuePair::has_completion)
            && let Some(queue) = self.queues.first_mut()
        {
            queue.woken_in_vain();
        }
        self.trace(EventKind::BlockEnd { interrupted });
        // Told once for the core, on its first queue.
        if let Some(queue) = self.queues.first_mut() {
            queue.blocked_for(now() - start, interrupted);
        }
        Ok(if interrupted {
            Blocked::Interrupted
        } else {
            Blocked::TimedOut
        })
    }
}

impl<D: Device> Core<'_, D> {
    fn trace(&mut self, kind: EventKind) {
        let queue = self.queues.first_mut();
        if let Some(queue) = queue.filter(|queue| queue.is_traced()) {
            queue.trace_now(kind);
        }
    }
}
