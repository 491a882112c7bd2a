//! Queues of a group that block, and the descriptors that their core polls.

use crate::queue::QueuePair;
use joulio_device::{Device, VectorSet};
use joulio_units::Nanos;
use joulio_wait::{Waker, poll_until};
use rustix::io::Errno;

/// The queues of a group whose policies block. Computed when queues join or change their policy; every block until
/// then uses it unchanged.
#[derive(Default)]
pub(super) struct Blocking {
    /// Indices of the members in the group.
    members: Vec<usize>,
    /// Vectors of the members, in the same order.
    vectors: VectorSet,
    /// Indices of the members that the last poll found interrupted.
    interrupted: Vec<usize>,
    /// Policy identifier of every queue of the group, when this was computed.
    made_of: Vec<u64>,
    /// The vector of at least one queue is to be masked between its blocks.
    masks_between: bool,
    /// Number of times that this was computed; 0: never.
    version: u64,
}

impl Blocking {
    /// Makes room for a group of `queues` and a waker, so that a block allocates nothing.
    pub(super) fn reserve(&mut self, queues: usize) {
        self.vectors.reserve(queues + 1);
        self.members
            .reserve(queues.saturating_sub(self.members.len()));
        self.interrupted.reserve(queues);
        self.made_of
            .reserve(queues.saturating_sub(self.made_of.len()));
    }

    /// Computes the set again if the `queues` or their policies have changed. `waker` ends a block too.
    pub(super) fn keep<D: Device>(&mut self, queues: &[QueuePair<D>], waker: Option<&Waker>) {
        let policy_ids = queues.iter().map(QueuePair::policy_id);
        if self.version > 0 && self.made_of.iter().copied().eq(policy_ids.clone()) {
            return;
        }
        self.version += 1;
        self.made_of.clear();
        self.made_of.extend(policy_ids);
        self.members.clear();
        self.vectors.clear();
        self.masks_between = false;
        for (index, queue) in queues.iter().enumerate() {
            if let Some(vector) = queue.blocking_vector() {
                self.members.push(index);
                self.vectors.push(vector);
                self.masks_between |= queue.info().masks_between_blocks;
            }
        }
        if let Some(waker) = waker {
            self.vectors.push_event(waker.event());
        }
    }

    /// Returns the version of the set of blocking queues, by which holders of a copy notice a change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Reports whether no queue blocks.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns whether the vector of at least one queue is to be masked between its blocks.
    pub(super) fn masks_between(&self) -> bool {
        self.masks_between
    }

    /// The queues, in the order in which they joined.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        self.members.iter().copied()
    }

    /// Blocks until a member is interrupted, or until `until`; returns whether one was.
    pub(super) fn poll(&mut self, until: Nanos) -> Result<bool, Errno> {
        self.interrupted.clear();
        match self.vectors.poll(|fds| poll_until(fds, until)) {
            Ok(raised) => {
                let members = self.members.iter().enumerate();
                let raised_ones = members.filter(|&(nth, _)| self.vectors.was_raised(nth));
                // After the last raised descriptor the search ends.
                let indices = raised_ones.take(raised).map(|(_, &index)| index);
                self.interrupted.extend(indices);
                Ok(raised > 0)
            }
            // A signal: the policy plans again.
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the queues that the last poll found interrupted.
    pub(super) fn interrupted(&self) -> impl Iterator<Item = usize> {
        self.interrupted.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Controller, ControllerOptions};
    use joulio_emulator::{EmulatedDevice, Options};
    use joulio_model::DeviceProfile;
    use joulio_wait::AnyPolicy;

    #[test]
    fn what_a_block_polls_is_made_again_only_for_other_queues_or_policies() {
        let instant = Options::new(DeviceProfile::builtin("instant").unwrap());
        let (device, _stepper) = EmulatedDevice::stepped(&instant).unwrap();
        let controller = Controller::open(device, ControllerOptions::default()).unwrap();
        let pair = || controller.create_queue_pair(1).unwrap();
        let mut queues = vec![pair(), pair()];
        let mut blocking = Blocking::default();
        let members = |blocking: &Blocking| blocking.members().collect::<Vec<usize>>();
        let keep = |blocking: &mut Blocking, queues: &[_]| {
            blocking.keep(queues, None);
            blocking.version()
        };
        assert_eq!(blocking.version(), 0);
        assert_eq!(keep(&mut blocking, &queues), 1);
        assert_eq!(keep(&mut blocking, &queues), 1);
        assert!(members(&blocking).is_empty());
        queues[1].set_policy(AnyPolicy::INTERRUPT).unwrap();
        assert_eq!(keep(&mut blocking, &queues), 2);
        assert_eq!(keep(&mut blocking, &queues), 2);
        assert_eq!(members(&blocking), [1]);
        queues.swap(0, 1);
        assert_eq!(keep(&mut blocking, &queues), 3);
        assert_eq!(members(&blocking), [0]);
        queues.pop();
        assert_eq!(keep(&mut blocking, &queues), 4);
        assert_eq!(keep(&mut blocking, &queues), 4);
    }
}
