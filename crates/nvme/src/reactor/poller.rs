//! Pollers: the work that runs on a reactor.

use crate::{Completed, QueuePair, Queues};
use joulio_device::Device;
use joulio_units::Nanos;
use std::ops::{Index, IndexMut};

/// Time of a poller's next call, which comes earlier when a command of its queues completes or the
/// reactor is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextCall {
    /// Called in the next turn: there is more to do.
    Now,
    /// Called at this time, or as much later as the kernel's timers are, some 60 us.
    At(Nanos),
    /// Called at this time, or a few microseconds later: shortly before it the core does not wait in the kernel.
    Promptly(Nanos),
    /// Called for an event only.
    OnEvent,
    /// Never called again. The reactor ends when all its pollers are done.
    Done,
}

/// Work that runs on a reactor's core: a tenant, a target, a server's connection. The word is SPDK's; unlike a poller
/// of SPDK, this one is called only when there is something for it to do.
pub trait Poller<D: Device> {
    /// Takes a completion of queue `queue` of the poller's own.
    fn completed(&mut self, queue: usize, completed: Completed);

    /// Submits the poller's next commands and rings its queues; called after completions, at the time that was
    /// requested, or after a wake. It must not wait, since everything else on the core waits meanwhile.
    fn poll(&mut self, queues: &mut PollerQueues<'_, D>) -> NextCall;
}

impl<D: Device, P: Poller<D> + ?Sized> Poller<D> for Box<P> {
    fn completed(&mut self, queue: usize, completed: Completed) {
        (**self).completed(queue, completed);
    }

    fn poll(&mut self, queues: &mut PollerQueues<'_, D>) -> NextCall {
        (**self).poll(queues)
    }
}

/// Queues of one poller, in the order in which they were added; it cannot reach another poller's.
pub struct PollerQueues<'a, D: Device> {
    pub(super) queues: &'a mut Queues<D>,
    pub(super) first: usize,
    pub(super) count: usize,
}

impl<D: Device> PollerQueues<'_, D> {
    /// Number of queues.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True for a poller without queues.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    fn index_of(&self, index: usize) -> usize {
        assert!(index < self.count, "the poller has {} queues", self.count);
        self.first + index
    }
}

impl<D: Device> Index<usize> for PollerQueues<'_, D> {
    type Output = QueuePair<D>;

    #[inline]
    fn index(&self, index: usize) -> &QueuePair<D> {
        &self.queues[self.index_of(index)]
    }
}

impl<D: Device> IndexMut<usize> for PollerQueues<'_, D> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut QueuePair<D> {
        let index = self.index_of(index);
        &mut self.queues[index]
    }
}
