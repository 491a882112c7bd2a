//! Recovery of a queue from a device that fails.

use super::slots::Entry;
use super::{Completed, QueuePair, Rings};
use crate::NvmeError;
use crate::registers::{CHECK_INTERVAL, MAX_RESET_CHECKS};
use joulio_device::Device;
use joulio_nvme_spec::{Command, CommandId, Status};
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::now;
use std::sync::atomic::Ordering;

/// Longest interval between two checks of a queue that is waited on: a lost interrupt, or a failed device, is found
/// after that.
const MAX_CHECK_INTERVAL: Nanos = Nanos::from_millis(100);
/// Shortest interval between two checks of a queue that is waited on, however short the time limit.
const MIN_CHECK_INTERVAL: Nanos = Nanos::from_millis(1);

/// Number of attempts to create a queue on a controller that refuses it, with a reset after each.
const TRIES: u32 = 8;

/// Number of attempts to create a queue on a controller without interrupts before the function is reset: 2 s.
const VECTORLESS_CHECKS: u32 = 40;

/// Number of check intervals in a time limit.
const PARTS: u64 = 8;

/// Returns the interval between checks of a queue with the time limit `limit`.
pub(crate) fn check_interval(limit: Nanos) -> Nanos {
    Nanos(limit.0 / PARTS).clamp(MIN_CHECK_INTERVAL, MAX_CHECK_INTERVAL)
}

/// Gets what a queue hands out.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Completed);

