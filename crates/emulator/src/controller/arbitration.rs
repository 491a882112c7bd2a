//! Weighted round robin with an urgent priority class (Base 3.4.4.2).
//!
//! The admin queue comes first, then queues of the urgent class. The other classes are served in rounds: so many
//! commands of high priority, so many of medium, so many of low (feature 01h), queue by queue within a class. Commands
//! that the model cannot begin yet stay in their queues, since there is nothing to arbitrate once all were fetched.

use super::EmulatedController;
use super::fetching::ARBITRATION_BURST;
use joulio_nvme_spec::command::QueuePriority;
use joulio_nvme_spec::feature::{Arbitration, FeatureId};

/// Position in the round.
#[derive(Debug, Default)]
pub(super) struct Arbiter {
    /// The class whose turn it is: high, medium, low.
    class: usize,
    /// Commands that the class may still have in this turn.
    credits: u32,
    /// The queue of each class that was served last, by QPRIO, and the commands left of its burst.
    turns: [(u16, u32); 4],
}

/// Classes that share by weight, in the order of their turns.
const WEIGHTED: [QueuePriority; 3] = [
    QueuePriority::HIGH,
    QueuePriority::MEDIUM,
    QueuePriority::LOW,
];

impl EmulatedController {
    /// Polls the tails and fetches commands by weight; returns how many, and whether there may be more.
    pub(super) fn fetch_by_weight(&mut self) -> (u32, bool) {
        let arbitration = self.features.remembered(FeatureId::ARBITRATION);
        let arbitration = Arbitration::from(arbitration.map_or(0, |value| *value));
        let burst = match arbitration.ab() {
            7 => u32::MAX,
            ab => 1 << ab,
        };
        let weights = [arbitration.hpw(), arbitration.mpw(), arbitration.lpw()];
        // All of them, also those that are not reached: a doorbell that was not polled keeps the thread awake. The
        // admin queue, the first, is polled below.
        for index in 1..self.queues.live.len() {
            self.poll_tail(self.queues.live[index]);
        }
        let mut fetched = 0;
        if self.poll_tail(0) {
            fetched += self.fetch_burst(0, ARBITRATION_BURST);
        }
        // Number of classes in a row without commands: after all of them there are none.
        let mut empty = 0;
        while empty <= WEIGHTED.len() && self.registers.running() {
            let room = self.room();
            if room == 0 || fetched >= self.registers.queue_entries() {
                // Commands that finish make room; a host that keeps ringing is served in the next step.
                return (fetched, room > 0);
            }
            let urgent = self.fetch_class(QueuePriority::URGENT, room, burst);
            if urgent > 0 {
                fetched += urgent;
                empty = 0;
                continue;
            }
            let arbiter = &mut self.queues.arbiter;
            if arbiter.credits == 0 {
                arbiter.class = (arbiter.class + 1) % WEIGHTED.len();
                arbiter.credits = u32::from(weights[arbiter.class]) + 1;
            }
            let (class, credits) = (WEIGHTED[arbiter.class], arbiter.credits);
            let got = self.fetch_class(class, room.min(credits), burst);
            let arbiter = &mut self.queues.arbiter;
            match got {
                0 => (arbiter.credits, empty) = (0, empty + 1),
                _ => (arbiter.credits, empty) = (credits - got, 0),
            }
            fetched += got;
        }
        (fetched, false)
    }

    /// Returns how many commands the model can begin at once.
    fn room(&self) -> u32 {
        let units = self.profile.parallelism().get();
        units.saturating_sub(self.in_service.len()) as u32
    }

    /// Fetches up to `max` commands of a queue of `class` that has some: of the one whose burst has begun, or of the
    /// next.
    fn fetch_class(&mut self, class: QueuePriority, max: u32, burst: u32) -> u32 {
        let turn = usize::from(class.0);
        let (last, left) = self.queues.arbiter.turns[turn];
        if left > 0 {
            let fetched = self.fetch_turn(last, class, max.min(left));
            self.queues.arbiter.turns[turn].1 = left - fetched;
            if fetched > 0 {
                return fetched;
            }
        }
        let count = self.queues.live.len();
        let first = self.queues.live.partition_point(|&qid| qid <= last);
        for step in 0..count {
            let qid = self.queues.live[(first + step) % count];
            let fetched = self.fetch_turn(qid, class, max.min(burst));
            if fetched > 0 {
                self.queues.arbiter.turns[turn] = (qid, burst - fetched);
                return fetched;
            }
        }
        0
    }

    /// Fetches up to `max` commands of queue `qid`, if it is of `class`.
    fn fetch_turn(&mut self, qid: u16, class: QueuePriority, max: u32) -> u32 {
        let queue = self.queues.submission(qid);
        let is_of_class = qid > 0 && queue.is_some_and(|queue| queue.priority == class);
        if is_of_class && self.poll_tail(qid) {
            self.fetch_burst(qid, max)
        } else {
            0
        }
    }
}
