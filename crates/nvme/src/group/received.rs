//! The queues whose user interrupts a group's thread takes.

use crate::queue::QueuePair;
use joulio_device::Device;

/// Policy identifiers of the queues whose user interrupts the thread takes, in the order of the queues; empty: it
/// takes none. A change of policy gives a new identifier, also if the policy's name is the same.
#[derive(Debug, Default)]
pub(super) struct Received(Vec<u64>);

/// Action after which the thread takes the user interrupts that its queues' policies use, and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing is to be done.
    None,
    /// The interrupts are given back to the kernel.
    Release,
    /// The interrupts are taken anew.
    Receive,
}

impl Received {
    /// Returns a record of the `queues` whose policies use user interrupts.
    pub(super) fn of<D: Device>(queues: &[QueuePair<D>]) -> Received {
        Received(users(queues).collect())
    }

    /// Returns the action for `queues`, which or whose policies may have changed since this record was made.
    pub(super) fn change<D: Device>(&self, queues: &[QueuePair<D>]) -> Change {
        self.change_to(users(queues))
    }

    fn change_to(&self, mut users: impl Iterator<Item = u64> + Clone) -> Change {
        if self.0.iter().copied().eq(users.clone()) {
            Change::None
        } else if users.next().is_some() {
            Change::Receive
        } else {
            Change::Release
        }
    }
}

/// Returns the policy identifiers of the queues whose policies use user interrupts.
fn users<D: Device>(queues: &[QueuePair<D>]) -> impl Iterator<Item = u64> + Clone {
    let users = queues.iter().filter(|queue| queue.user_vector().is_some());
    users.map(QueuePair::policy_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_among_the_policies_with_user_interrupts_is_followed() {
        let change = |received: &[u64], users: &[u64]| {
            Received(received.to_vec()).change_to(users.iter().copied())
        };
        assert_eq!(change(&[], &[]), Change::None);
        assert_eq!(change(&[3, 5], &[3, 5]), Change::None);
        assert_eq!(change(&[], &[3]), Change::Receive);
        // The same policy after another one, which masked its vector; or another mechanism under the same steps.
        assert_eq!(change(&[3], &[4]), Change::Receive);
        // A queue beside one whose interrupt the thread has.
        assert_eq!(change(&[3], &[3, 5]), Change::Receive);
        assert_eq!(change(&[5], &[3, 5]), Change::Receive);
        assert_eq!(change(&[3, 5], &[5]), Change::Receive);
        // Without any user the thread must not have the interrupts of policies that block.
        assert_eq!(change(&[3], &[]), Change::Release);
        assert_eq!(change(&[3, 5], &[]), Change::Release);
    }
}
