//! What a waiter sees of the queues it waits on.

use super::SharedLine;
use crate::queue::QueuePair;
use joulio_device::Device;
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::{Blocked, Line, Watched, now, poll_until};
use rustix::event::{PollFd, PollFlags};
use std::error::Error;

/// The core's view of its queues during a wait.
pub(super) struct Core<'a, D: Device> {
    pub(super) queues: &'a mut [QueuePair<D>],
    /// What the interrupts of all of them write.
    pub(super) line: Option<&'a SharedLine>,
    /// Room for what a block waits for, so that a block allocates nothing.
    pub(super) fds: &'a mut Vec<PollFd<'static>>,
}

/// The room of `fds`, which are let go.
fn room_of(mut fds: Vec<PollFd<'_>>) -> Vec<PollFd<'static>> {
    fds.clear();
    // Of nothing, into the same allocation: what it may hold next borrows from elsewhere.
    let none = |_| -> PollFd<'static> { unreachable!("cleared") };
    fds.into_iter().map(none).collect()
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

impl<D: Device> Watched for Core<'_, D> {
    #[inline]
    fn ready(&mut self) -> bool {
        self.queues.iter_mut().any(QueuePair::look)
    }

    fn line(&mut self) -> Option<Line<'_>> {
        match &*self.queues {
            [queue] => Some(queue.line()),
            _ => self.line.map(SharedLine::line),
        }
    }

    fn arm(&mut self) -> Outcome<()> {
        for queue in self.blocking() {
            queue.arm()?;
        }
        Ok(())
    }

    fn block(&mut self, until: Nanos) -> Outcome<Blocked> {
        self.trace(EventKind::BlockBegin);
        let start = now();
        let vectors = self.queues.iter().filter_map(QueuePair::blocking_vector);
        let mut fds: Vec<PollFd<'_>> = std::mem::take(self.fds);
        fds.extend(vectors.map(|vector| PollFd::from_borrowed_fd(vector.event(), PollFlags::IN)));
        let polled = poll_until(&mut fds, until);
        *self.fds = room_of(fds);
        match polled {
            // A signal: the policy is asked again.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Box::new(error)),
        }
        let mut interrupted = false;
        for queue in self.blocking() {
            interrupted |= queue.claim();
        }
        if !interrupted {
            for queue in self.blocking() {
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

    fn blocking(&mut self) -> impl Iterator<Item = &mut QueuePair<D>> {
        self.queues
            .iter_mut()
            .filter(|queue| queue.blocking_vector().is_some())
    }
}
