//! The steps of a policy, in closed form.
//!
//! When the device finishes is known from the submission on, so that no step needs to be simulated:
//! how long it lasts and what it counts is arithmetic. What a real waiter does for each step stands
//! in `joulio_wait::Waiter` and in the driver's poll group, whose counters these are.

mod user;

use crate::TwinError;
use crate::cpu::{Cause, Got};
use crate::thread::{JobThread, ThreadPhase, Wakening};
use crate::world::World;
use joulio_units::Nanos;
use joulio_wait::{Policy, Step, StepKind};

impl JobThread<'_> {
    /// Refuses a policy that may plan a step which the machine lacks.
    pub(crate) fn check_steps(&self, world: &World<'_>) -> Result<(), TwinError> {
        let steps = self.policy.steps();
        let lacks = |kind: &StepKind| steps.has(*kind) && !world.costs.can.has(*kind);
        let lacking = StepKind::ALL.into_iter().find(lacks);
        lacking.map_or(Ok(()), |kind| Err(self.lacks(kind, world)))
    }

    fn lacks(&self, kind: StepKind, world: &World<'_>) -> TwinError {
        TwinError::Step {
            policy: self.policy.name().into_owned(),
            kind,
            machine: world.machine.name.clone(),
        }
    }

    /// Asks the policy, and does the first half of its step: up to where the CPU is given away, if
    /// it is.
    pub(crate) fn wait(&mut self, at: Nanos, world: &mut World<'_>) -> Result<Nanos, TwinError> {
        let can = world.costs.can.and(self.policy.steps());
        let now = if self.timed { at } else { Nanos::ZERO };
        if self.asks_others {
            let others = world.cpus[self.cpu].run_queue.others_runnable(self.index);
            self.policy.others_runnable(others);
        }
        let step = match self.oracle_step(at, world) {
            Some(step) => step,
            None => self.policy.plan(&self.in_flight, can, now),
        };
        if self.oracle.is_none() && !can.has(step.kind) {
            return Err(self.lacks(step.kind, world));
        }
        let step = step.bounded(self.deadline(at));
        // Arming unmasks the vector, and the driver masks it after the block; by the kernel the I/O goes
        // to a queue with interrupts, or to a polled one. Both writes to the vector's table are
        // posted, as the doorbell's is, and no profile has a figure for one: they cost nothing
        // here.
        self.armed = step.kind == StepKind::Block;
        Ok(match step.kind {
            StepKind::Sleep => self.sleep(step, at, world),
            StepKind::Block => self.block(step, at, world),
            _ => self.stay(step, at, world),
        })
    }

    /// Returns what the oracle does now, if one waits here.
    fn oracle_step(&mut self, at: Nanos, world: &World<'_>) -> Option<Step> {
        let (deadline, cold) = (self.deadline(at), self.cold);
        let oracle = self.oracle.as_mut()?;
        Some(oracle.step(at, deadline, cold, &self.in_flight, &world.costs))
    }

    /// A step that keeps the CPU: until its end, or until another thread may be given it; then a poll
    /// comes, or the other's turn.
    fn stay(&mut self, step: Step, at: Nanos, world: &mut World<'_>) -> Nanos {
        let run_queue = &world.cpus[self.cpu].run_queue;
        let step = match run_queue.shared() {
            true => step.bounded(run_queue.undisturbed(at)),
            false => step,
        };
        self.phase = ThreadPhase::Poll;
        match step.kind {
            StepKind::Pause => self.pause(step, at, world),
            StepKind::Monitor => self.monitor(step, at, world),
            StepKind::UserInterrupt => self.user_interrupt(step, at, world),
            _ => self.spin(step, at, world),
        }
    }

    /// The second half of a step, after the CPU was given away.
    pub(crate) fn woken(&mut self, how: Wakening, at: Nanos, world: &mut World<'_>) -> Nanos {
        self.phase = ThreadPhase::Poll;
        match how {
            Wakening::Slice { since } => {
                self.phase = self.resumes;
                let got = world.take(self.cpu, self.index, at, Cause::Timer);
                if self.asks_lost && got.at > since {
                    self.policy.lost(got.at - since, got.at);
                }
                self.chill(&got);
                let switch = if got.cold.is_some() {
                    world.costs.switch
                } else {
                    Nanos::ZERO
                };
                let on = world.kernel(self.cpu, got.at, switch);
                if !self.user_interrupts || got.cold.is_none() {
                    return on;
                }
                let raised = self.raised();
                if raised <= since || raised > got.at {
                    return on;
                }
                // A user interrupt for a thread that was away: the kernel's handler had it.
                self.counters.interrupts += 1;
                self.announced = self.threshold();
                world.kernel(self.cpu, on, world.costs.interrupt)
            }
            Wakening::Timer { start, until } => self.timer_woke(start, until, at, world),
            Wakening::Block { start, interrupted } => {
                self.block_over(start, interrupted, at, world)
            }
        }
    }

    /// Polls in vain until the completion is there or the time is over. Polls come one after
    /// another from `at` on.
    fn spin(&mut self, step: Step, at: Nanos, world: &mut World<'_>) -> Nanos {
        let until = self.in_flight.first().min(step.until);
        let poll = world.costs.poll;
        let polls = until.since(at).0.div_ceil(poll.0);
        self.counters.polls += polls;
        self.counters.empty_polls += polls;
        world.spin(self.cpu, at, Nanos(polls * poll.0))
    }

    /// Sets a timer and gives the CPU away.
    fn sleep(&mut self, step: Step, at: Nanos, world: &mut World<'_>) -> Nanos {
        let fires = step.until + world.costs.timer_slack;
        let set = world.kernel(self.cpu, at, world.costs.to_timer());
        let asleep = world.switch(self.cpu, set);
        self.phase = ThreadPhase::Woken(Wakening::Timer {
            start: at,
            until: step.until,
        });
        // A timer that fires in the transition to idle is taken at its end.
        fires.max(asleep)
    }

    fn timer_woke(
        &mut self,
        start: Nanos,
        until: Nanos,
        at: Nanos,
        world: &mut World<'_>,
    ) -> Nanos {
        let cause = match &self.oracle {
            Some(oracle) if oracle.knows_arrivals() || until < self.deadline(start) => Cause::Known,
            _ => Cause::Timer,
        };
        let got = world.take(self.cpu, self.index, at, cause);
        self.chill(&got);
        let end = world.wake(self.cpu, got, world.costs.timer_fires);
        let over = self.in_flight.first() <= end;
        self.counters.sleeps += 1;
        self.counters.oversleeps += u64::from(over);
        self.counters.slept += end - start;
        self.counters.overslept += end - until;
        if !over {
            // The poll that found that out.
            self.counters.polls += 1;
            self.counters.empty_polls += 1;
        }
        self.woke(over, end);
        match over {
            true => end,
            false => world.spin(self.cpu, end, world.costs.poll),
        }
    }

    /// Arms, polls, and gives the CPU away until the interrupt.
    fn block(&mut self, step: Step, at: Nanos, world: &mut World<'_>) -> Nanos {
        self.counters.arms += 1;
        if self.in_flight.first() <= at {
            self.phase = ThreadPhase::Poll;
            return at;
        }
        self.counters.polls += 1;
        self.counters.empty_polls += 1;
        let start = world.spin(self.cpu, at, world.costs.poll);
        let blocking = world.kernel(self.cpu, start, world.costs.block_before);
        let asleep = world.switch(self.cpu, blocking);
        let raised = self.raised();
        let interrupted = raised <= step.until;
        self.phase = ThreadPhase::Woken(Wakening::Block { start, interrupted });
        raised.min(step.until).max(asleep)
    }

    /// When the device raises its interrupt for what it has: at the first completion, or as it
    /// coalesces.
    fn raised(&mut self) -> Nanos {
        let first = self.in_flight.first();
        match self.coalescing {
            Some(coalescing) if first != Nanos::MAX => {
                let enough = self.in_flight.nth(coalescing.threshold);
                enough.min(first + coalescing.time)
            }
            _ => first,
        }
    }

    fn block_over(
        &mut self,
        start: Nanos,
        interrupted: bool,
        at: Nanos,
        world: &mut World<'_>,
    ) -> Nanos {
        let cause = if interrupted {
            Cause::Interrupt
        } else {
            Cause::Timer
        };
        let got = world.take(self.cpu, self.index, at, cause);
        self.chill(&got);
        let costs = &world.costs;
        let handler = match cause {
            Cause::Interrupt => costs.interrupt,
            Cause::Timer | Cause::Known => costs.timer_fires,
        };
        let after = costs.block_after;
        let awake = world.wake(self.cpu, got, handler);
        let end = world.kernel(self.cpu, awake, after);
        self.counters.blocks += 1;
        self.counters.blocked += end - start;
        if interrupted {
            self.counters.wakes += 1;
            self.counters.interrupts += 1;
            self.announced = self.threshold();
        } else {
            let over = self.in_flight.first() <= end;
            self.woke(over, end);
        }
        end
    }
}

impl JobThread<'_> {
    /// Remembers the longest idle time of its CPU since the last completion.
    fn chill(&mut self, got: &Got) {
        self.cold = self.cold.max(got.cold);
    }
}
