//! Waits for a ring's completions.

use super::IoUring;
use super::requests::Requests;
use crate::KernelCompletion;
use crate::engines::common::idle_until;
use io_uring::EnterFlags;
use joulio_job::CompletionMode;
use joulio_units::Nanos;
use joulio_wait::{now, poll_until};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::hint::spin_loop;
use std::thread::yield_now;

/// Least time to a deadline for which the kernel may spin, since it does not know the deadline.
const MIN_KERNEL_SPIN: Nanos = Nanos::from_millis(10);
/// Number of polls of the ring between two readings of the clock.
const POLLS_PER_CLOCK_READ: u64 = 64;
/// Number of empty polls after which the core is yielded, since the kernel's thread may need it.
const POLLS_PER_YIELD: u64 = 4096;

impl<R: Requests> IoUring<R> {
    /// Delivers completions until there were `min`, or until `deadline`; at most the engine's limit.
    pub(super) fn wait_for(
        &mut self,
        min: usize,
        deadline: Nanos,
        mut sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, Errno> {
        let min = min.min(self.max);
        let mut delivered = self.take(self.max, &mut sink);
        if delivered == 0 && min == 0 && self.sent() > 0 && !self.mode.has_poller_thread() {
            // Only this call delivers completions and polls devices.
            self.get_events(0, None)?;
            delivered = self.take(self.max, &mut sink);
        }
        while delivered < min {
            let wanted = self.sent().min(min - delivered);
            if wanted == 0 {
                idle_until(deadline);
                break;
            }
            self.wait(wanted, deadline)?;
            delivered += self.take(self.max - delivered, &mut sink);
            if delivered < min && now() >= deadline {
                break;
            }
        }
        Ok(delivered)
    }

    /// Drops completions until nothing is outstanding, or until `end`. The kernel does not spin meanwhile, since it
    /// would not return if a device did not answer.
    pub(super) fn drain(&mut self, end: Nanos) {
        while self.sent() > 0 && now() < end {
            let near = Nanos(MIN_KERNEL_SPIN.0 / 2);
            if self.wait_for(1, end.min(now() + near), drop).is_err() {
                break;
            }
        }
    }

    /// Waits once for `wanted` completions; the wait may end earlier.
    fn wait(&mut self, wanted: usize, deadline: Nanos) -> Result<(), Errno> {
        match self.mode {
            CompletionMode::SqPoll | CompletionMode::SqPollPoll => self.watch_ring(deadline),
            CompletionMode::Interrupt => self.block(wanted, deadline)?,
            _ => {
                let far = deadline - now() >= MIN_KERNEL_SPIN;
                self.calls.waiting.polls += 1;
                self.get_events(if far { wanted } else { 0 }, None)?;
            }
        }
        Ok(())
    }

    /// Returns the number of blocks so far.
    pub(super) fn blocks(&self) -> u64 {
        self.calls.waiting.blocks
    }

    pub(super) fn block(&mut self, wanted: usize, deadline: Nanos) -> Result<(), Errno> {
        let began = now();
        let timeout = (deadline != Nanos::MAX).then(|| deadline - began);
        if self.timeouts || timeout.is_none() {
            self.get_events(wanted, timeout)?;
        } else {
            self.calls.system_calls += 1;
            match poll_until(&mut [PollFd::new(&self.ring, PollFlags::IN)], deadline) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.calls.waiting.blocks += 1;
        self.calls.waiting.blocked += now() - began;
        Ok(())
    }

    /// Waits inside the kernel, or polls once; ends early for a signal, or if the kernel has too little room before
    /// completions are taken out of the ring.
    fn get_events(&mut self, min: usize, timeout: Option<Nanos>) -> Result<(), Errno> {
        match self.enter(min, EnterFlags::GETEVENTS, timeout) {
            Ok(_) | Err(Errno::INTR | Errno::TIME | Errno::AGAIN | Errno::BUSY) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Polls the ring, to which the kernel's thread adds completions, until it is not empty.
    fn watch_ring(&mut self, deadline: Nanos) {
        let mut polls = 0;
        while self.ring.is_empty() {
            polls += 1;
            if polls % POLLS_PER_YIELD == 0 {
                self.calls.system_calls += 1;
                yield_now();
            }
            if polls % POLLS_PER_CLOCK_READ == 0 && now() >= deadline {
                break;
            }
            spin_loop();
        }
        self.calls.waiting.polls += polls + 1;
        self.calls.waiting.empty_polls += polls;
    }

    /// Delivers the completions in the ring, `max` at most; returns their number.
    pub(super) fn take(&mut self, max: usize, sink: impl FnMut(KernelCompletion)) -> usize {
        let delivered = self.ring.take(max, sink);
        self.calls.completed += delivered as u64;
        delivered
    }

    /// Checks for a completion. A polled ring polls the device; a ring that interrupts complete makes a system call
    /// only after a notice of a completion.
    pub(super) fn has_completion(&mut self) -> Result<bool, Errno> {
        if !self.ring.is_empty() {
            return Ok(true);
        }
        let ask = match self.mode {
            CompletionMode::Interrupt => self.ring.announces(),
            _ => self.sent() > 0,
        };
        if ask {
            self.get_events(0, None)?;
        }
        Ok(ask && !self.ring.is_empty())
    }

    /// Returns the number of requests in the kernel.
    pub(super) fn sent(&self) -> usize {
        self.ring.outstanding() - self.ring.staged()
    }
}