impl<D: Device> QueuePair<D> {
    /// Returns whether the controller still has the queue: it was not reset since the queue was created.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.current_generation.load(Ordering::Relaxed) == self.generation
    }

    /// Returns whether commands here wait for a controller that has been reset.
    #[inline]
    pub(crate) fn needs_reconnect(&self) -> bool {
        !self.is_current() && self.outstanding() > 0
    }

    /// Returns the interval in which to call [`QueuePair::tick`].
    pub(crate) fn tick_interval(&self) -> Nanos {
        check_interval(self.shared.options.io_timeout)
    }

    /// Checks the queue while commands are outstanding: whether the device works, unless it completed some since the
    /// last check, and whether a command has been outstanding for too long. Must be called once in each `interval`,
    /// always the same, and not more often.
    #[cold]
    pub(crate) fn tick(&mut self, interval: Nanos, sink: Sink<'_>) -> Result<usize, NvmeError> {
        if self.outstanding() == 0 {
            return Ok(0);
        }
        if !self.is_current() {
            return self.reconnect(sink);
        }
        // A controller that completes commands is alive. If its status has to be read through a message to a server,
        // that takes longer than many commands.
        let polls = self.full_polls;
        let checked = match std::mem::replace(&mut self.checked_polls, polls) == polls {
            true => self.shared.check(),
            false => self.shared.check_stays(),
        };
        if let Err(trouble) = checked {
            return self.reset_for(&trouble, sink);
        }
        self.shared.collect_events();
        let kept = self.interrupt.keep()?;
        self.faults.vectors_rewritten += u64::from(!kept);
        // A command that has completed is not late, whether or not an interrupt announced it.
        let delivered = self.reap_all(&mut *sink)?;
        self.slots.tick();
        Ok(delivered + self.end_overdue(interval, sink)?)
    }

    /// Aborts commands that have been outstanding for too long, and resets the controller for commands that an abort
    /// did not end (Base 5.1: an abort is a best effort, and frees no buffer).
    fn end_overdue(&mut self, interval: Nanos, sink: Sink<'_>) -> Result<usize, NvmeError> {
        let limit = self.shared.options.io_timeout;
        let intervals = limit.0.div_ceil(interval.0.max(1));
        let intervals = intervals.min(u32::MAX.into()) as u32;
        while let Some(overdue) = self.slots.overdue(intervals) {
            if overdue.aborted {
                let stuck = NvmeError::IoStuck {
                    device: self.device().name().into(),
                    milliseconds: limit.0 / 1_000_000,
                };
                return self.reset_for(&stuck, sink);
            }
            self.faults.timeouts += 1;
            let cid = overdue.cid.0;
            self.trace_now(EventKind::Timeout { cid });
            self.trace_now(EventKind::Abort { cid });
            self.slots.mark_aborted(overdue.cid);
            let abort = Command::abort(self.id, overdue.cid);
            // Aborted or not, the command's own completion gives its status; a controller that does not answer has
            // been reset by this call.
            let _ = self.shared.run("Abort", abort);
            if !self.is_current() {
                return self.reconnect(sink);
            }
        }
        Ok(0)
    }

    fn reset_for(&mut self, trouble: &NvmeError, sink: Sink<'_>) -> Result<usize, NvmeError> {
        // This queue and the others check again whether the reset helped.
        let _ = self.shared.recover(self.generation, trouble);
        self.reconnect(sink)
    }

    /// Brings the queue through a reset: ends commands that the controller will not complete, and creates the queue
    /// on it again. Returns an error if the controller can no longer be used.
    #[cold]
    pub(crate) fn reconnect(&mut self, sink: Sink<'_>) -> Result<usize, NvmeError> {
        // Completions from before the reset count.
        let mut delivered = self.reap_whole(&mut *sink);
        // Commands for which the doorbell was not rung are sent after the reset.
        let unrung = self.submission.unrung();
        if let Err((error, released)) = self.connect_again() {
            self.end_all(sink, released);
            return Err(error);
        }
        self.faults.resets += 1;
        self.trace_now(EventKind::Reset);
        for cid in self.slots.names() {
            if !unrung.iter().any(|command| command.dword0().cid() == cid.0) {
                delivered += self.end_or_send_again(cid, &mut *sink);
            }
        }
        for command in unrung {
            self.submission.write(command);
        }
        self.ring();
        Ok(delivered)
    }

    /// Creates the queue on the controller again, with empty rings. The error says whether the device no longer uses
    /// the commands' buffers.
    fn connect_again(&mut self) -> Result<(), (NvmeError, bool)> {
        let (mut left, mut vectorless) = (TRIES, MAX_RESET_CHECKS);
        loop {
            let ending = self.shared.ending();
            if let Some(dead) = ending.dead {
                return Err((dead, ending.released));
            }
            self.submission.reset();
            self.completion.reset();
            let set = self.interrupt.set_again();
            set.map_err(|error| self.shared.give_up(&error.into()))?;
            let (generation, vector) = (ending.generation, self.interrupt.vector());
            let rings = Rings {
                id: self.id,
                depth: self.depth,
                priority: self.priority,
            };
            let connected = self.shared.connect(generation, rings, vector, &self.memory);
            match connected {
                Ok(()) if self.shared.generation() == generation => {
                    self.generation = generation;
                    return Ok(());
                }
                // Another reset came in between, and undid this.
                Ok(()) | Err((NvmeError::EndedByReset { .. }, _)) => {}
                Err((error, _)) => {
                    // After somebody else's reset a function gets its interrupts back only after it answers.
                    let left = match error.lacks_vectors() {
                        true => &mut vectorless,
                        false => &mut left,
                    };
                    *left -= 1;
                    if *left == 0 {
                        return Err(self.shared.give_up(&error));
                    }
                    if error.lacks_vectors() {
                        if self.shared.options.cancel.is_cancelled() {
                            return Err(self.shared.give_up(&error));
                        }
                        if vectorless % VECTORLESS_CHECKS == 0 {
                            // Waiting does not bring them back.
                            let _ = self.shared.recover(generation, &error);
                            continue;
                        }
                        joulio_wait::sleep(CHECK_INTERVAL);
                    }
                    let _ = self.shared.delete_queues(self.id);
                    let _ = self.shared.delete_completion_queue(self.id);
                }
            }
        }
    }

    /// Takes in everything in the completion queue, at most as much as it holds.
    fn reap_whole(&mut self, sink: Sink<'_>) -> usize {
        let mut delivered = 0;
        for _ in 0..=self.depth {
            if !self.completion.ready() {
                break;
            }
            // Bad entries are counted, and skipped.
            let _ = self.reap_all(|completed| {
                delivered += 1;
                sink(completed);
            });
        }
        delivered
    }

    fn end_or_send_again(&mut self, cid: CommandId, sink: Sink<'_>) -> usize {
        let Ok(entry) = self.slots.remove(cid) else {
            return 0;
        };
        let Some(entry) = self.send_again(cid, entry) else {
            return 0;
        };
        self.end(cid, entry, sink);
        1
    }

    /// Hands out a command that the controller will not complete any more.
    fn end(&mut self, cid: CommandId, entry: Entry, sink: Sink<'_>) {
        let status = Status::ABORTED_BY_HOST;
        self.faults.ended_by_reset += 1;
        self.trace_complete(now(), cid, status);
        sink(Completed {
            tag: entry.tag,
            status,
            dw0: 0,
            dw1: 0,
            buffer: entry.buffer,
        });
    }

    /// Ends every command. `released`: the device no longer uses their buffers.
    fn end_all(&mut self, sink: Sink<'_>, released: bool) {
        let mut kept = Vec::new();
        for cid in self.slots.names() {
            let Ok(mut entry) = self.slots.remove(cid) else {
                continue;
            };
            if !released {
                kept.extend(entry.buffer.take());
            }
            self.end(cid, entry, &mut *sink);
        }
        if !kept.is_empty() {
            self.shared.retire(self.memory.clone(), kept);
        }
    }

    /// Ends the queue itself. Returns whether the controller no longer has it and, if it does, whether it may still
    /// write to the queue's memory.
    pub(super) fn leave(&mut self) -> (bool, bool) {
        if self.is_current() && self.shared.delete_queues(self.id).is_ok() {
            return (true, true);
        }
        // The queue is not deleted, but a reset has the same effect.
        let ending = self.shared.ending();
        let reset = ending.generation != self.generation;
        (reset && ending.dead.is_none(), !(reset && ending.released))
    }
}
