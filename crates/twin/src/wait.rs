//! The steps of a policy, computed in closed form.
//!
//! The time at which the device finishes an I/O is known from its submission on, so that no step is simulated poll
//! by poll: its length and its counts are computed. The model for each step and its counters is the real waiter,
//! `joulio_wait::Waiter` with the driver's poll group.

mod user;

use crate::TwinError;
use crate::cpu::{Cause, Got};
use crate::seat::Seat;
use crate::thread::{JobThread, Next, SEVERAL, ThreadPhase, Wakening, is_plain};
use joulio_model::MachineProfile;
use joulio_units::Nanos;
use joulio_wait::{Outstanding, Policy, Step, StepKind};

impl JobThread<'_> {
    /// Refuses a policy that may plan a step that the machine lacks.
    pub(crate) fn check_steps(&self, machine: &MachineProfile) -> Result<(), TwinError> {
        let lacking = self.queue.policy.steps().missing_in(self.can);
        lacking.map_or(Ok(()), |kind| Err(self.lacks(kind, machine)))
    }

    /// Returns the error that ended the job, if one did.
    pub(crate) fn refused(&self, machine: &MachineProfile) -> Option<TwinError> {
        self.lacking.map(|kind| self.lacks(kind, machine))
    }

    fn lacks(&self, kind: StepKind, machine: &MachineProfile) -> TwinError {
        TwinError::Step {
            policy: self.queue.policy.name().into_owned(),
            kind,
            machine: machine.name.clone(),
        }
    }

    /// Asks the policy for a step, and does its first half: up to the time at which the CPU is given up, if it is.
    #[inline(always)]
    pub(crate) fn wait<const SHAPE: u8>(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Next {
        let deadline = self.deadline::<SHAPE>(at);
        let step = match self.fixed {
            Some(step) if is_plain(SHAPE) => step,
            _ => match self.plan::<SHAPE>(at, deadline, seat) {
                Some(step) => step,
                None => return (ThreadPhase::Ended, at),
            },
        };
        let step = step.bounded(deadline);
        // In the driver, arming unmasks the vector, and the vector is masked after the block. In the kernel, the
        // I/O goes either to a queue with interrupts or to a polled one. Both writes to the vector's table are
        // posted, as the doorbell's is; no profile has a figure for one, so that they cost nothing here.
        self.armed = step.kind == StepKind::Block;
        match step.kind {
            StepKind::Sleep => self.sleep(step, at, seat),
            StepKind::Block => self.block::<SHAPE>(step, at, seat),
            _ => self.stay::<SHAPE>(step, at, seat),
        }
    }

    /// Asks the oracle or the policy how to wait; `None`: with a step that the machine lacks.
    #[inline(always)]
    fn plan<const SHAPE: u8>(
        &mut self,
        at: Nanos,
        deadline: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Option<Step> {
        if let Some(oracle) = &mut self.oracle {
            let in_flight = &self.queue.in_flight;
            return Some(oracle.step(at, deadline, self.cold, in_flight, seat.costs));
        }
        let now = if self.timed { at } else { Nanos::ZERO };
        let idle = !self.has_out::<SHAPE>();
        let mut merged: Option<Step> = None;
        for index in 0..self.queues::<SHAPE>() {
            let (can, asks_others, place) = (self.can, self.asks_others, self.place);
            let queue = self.queue_mut::<SHAPE>(index);
            // Queues without I/Os in flight are considered only if no queue has any.
            if SHAPE == SEVERAL && !idle && queue.in_flight.count() == 0 {
                continue;
            }
            if asks_others {
                let others = seat.cpu.run_queue.others_runnable(place);
                queue.policy.others_runnable(others);
            }
            let step = queue.policy.plan(&queue.in_flight, can, now);
            if !can.has(step.kind) {
                self.lacking = Some(step.kind);
                return None;
            }
            merged = Some(merged.map_or(step, |other| other.merge(step)));
        }
        merged
    }

    /// Executes a step that keeps the CPU: until its end, or until another thread may be given the CPU or an interrupt
    /// comes. A poll follows, or the other thread's turn.
    #[inline(always)]
    fn stay<const SHAPE: u8>(&mut self, step: Step, at: Nanos, seat: &mut Seat<'_, '_>) -> Next {
        let run_queue = &seat.cpu.run_queue;
        let step = match run_queue.shared() {
            true => step.bounded(run_queue.undisturbed(at)),
            false => step,
        };
        let step = step.bounded(seat.cpu.next_irq);
        let end = match step.kind {
            StepKind::Pause => self.pause::<SHAPE>(step, at, seat),
            StepKind::Monitor => self.monitor::<SHAPE>(step, at, seat),
            StepKind::UserInterrupt => self.user_interrupt::<SHAPE>(step, at, seat),
            _ => self.spin::<SHAPE>(step, at, seat),
        };
        (ThreadPhase::Poll, end)
    }

    /// Executes the second half of a step, after the CPU was given up.
    #[inline(always)]
    pub(crate) fn woken<const SHAPE: u8>(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Next {
        match self.wakening {
            Wakening::Slice { since } => (self.resumes, self.resumed::<SHAPE>(since, at, seat)),
            Wakening::Timer { start, until } => (
                ThreadPhase::Poll,
                self.timer_woke::<SHAPE>(start, until, at, seat),
            ),
            Wakening::Block { start, interrupted } => {
                let awake = match interrupted {
                    true => self.block_over::<SHAPE>(start, Cause::Interrupt, at, seat),
                    false => self.block_timed_out::<SHAPE>(start, at, seat),
                };
                (ThreadPhase::Poll, awake)
            }
        }
    }

    /// Goes on with the CPU, which another thread had from `since` on.
    fn resumed<const SHAPE: u8>(
        &mut self,
        since: Nanos,
        at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let got = seat.take(self.place, at, Cause::Turn);
        if self.asks_lost && got.at > since {
            for index in 0..self.queues::<SHAPE>() {
                let policy = &mut self.queue_mut::<SHAPE>(index).policy;
                policy.lost(got.at - since, got.at);
            }
        }
        self.chill(&got);
        if got.cold.is_none() {
            return seat.kernel(got.at, Nanos::ZERO);
        }
        let on = seat.kernel(got.at, seat.costs.switch);
        if !self.user_interrupts {
            return on;
        }
        let raised = self.raised::<SHAPE>();
        if raised <= since || raised > got.at {
            return on;
        }
        // A user interrupt came while the thread did not run: the kernel's handler took it.
        self.counters.interrupts += 1;
        self.announced = self.threshold();
        seat.kernel(on, seat.costs.interrupt)
    }

    /// Returns the time of a poll of all queues.
    fn poll_time<const SHAPE: u8>(&self, seat: &Seat<'_, '_>) -> Nanos {
        Nanos(self.queues::<SHAPE>() as u64 * seat.costs.poll.0)
    }

    /// Polls from `at` on, without a pause, until a completion is there or the time is over.
    #[inline(always)]
    fn spin<const SHAPE: u8>(&mut self, step: Step, at: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        let until = self.first::<SHAPE>().min(step.until);
        let queues = self.queues::<SHAPE>() as u64;
        let poll = queues * seat.costs.poll.0;
        let rounds = until.since(at).0.div_ceil(poll);
        self.counters.polls += queues * rounds;
        self.counters.empty_polls += queues * rounds;
        seat.spin(at, Nanos(rounds * poll))
    }

    /// Sets a timer and gives up the CPU.
    fn sleep(&mut self, step: Step, at: Nanos, seat: &mut Seat<'_, '_>) -> Next {
        let fires = step.until + seat.costs.timer_slack;
        let asleep = seat.switch(at, seat.costs.to_timer());
        self.wakening = Wakening::Timer {
            start: at,
            until: step.until,
        };
        // A timer that fires during the transition to idle is handled at its end.
        (ThreadPhase::Woken, fires.max(asleep))
    }

    fn timer_woke<const SHAPE: u8>(
        &mut self,
        start: Nanos,
        until: Nanos,
        at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let cause = match &self.oracle {
            Some(oracle) if oracle.knows_arrivals() || until < self.deadline::<SHAPE>(start) => {
                Cause::Known
            }
            _ => Cause::Timer,
        };
        let got = seat.take(self.place, at, cause);
        self.chill(&got);
        let end = seat.wake(got, cause.handler(seat.costs), Nanos::ZERO);
        let over = self.first::<SHAPE>() <= end;
        self.counters.sleeps += 1;
        self.counters.oversleeps += u64::from(over);
        self.counters.slept = self.counters.slept.plus(end - start);
        self.counters.overslept = self.counters.overslept.plus(end - until);
        if !over {
            // The polls that found this out.
            let queues = self.queues::<SHAPE>() as u64;
            self.counters.polls += queues;
            self.counters.empty_polls += queues;
        }
        self.woke::<SHAPE>(end);
        match over {
            true => end,
            false => seat.spin(end, self.poll_time::<SHAPE>(seat)),
        }
    }

    /// Arms the interrupts, polls, and gives up the CPU until the interrupt.
    #[inline(always)]
    fn block<const SHAPE: u8>(&mut self, step: Step, at: Nanos, seat: &mut Seat<'_, '_>) -> Next {
        self.counters.arms += 1;
        if self.first::<SHAPE>() <= at {
            return (ThreadPhase::Poll, at);
        }
        let queues = self.queues::<SHAPE>() as u64;
        self.counters.polls += queues;
        self.counters.empty_polls += queues;
        let start = seat.spin(at, Nanos(queues * seat.costs.poll.0));
        let asleep = seat.switch(start, seat.costs.block_before);
        let raised = if is_plain(SHAPE) {
            self.first::<SHAPE>()
        } else {
            self.raised::<SHAPE>()
        };
        let interrupted = raised <= step.until;
        self.wakening = Wakening::Block { start, interrupted };
        (ThreadPhase::Woken, raised.min(step.until).max(asleep))
    }

    /// Returns the time at which the device raises its interrupt for its completions: at the first one, or as
    /// interrupt coalescing delays it.
    #[inline(always)]
    fn raised<const SHAPE: u8>(&mut self) -> Nanos {
        let Some(coalescing) = self.coalescing else {
            return self.first::<SHAPE>();
        };
        let queues = 0..self.queues::<SHAPE>();
        let raised = queues.map(|index| {
            let in_flight = &mut self.queue_mut::<SHAPE>(index).in_flight;
            let first = in_flight.first();
            match first {
                Nanos::MAX => first,
                _ => in_flight
                    .nth(coalescing.threshold)
                    .min(first + coalescing.time),
            }
        });
        raised.min().unwrap_or(Nanos::MAX)
    }

    #[inline(never)]
    fn block_timed_out<const SHAPE: u8>(
        &mut self,
        start: Nanos,
        at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        self.block_over::<SHAPE>(start, Cause::Timer, at, seat)
    }

    /// Goes on after a block that `cause` ended.
    #[inline(always)]
    fn block_over<const SHAPE: u8>(
        &mut self,
        start: Nanos,
        cause: Cause,
        at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let got = seat.take(self.place, at, cause);
        self.chill(&got);
        let costs = seat.costs;
        let end = seat.wake(got, cause.handler(costs), costs.block_after);
        self.counters.blocks += 1;
        self.counters.blocked = self.counters.blocked.plus(end - start);
        if cause == Cause::Interrupt {
            self.counters.wakes += 1;
            self.counters.interrupts += 1;
            self.announced = if is_plain(SHAPE) { 1 } else { self.threshold() };
        } else {
            self.woke::<SHAPE>(end);
        }
        end
    }
}

impl JobThread<'_> {
    /// Keeps the longest idle time of the CPU since the last completion.
    #[inline]
    fn chill(&mut self, got: &Got) {
        self.cold = self.cold.max(got.cold);
    }
}
