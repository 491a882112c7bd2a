//! Each queue of a group: its policy, its counters, its trace.

use super::PollGroup;
use crate::PolicyError;
use crate::queue::QueuePair;
use joulio_device::{Device, DmaMemory};
use joulio_trace::Recorded;
use joulio_wait::Counters;
use std::sync::Arc;

impl<D: Device> PollGroup<D> {
    /// Polls and interrupts of each queue since it was made, in the order in which they joined.
    pub fn queue_counters(&mut self) -> Vec<Counters> {
        self.queues.iter_mut().map(QueuePair::counters).collect()
    }

    /// Starts a recording of the last `capacity` events of each queue.
    pub fn start_trace(&mut self, capacity: usize) {
        for queue in &mut self.queues {
            queue.start_trace(capacity);
        }
    }

    /// Ends the recordings and returns what each queue recorded.
    pub fn take_trace(&mut self) -> Vec<Recorded> {
        self.queues.iter_mut().map(QueuePair::take_trace).collect()
    }

    /// Redirects the vector of queue `index` to the word at `offset` of `memory`: from now on a
    /// completion writes `data` there, after its entry in the completion queue, and raises no
    /// interrupt. A change of policy ends it. [`PollGroup::shared_cache_line`] does so for all queues.
    ///
    /// # Errors
    /// The policy takes interrupts or `memory` is another device's ([`PolicyError::NotRedirectable`]),
    /// the queue has no vector, or the device does not let it be redirected.
    ///
    /// # Panics
    /// When there is no such queue, or the word is not inside `memory`, or not aligned.
    pub fn redirect(
        &mut self,
        index: usize,
        memory: &Arc<DmaMemory>,
        offset: usize,
        data: u32,
    ) -> Result<(), PolicyError> {
        self.queues[index].redirect(memory, offset, data)
    }
}
