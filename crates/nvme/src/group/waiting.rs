//! One wait of a core: the steps of its queues' policies, merged and taken.

use super::core::Core;
use super::{Next, PollGroup};
use crate::NvmeError;
use crate::queue::QueuePair;
use joulio_device::Device;
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::{Step, StepKind, WaitError, Woken, now};

impl<D: Device> PollGroup<D> {
    /// Waits once.
    pub(super) fn wait(&mut self, deadline: Option<Nanos>) -> Result<Next, NvmeError> {
        let idle = self.outstanding() == 0;
        if idle && deadline.is_none() {
            return Ok(Next::Return);
        }
        if self.queues.iter().any(QueuePair::needs_reconnect) {
            return Ok(Next::Tick(now()));
        }
        let planned = match self.plan(idle) {
            Err(WaitError::Unavailable(StepKind::UserInterrupt)) => {
                self.attach()?;
                self.plan(idle)
            }
            planned => planned,
        };
        let Some(step) = planned? else {
            return Ok(Next::Return);
        };
        let deadline = deadline.unwrap_or(Nanos::MAX);
        let tick = if idle { Nanos::MAX } else { self.next_tick };
        let step = step.bounded(deadline).bounded(tick);
        let woken = match step.kind {
            StepKind::Block => self.block(step)?,
            kind => {
                for queue in &mut self.queues {
                    queue.interrupt().disarm()?;
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
        // Also after an interrupt, which a device may raise for nothing.
        let at = now();
        if step.kind == StepKind::Block && woken == Woken::TimedOut {
            for queue in &mut self.queues {
                let over = queue.has_completion();
                queue.woke(over, at);
            }
        }
        Ok(if at >= deadline {
            Next::Return
        } else if at >= tick {
            Next::Tick(at)
        } else {
            Next::Poll
        })
    }

    /// Merges the steps that the queues' policies want. Queues with nothing outstanding only count
    /// when none has.
    fn plan(&mut self, idle: bool) -> Result<Option<Step>, WaitError> {
        let at = if self.queues.iter().any(QueuePair::timed) {
            now()
        } else {
            Nanos::ZERO
        };
        if self.queues.iter().any(QueuePair::asks_lost)
            && let Some(lost) = self.run_delay.lost(at)
        {
            for queue in &mut self.queues {
                queue.lost(lost, at);
            }
        }
        let can = self.waiter.can();
        let mut merged: Option<Step> = None;
        for queue in &mut self.queues {
            if idle || queue.outstanding() > 0 {
                let step = queue.plan(can, at)?;
                merged = Some(merged.map_or(step, |other| other.merge(step)));
            }
        }
        Ok(merged)
    }

    fn run(&mut self, step: Step) -> Result<Woken, WaitError> {
        if step.kind == StepKind::Monitor && self.queues.len() > 1 {
            // Without one the core polls.
            let _ = self.shared_cache_line();
        }
        let line = self.line.as_ref().and_then(|line| line.as_ref().ok());
        let line = line.filter(|line| line.wakes(&self.queues));
        let mut core = Core {
            queues: &mut self.queues,
            line,
            blocking: &mut self.blocking,
            counters: &mut self.counters,
        };
        let woken = self.waiter.run(step, &mut core);
        if step.kind == StepKind::Monitor {
            // Before the completion that ended the wait is reaped.
            self.check_line();
        }
        woken
    }

    /// Waits for interrupts. They are let through only meanwhile, to a queue that also waits in
    /// other steps: what it finds by itself afterwards is to raise none.
    fn block(&mut self, step: Step) -> Result<Woken, NvmeError> {
        self.blocking.keep(&self.queues);
        let woken = self.run(step)?;
        for queue in &mut self.queues {
            let interrupt = queue.interrupt();
            if interrupt.masks_between_blocks() {
                interrupt.disarm()?;
            }
        }
        Ok(woken)
    }

    /// Any wait in which the core polls.
    fn spin(&mut self, step: Step) -> Result<Woken, WaitError> {
        let Some(before) = self.traced().map(|queue| queue.polls()) else {
            return self.run(step);
        };
        let pauses = step.kind != StepKind::Spin;
        self.trace(match pauses {
            false => EventKind::SpinBegin,
            true => EventKind::PauseBegin,
        });
        let woken = self.run(step);
        let polls = self.traced().map_or(0, |queue| queue.polls() - before);
        // The one that found the completion is not counted as an empty poll.
        let polls = (polls + 1).min(u32::MAX.into()) as u32;
        self.trace(match pauses {
            false => EventKind::SpinEnd { polls },
            true => EventKind::PauseEnd { polls },
        });
        woken
    }

    fn sleep(&mut self, step: Step) -> Result<Woken, NvmeError> {
        self.trace(EventKind::SleepBegin);
        let start = now();
        let woken = self.run(step)?;
        let end = now();
        self.trace(EventKind::SleepEnd);
        let mut over = false;
        for queue in &mut self.queues {
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

    /// The queue that the core's own events are recorded on, if it is traced.
    #[inline]
    fn traced(&mut self) -> Option<&mut QueuePair<D>> {
        self.queues.first_mut().filter(|queue| queue.is_traced())
    }

    fn trace(&mut self, kind: EventKind) {
        if let Some(queue) = self.traced() {
            queue.trace_now(kind);
        }
    }
}
