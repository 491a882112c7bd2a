//! Fetching commands: polling tails, and fetching submitted commands (Base 3.3.1).

use super::EmulatedController;
use super::errors::{self, ErrorEvent};
use crate::bell::Side;
use joulio_nvme_spec::Command;
use zerocopy::IntoBytes;

/// Maximum number of commands fetched from one queue before the next one is served.
pub(super) const ARBITRATION_BURST: u32 = 32;

impl EmulatedController {
    /// Polls the tail of queue `qid`; returns whether there is a command to fetch.
    #[inline]
    pub(super) fn poll_tail(&mut self, qid: u16) -> bool {
        let value = self.doorbells.load(qid, Side::Tail);
        let Some(queue) = self.queues.submission(qid) else {
            return false;
        };
        let polled = queue.poll(value);
        let waiting = queue.is_waiting();
        if polled.is_err() {
            self.invalid_doorbell(ErrorEvent::InvalidDoorbellValue);
        }
        waiting
    }

    pub(super) fn poll_head(&mut self, qid: u16) {
        let value = self.doorbells.load(qid, Side::Head);
        if let Some(queue) = self.queues.completion(qid)
            && queue.poll(value).is_err()
        {
            self.invalid_doorbell(ErrorEvent::InvalidDoorbellValue);
        }
    }

    #[cold]
    pub(super) fn invalid_doorbell(&mut self, event: ErrorEvent) {
        self.activity.invalid_doorbells += 1;
        self.errors.add(errors::doorbell_entry());
        self.events.raise(event);
    }

    /// Polls the tails and fetches commands in turns; returns how many, and whether there may be more. The step ends
    /// after as many turns as a full queue needs, even if the host keeps ringing.
    pub(super) fn fetch(&mut self) -> (u32, bool) {
        if self.registers.weighted() {
            return self.fetch_by_weight();
        }
        let mut fetched = 0;
        for _ in 0..self.registers.queue_entries().div_ceil(ARBITRATION_BURST) {
            let mut again = false;
            let mut index = 0;
            // Commands of the admin queue may create and delete queues.
            while let Some(&qid) = self.queues.live.get(index) {
                index += 1;
                if self.poll_tail(qid) {
                    let burst = self.fetch_burst(qid, ARBITRATION_BURST);
                    fetched += burst;
                    again |= burst == ARBITRATION_BURST;
                }
            }
            if !again {
                return (fetched, false);
            }
        }
        (fetched, true)
    }

    /// Fetches up to `max` commands of a queue.
    pub(super) fn fetch_burst(&mut self, qid: u16, max: u32) -> u32 {
        let mut fetched = 0;
        while fetched < max
            && let Some(command) = self.fetch_one(qid)
        {
            fetched += 1;
            if self.faults.is_some() && self.befalls(qid, &command) {
                continue;
            }
            if qid == 0 {
                self.admin(&command);
            } else {
                self.submit(qid, &command);
            }
        }
        fetched
    }

    #[inline]
    fn fetch_one(&mut self, qid: u16) -> Option<Command> {
        if !self.registers.running() {
            return None;
        }
        let queue = self.queues.submission(qid)?;
        let index = queue.fetch()?;
        let at = queue.base + u64::from(index) * size_of::<Command>() as u64;
        let mut command = Command::default();
        if self.guest.read(at, command.as_mut_bytes()).is_err() {
            // The memory of the queue is not mapped any more: the controller cannot continue.
            self.registers.fail();
            return None;
        }
        Some(command)
    }
}
