//! The core's queues, in the form that a waiter needs.

use super::SharedCacheLine;
use super::blocking::Blocking;
use super::queues::Queues;
use crate::queue::QueuePair;
use joulio_device::Device;
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::{Blocked, CacheLine, WaitCounters, Waker, Watched, now};
use std::error::Error;

/// The core's view of its queues during a wait.
pub(super) struct Core<'a, D: Device> {
    pub(super) queues: &'a mut Queues<D>,
    /// Cache line that the interrupts of all queues write, if there is one.
    pub(super) line: Option<&'a SharedCacheLine>,
    /// Queues and vectors that a block waits for.
    pub(super) blocking: &'a mut Blocking,
    /// Ends a wait too, if there is one.
    pub(super) waker: Option<&'a Waker>,
    pub(super) counters: &'a mut WaitCounters,
    /// Interrupts were unmasked all along, and each that came was claimed: a completion since the last poll of the
    /// queues has raised one, so that the queues need no poll before a block.
    pub(super) armed: bool,
}

type Armed<T> = Result<T, Box<dyn Error + Send + Sync>>;

impl<D: Device> Watched for Core<'_, D> {
    #[inline]
    fn ready(&mut self) -> bool {
        if std::mem::take(&mut self.armed) {
            return false;
        }
        self.queues.poll() || self.waker.is_some_and(Waker::is_woken)
    }

    fn cache_line(&mut self) -> Option<CacheLine<'_>> {
        match &**self.queues {
            [queue] => Some(queue.cache_line()),
            _ => self.line.map(SharedCacheLine::cache_line),
        }
    }

    /// Arms the queues that have commands outstanding, or all if none has.
    fn arm(&mut self) -> Armed<()> {
        let (any, changed) = self.queues.arm()?;
        self.armed = any && !changed && self.waker.is_none();
        if !any {
            for index in self.blocking.members() {
                self.queues.all_mut()[index].interrupt().arm()?;
            }
        }
        Ok(())
    }

    fn block(&mut self, until: Nanos) -> Armed<Blocked> {
        if self.waker.is_some_and(|waker| !waker.fall_asleep()) {
            return Ok(Blocked::TimedOut);
        }
        self.trace(EventKind::BlockBegin);
        let start = now();
        let (mut interrupted, mut completed) = (false, false);
        let raised = self.blocking.poll(until);
        if let Some(waker) = self.waker {
            waker.get_up();
        }
        if raised? {
            for index in self.blocking.interrupted() {
                // Polled with that, whether it has commands outstanding or not.
                let queue = &mut self.queues[index];
                interrupted |= queue.claim();
                completed |= queue.has_completion();
            }
        }
        if !interrupted {
            for index in self.blocking.members() {
                let queue = &mut self.queues.all_mut()[index];
                interrupted |= queue.has_completion() && !queue.missed_interrupt();
            }
        } else if !completed && !self.queues.any_active(QueuePair::has_completion) {
            self.counters.vain_wakes += 1;
        }
        self.trace(EventKind::BlockEnd { interrupted });
        self.counters.blocks += 1;
        self.counters.wakes += u64::from(interrupted);
        self.counters.blocked += now() - start;
        Ok(if interrupted {
            Blocked::Interrupted
        } else {
            Blocked::TimedOut
        })
    }
}

impl<D: Device> Core<'_, D> {
    fn trace(&mut self, kind: EventKind) {
        let queue = self.queues.all_mut().first_mut();
        if let Some(queue) = queue.filter(|queue| queue.is_traced()) {
            queue.trace_now(kind);
        }
    }
}
