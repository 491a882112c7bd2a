//! One wait of a core: the steps of its queues' policies, merged and taken.

use super::core::Core;
use super::idle::sleep_for_waker;
use super::{Known, Next, PollGroup};
use crate::NvmeError;
use crate::queue::QueuePair;
use crate::queue::waiting::policy_ids_given;
use joulio_device::Device;
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::{Step, StepKind, WaitError, Woken, now};

/// Longest user-level wait of a core that other threads wake, since the core notices a wake only when the wait ends.
/// The system's own limit (`umwait_control/max_time`) does not apply to MWAITX, and may be lifted.
const MAX_UNWOKEN: Nanos = Nanos::from_micros(100);

impl<D: Device> PollGroup<D> {
    /// Waits once.
    pub(super) fn wait(&mut self, deadline: Option<Nanos>) -> Result<Next, NvmeError> {
        if self.is_woken() {
            return Ok(Next::Return);
        }
        if self.known.policy_ids_given != policy_ids_given() {
            self.refresh_known()?;
        }
        let waiting = self.queues.survey();
        let idle = !waiting.outstanding;
        if idle && deadline.is_none() {
            return Ok(Next::Return);
        }
        if waiting.reconnects {
            return Ok(Next::Tick(now()));
        }
        let step = match self.known.fixed {
            Some(step) => step,
            None => match self.planned(idle)? {
                Some(step) => step,
                None => return Ok(Next::Return),
            },
        };
        let deadline = deadline.unwrap_or(Nanos::MAX);
        let tick = if idle { Nanos::MAX } else { self.next_tick };
        let step = self.held_back(step).bounded(deadline).bounded(tick);
        let woken = match step.kind {
            StepKind::Block => self.block(step)?,
            kind => {
                self.queues.disarmed();
                if !self.blocking.is_empty() {
                    self.queues
                        .each_active(|queue| queue.interrupt().disarm())?;
                }
                match kind {
                    StepKind::Sleep => self.sleep(step)?,
                    _ => self.spin(step)?,
                }
            }
        };
        if woken == Woken::Ready {
            return Ok(Next::Poll);
        }
        // Also after an interrupt: a device may raise one without a completion.
        let at = now();
        if step.kind == StepKind::Block && woken == Woken::TimedOut && !self.is_woken() {
            for queue in self.queues.all_mut() {
                let over = queue.has_completion();
                queue.woke(over, at);
            }
        }
        Ok(if at >= deadline {
            Next::Return
        } else if at >= tick {
            Next::Tick(at)
        } else if woken == Woken::Interrupted {
            Next::Interrupted
        } else {
            Next::Poll
        })
    }

    /// Returns `step`, or a replacement where `step` would end too late for a timer or a wake, or would keep the core
    /// from another thread.
    #[inline]
    fn held_back(&self, step: Step) -> Step {
        match &self.sharing {
            None => step,
            Some(sharing) => match step.kind {
                StepKind::Sleep | StepKind::Block if self.sharp => self.sharp_step(),
                StepKind::Pause | StepKind::Monitor if sharing.is_wanted() => Step {
                    kind: StepKind::Spin,
                    ..step
                },
                StepKind::Pause | StepKind::Monitor | StepKind::UserInterrupt => Step {
                    max_pause: step.max_pause.min(MAX_UNWOKEN),
                    ..step
                },
                _ => step,
            },
        }
    }

    /// A step that ends on time.
    pub(super) fn sharp_step(&self) -> Step {
        match self.waiter.can().has(StepKind::Pause) {
            true => Step::pause(Nanos::from_micros(1)),
            false => Step::SPIN,
        }
    }

    /// Makes the next wait read all queues and their policies again.
    pub(super) fn forget_known(&mut self) {
        self.known = Known::NOTHING;
    }

    /// Reads the queues and their policies, as they are now.
    #[cold]
    fn refresh_known(&mut self) -> Result<(), NvmeError> {
        let policy_ids_given = policy_ids_given();
        self.blocking.keep(&self.queues, self.waker.as_ref());
        self.queues.disarmed();
        self.follow_policies()?;
        let can = self.waiter.can();
        let mut steps = self.queues.iter().map(|queue| queue.fixed_step(can));
        let first = steps.next().flatten();
        self.known = Known {
            policy_ids_given,
            fixed: first.filter(|_| steps.all(|step| step == first)),
            timed: self.queues.iter().any(QueuePair::timed),
            asks_lost: self.queues.iter().any(QueuePair::asks_lost),
        };
        Ok(())
    }

    /// Returns the step that the queues' policies plan now.
    fn planned(&mut self, idle: bool) -> Result<Option<Step>, NvmeError> {
        match self.plan(idle) {
            Err(WaitError::Unavailable(StepKind::UserInterrupt)) => {
                self.attach()?;
                Ok(self.plan(idle)?)
            }
            planned => Ok(planned?),
        }
    }

