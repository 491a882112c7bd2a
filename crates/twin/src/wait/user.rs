//! Waiting in light power states, without the kernel.

use crate::seat::Seat;
use crate::thread::JobThread;
use crate::times::Doing;
use joulio_units::Nanos;
use joulio_wait::Step;

impl JobThread<'_> {
    /// Alternates polls and pauses; the first poll after a completion sees it.
    pub(super) fn pause<const SHAPE: u8>(
        &mut self,
        step: Step,
        at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let costs = seat.costs;
        let length = step.max_pause.min(costs.pause);
        let (queues, poll) = (self.queues::<SHAPE>() as u64, self.poll_time::<SHAPE>(seat));
        let cycle = poll + length + costs.pause_exit;
        let until = self.first::<SHAPE>().min(step.until);
        let cycles = until.since(at).0.div_ceil(cycle.0).max(1);
        self.counters.polls += queues * cycles;
        self.counters.empty_polls += queues * cycles;
        self.counters.pauses += cycles;
        if length < step.max_pause {
            self.counters.limited += cycles;
        }
        let polled = Nanos(cycles * poll.0);
        // The end of the step cuts the last pause short.
        let latest = step.until.max(at) + costs.pause_exit;
        let end = (at + Nanos(cycles * cycle.0)).min(latest.max(at + polled));
        let cpu = &mut seat.cpu;
        let paused = cpu.spend(at, polled, Doing::Spin);
        self.counters.paused += end - paused;
        cpu.spend(paused, end - paused, Doing::Pause)
    }

    /// Waits for the write of the completion, or for the end of the step; waits again each time the system's limit
    /// ends a wait.
    pub(super) fn monitor<const SHAPE: u8>(
        &mut self,
        step: Step,
        at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let costs = seat.costs;
        let (queues, poll) = (self.queues::<SHAPE>() as u64, self.poll_time::<SHAPE>(seat));
        let until = self.first::<SHAPE>().min(step.until);
        let waits = until.since(at).0.div_ceil(costs.pause.0).max(1);
        self.counters.polls += queues * waits;
        self.counters.empty_polls += queues * waits;
        self.counters.monitors += waits;
        self.counters.limited += waits - 1;
        let polled = Nanos(waits * poll.0);
        let (exit, limit) = (costs.pause_exit, costs.pause);
        // In a wait without an end the core polls each time the limit ends a wait.
        let until = if until == Nanos::MAX {
            at + limit
        } else {
            until
        };
        let cpu = &mut seat.cpu;
        let waiting = cpu.spend(at, polled, Doing::Spin);
        let end = waiting.max(until + exit);
        self.counters.monitored += end - waiting;
        cpu.spend(waiting, end - waiting, Doing::Monitor)
    }

    /// Waits in a light power state until a user interrupt arrives, or until the end of the step. The first of
    /// several queues has a user interrupt; interrupts of the others reach the thread through the kernel's handler,
    /// as in `joulio_wait::Waiter::receive`. If all are posted into one descriptor, the kernel clears its ON bit
    /// before the wait, since the thread must not write there; interrupts posted until then send no other
    /// notification, and a poll finds their completions.
    pub(super) fn user_interrupt<const SHAPE: u8>(
        &mut self,
        step: Step,
        at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let raised = self.raised::<SHAPE>();
        let at = match std::mem::take(&mut self.notified) {
            true => self.cleared::<SHAPE>(at, raised, seat),
            false => at,
        };
        if self.posted && raised <= at {
            return at;
        }
        let interrupted = raised <= step.until;
        let until = raised.min(step.until);
        let until = if until == Nanos::MAX {
            at + seat.costs.pause
        } else {
            until.max(at)
        };
        self.counters.pauses += 1;
        self.counters.paused += until - at;
        let awake = seat.cpu.spend(at, until - at, Doing::Pause);
        if !interrupted {
            self.counters.paused += seat.costs.pause_exit;
            return seat.cpu.spend(awake, seat.costs.pause_exit, Doing::Pause);
        }
        self.counters.user_interrupts += 1;
        let is_first = self.queue.in_flight.first() == self.first::<SHAPE>();
        let handled = match self.posted || is_first {
            true => awake,
            false => {
                self.announced = self.threshold();
                self.counters.interrupts += 1;
                seat.kernel(awake, seat.costs.interrupt)
            }
        };
        seat.work(handled, seat.costs.user_interrupt)
    }

    /// Clears ON through the kernel, and polls all queues once more unless a completion is there by then
    /// (`raised`).
    fn cleared<const SHAPE: u8>(
        &mut self,
        at: Nanos,
        raised: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let cleared = seat.kernel(at, seat.costs.crossing);
        if raised <= cleared {
            return cleared;
        }
        let queues = self.queues::<SHAPE>() as u64;
        self.counters.polls += queues;
        self.counters.empty_polls += queues;
        seat.spin(cleared, self.poll_time::<SHAPE>(seat))
    }
}