    /// Merges the steps that the queues' policies plan. Queues with nothing outstanding count only if none has.
    fn plan(&mut self, idle: bool) -> Result<Option<Step>, WaitError> {
        let at = if self.known.timed { now() } else { Nanos::ZERO };
        if self.known.asks_lost
            && let Some(lost) = self
                .run_delay
                .lost(at, self.counters.blocks + self.counters.sleeps)
        {
            for queue in self.queues.all_mut() {
                queue.lost(lost, at);
            }
        }
        let can = self.waiter.can();
        let mut merged: Option<Step> = None;
        let mut merge = |queue: &mut QueuePair<D>| {
            let step = queue.plan(can, at)?;
            merged = Some(merged.map_or(step, |other| other.merge(step)));
            Ok::<_, WaitError>(())
        };
        if idle {
            self.queues.all_mut().iter_mut().try_for_each(merge)?;
        } else {
            self.queues.each_active(|queue| match queue.outstanding() {
                0 => Ok(()),
                _ => merge(queue),
            })?;
        }
        Ok(merged)
    }

    fn run(&mut self, step: Step) -> Result<Woken, WaitError> {
        if step.kind == StepKind::Monitor && self.queues.len() > 1 {
            // Without a line the core polls.
            let _ = self.shared_cache_line();
        }
        let line = self.line.as_ref().and_then(|line| line.as_ref().ok());
        let line = line.filter(|line| line.wakes(&self.queues));
        let mut core = Core {
            queues: &mut self.queues,
            line,
            blocking: &mut self.blocking,
            waker: self.waker.as_ref(),
            counters: &mut self.counters,
            armed: false,
        };
        let woken = self.waiter.run(step, &mut core);
        if step.kind == StepKind::Monitor {
            // Before the completion that ended the wait is reaped.
            self.check_line();
        }
        woken
    }

    /// Waits for interrupts. For a queue that also waits by other steps they are unmasked only meanwhile: completions
    /// that it finds by polling afterwards are to raise none.
    fn block(&mut self, step: Step) -> Result<Woken, NvmeError> {
        let woken = self.run(step)?;
        if self.blocking.masks_between() {
            self.queues.disarmed();
            for index in self.blocking.members() {
                let interrupt = self.queues.all_mut()[index].interrupt();
                if interrupt.masks_between_blocks() {
                    interrupt.disarm()?;
                }
            }
        }
        Ok(woken)
    }

    /// Takes a step in which the core polls, and records it in the trace.
    fn spin(&mut self, step: Step) -> Result<Woken, WaitError> {
        let Some(before) = self.traced().map(|queue| queue.polls()) else {
            return self.run(step);
        };
        self.trace(match step.kind {
            StepKind::Spin => EventKind::SpinBegin,
            StepKind::Monitor => EventKind::MonitorBegin,
            _ => EventKind::PauseBegin,
        });
        let woken = self.run(step);
        let polls = self.traced().map_or(0, |queue| queue.polls() - before);
        // The poll that found the completion is not counted as empty.
        let polls = (polls + 1).min(u32::MAX.into()) as u32;
        self.trace(match step.kind {
            StepKind::Spin => EventKind::SpinEnd { polls },
            StepKind::Monitor => EventKind::MonitorEnd { polls },
            _ => EventKind::PauseEnd { polls },
        });
        woken
    }

    fn sleep(&mut self, step: Step) -> Result<Woken, NvmeError> {
        self.trace(EventKind::SleepBegin);
        let start = now();
        let woken = match &self.waker {
            Some(waker) => sleep_for_waker(waker, step.until)?,
            None => self.run(step)?,
        };
        let end = now();
        self.trace(EventKind::SleepEnd);
        let mut over = false;
        for queue in self.queues.all_mut() {
            let here = queue.poll();
            queue.woke(here, end);
            over |= here;
        }
        self.counters.sleeps += 1;
        self.counters.oversleeps += u64::from(over);
        self.counters.slept += end - start;
        self.counters.overslept += end - step.until;
        Ok(woken)
    }

    /// Returns the queue on which the core's own events are recorded, if it is traced.
    #[inline]
    fn traced(&mut self) -> Option<&mut QueuePair<D>> {
        if !self.queues.first()?.is_traced() {
            return None;
        }
        self.queues.settle();
        self.queues.all_mut().first_mut()
    }

    fn trace(&mut self, kind: EventKind) {
        if let Some(queue) = self.traced() {
            queue.trace_now(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_emulator::EmulatedDevice;
    use joulio_wait::Waker;

    #[test]
    fn a_core_that_is_woken_looks_for_it_however_long_the_system_lets_it_wait() {
        let alone = PollGroup::<EmulatedDevice>::new(Vec::new());
        let woken = PollGroup::<EmulatedDevice>::of_reactor(Waker::new().unwrap());
        for kind in [StepKind::Pause, StepKind::Monitor, StepKind::UserInterrupt] {
            let step = Step::forever(kind);
            assert_eq!(alone.held_back(step), step);
            let held = woken.held_back(step);
            assert_eq!((held.kind, held.max_pause), (kind, MAX_UNWOKEN));
        }
        let short = Step::pause(Nanos::from_micros(1));
        assert_eq!(woken.held_back(short), short);
    }
}
