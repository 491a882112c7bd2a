//! A poll group: the queues that one core waits on.

mod blocking;
mod cache_line;
mod core;
mod trial;

pub use cache_line::SharedCacheLine;

use self::blocking::Blocking;
use self::core::Core;
use crate::queue::{Completed, Faults, QueuePair};
use crate::{NvmeError, PolicyError};
use joulio_device::Device;
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::{Counters, Step, StepKind, Tally, WaitError, Waiter, Woken, now};

/// Queues that one core waits on. The core waits, not the queue: the steps that the queues'
/// policies plan are merged into one.
///
/// The group also looks after its queues, some times a second while commands are outstanding:
/// lost interrupts are found, user interrupts that were taken away are bound again, commands that
/// take too long are aborted, a controller that fails is reset ([`crate::ControllerOptions`]).
pub struct PollGroup<D: Device> {
    queues: Vec<QueuePair<D>>,
    waiter: Waiter,
    /// What a block waits for.
    blocking: Blocking,
    /// What all queues' interrupts write, once several queues are to be watched.
    line: Option<Result<SharedCacheLine, PolicyError>>,
    /// When the queues are to be looked after next.
    next_tick: Nanos,
    /// Calls of [`PollGroup::reap`].
    calls: u32,
}

/// A group that never has to wait reads the clock once in so many calls.
const CALLS: u32 = 4096;

/// What to do after a wait.
enum After {
    /// Look at the queues.
    Look,
    /// Look after the queues, at this time.
    Tick(Nanos),
    /// Nothing is there to wait for any more.
    Return,
}

impl<D: Device> PollGroup<D> {
    /// A group of `queues`; one queue is a group of one.
    pub fn new(queues: Vec<QueuePair<D>>) -> PollGroup<D> {
        let mut blocking = Blocking::default();
        blocking.reserve(queues.len());
        PollGroup {
            blocking,
            queues,
            waiter: Waiter::new(),
            line: None,
            next_tick: Nanos::ZERO,
            calls: 0,
        }
    }

    /// The queues.
    #[inline]
    pub fn queues(&mut self) -> &mut [QueuePair<D>] {
        &mut self.queues
    }

    /// Adds a queue.
    pub fn push(&mut self, queue: QueuePair<D>) {
        self.queues.push(queue);
        self.blocking.reserve(self.queues.len());
    }

    /// Commands outstanding on all queues.
    pub fn outstanding(&self) -> usize {
        self.queues.iter().map(QueuePair::outstanding).sum()
    }

    /// What waiting did so far, all queues together.
    pub fn counters(&mut self) -> Counters {
        self.waiter.look_after();
        self.tell_tally();
        let queues = self.queues.iter_mut();
        queues.fold(Counters::default(), |mut counters, queue| {
            counters += queue.counters();
            counters
        })
    }

    /// What the waiter did since the last time is told once for the core, on its first queue.
    fn tell_tally(&mut self) {
        let tally = self.waiter.take_tally();
        if tally != Tally::default()
            && let Some(queue) = self.queues.first_mut()
        {
            queue.waited(tally);
        }
    }

    /// What the devices did wrong so far, all queues together.
    pub fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        for queue in &self.queues {
            faults += queue.faults();
        }
        faults
    }

    /// The instruction of its pauses and waits for a line, if this machine has one.
    pub fn user_level_wait(&self) -> Option<&'static str> {
        self.waiter.user_level_wait()
    }

    /// Makes the calling thread, which is to be pinned to a CPU, the one that waits. Only policies
    /// that take user interrupts need that, and their first wait does it otherwise: here it can be
    /// told in time that they are not to be had.
    pub fn attach(&mut self) -> Result<(), PolicyError> {
        let mut queues = self
            .queues
            .iter_mut()
            .filter(|queue| queue.user_vector().is_some());
        let Some(queue) = queues.next() else {
            return Ok(());
        };
        match queues.count() {
            0 => {}
            more => return Err(PolicyError::OneQueue { queues: more + 1 }),
        }
        queue.unmask()?;
        if let Some(vector) = queue.user_vector() {
            self.waiter.receive(vector.event())?;
        }
        Ok(())
    }

    /// The line that the interrupts of all queues write, for a core that watches several at once
    /// (a [`StepKind::Monitor`] step): made now, or at the first such wait. Without one, the error,
    /// the core looks at its queues each microsecond instead, and its counters say so. A queue that
    /// has changed its policy since is aimed again.
    ///
    /// The first completion of each queue proves that the line is written; until then the core
    /// looks by itself, and where it is not all vectors are set back
    /// ([`PolicyError::NotRedirected`]).
    pub fn shared_cache_line(&mut self) -> Result<&SharedCacheLine, &PolicyError> {
        let stale = match &self.line {
            None => true,
            Some(Ok(line)) => !line.is_of(&self.queues),
            Some(Err(_)) => false,
        };
        if stale {
            self.line = Some(SharedCacheLine::of(&mut self.queues));
        }
        self.try_line();
        match &self.line {
            Some(Ok(line)) => Ok(line),
            Some(Err(error)) => Err(error),
            None => unreachable!("made above"),
        }
    }

    /// Looks whether the line is written as it is to be.
    fn try_line(&mut self) {
        if let Some(Ok(line)) = &mut self.line
            && let Err(error) = line.look(&mut self.queues)
        {
            self.line = Some(Err(error));
        }
    }

    /// Hands out completions, with the index of their queue, until at least `min` were delivered
    /// or `deadline` has come; between looks it waits as the queues' policies say.
    ///
    /// `min` = 0 is one look. Without a deadline it returns early when nothing is outstanding; with
    /// one, a core that has nothing outstanding waits the way its policies wait.
    ///
    /// After a [`NvmeError::Completion`] everything is consistent, and the call may be repeated.
    /// A controller that was reset ends its commands with Command Aborted By Host, and goes on. An
    /// error otherwise says that there is no controller any more: all its commands have been
    /// handed out with that status, and the next call says the same.
    #[inline]
    pub fn reap(
        &mut self,
        min: usize,
        deadline: Option<Nanos>,
        mut sink: impl FnMut(usize, Completed),
    ) -> Result<usize, NvmeError> {
        let mut delivered = 0;
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(CALLS) {
            delivered += self.tick_if_due(&mut sink)?;
        }
        loop {
            for (index, queue) in self.queues.iter_mut().enumerate() {
                delivered += queue.reap(usize::MAX, |completed| sink(index, completed))?;
            }
            if delivered >= min {
                return Ok(delivered);
            }
            match self.wait(deadline)? {
                After::Look => {}
                After::Tick(at) => delivered += self.tick(at, &mut sink)?,
                After::Return => return Ok(delivered),
            }
        }
    }

    #[cold]
    fn tick_if_due(&mut self, sink: &mut dyn FnMut(usize, Completed)) -> Result<usize, NvmeError> {
        let at = now();
        if at < self.next_tick {
            return Ok(0);
        }
        self.tick(at, sink)
    }

    /// Looks after every queue.
    #[cold]
    fn tick(
        &mut self,
        at: Nanos,
        sink: &mut dyn FnMut(usize, Completed),
    ) -> Result<usize, NvmeError> {
        let intervals = self.queues.iter().map(QueuePair::tick_interval);
        let interval = intervals.min().unwrap_or(Nanos::ZERO);
        self.next_tick = at + interval;
        self.waiter.look_after();
        let mut delivered = 0;
        let mut failed = None;
        for (index, queue) in self.queues.iter_mut().enumerate() {
            match queue.tick(interval, &mut |completed| sink(index, completed)) {
                Ok(count) => delivered += count,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let Some(error) = failed else {
            return Ok(delivered);
        };
        // What came to light at one queue is the end of the commands of those before it too.
        for (index, queue) in self.queues.iter_mut().enumerate() {
            if queue.wants_revival() {
                let _ = queue.revive(&mut |completed| sink(index, completed));
            }
        }
        Err(error)
    }

    /// Waits once.
    fn wait(&mut self, deadline: Option<Nanos>) -> Result<After, NvmeError> {
        let idle = self.outstanding() == 0;
        if idle && deadline.is_none() {
            return Ok(After::Return);
        }
        if self.queues.iter().any(QueuePair::wants_revival) {
            return Ok(After::Tick(now()));
        }
        let planned = match self.plan(idle) {
            Err(WaitError::Unavailable(StepKind::UserInterrupt)) => {
                self.attach()?;
                self.plan(idle)
            }
            planned => planned,
        };
        let Some(step) = planned? else {
            return Ok(After::Return);
        };
        let deadline = deadline.unwrap_or(Nanos::MAX);
        let tick = if idle { Nanos::MAX } else { self.next_tick };
        let step = step.bounded(deadline).bounded(tick);
        let woken = match step.kind {
            StepKind::Block => self.block(step)?,
            kind => {
                for queue in &mut self.queues {
                    queue.disarm()?;
                }
                match kind {
                    StepKind::Sleep => self.sleep(step)?,
                    _ => self.spin(step)?,
                }
            }
        };
        if woken == Woken::Ready {
            return Ok(After::Look);
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
            After::Return
        } else if at >= tick {
            After::Tick(at)
        } else {
            After::Look
        })
    }

    fn run(&mut self, step: Step) -> Result<Woken, WaitError> {
        if step.kind == StepKind::Monitor && self.queues.len() > 1 {
            // Without one the core looks itself.
            let _ = self.shared_cache_line();
        }
        let line = self.line.as_ref().and_then(|line| line.as_ref().ok());
        let line = line.filter(|line| line.wakes(&self.queues));
        let mut core = Core {
            queues: &mut self.queues,
            line,
            blocking: &mut self.blocking,
        };
        let woken = self.waiter.run(step, &mut core);
        if step.kind == StepKind::Monitor {
            // Before the completion that ended the wait is reaped.
            self.try_line();
        }
        self.tell_tally();
        woken
    }

    /// Waits for interrupts. They are let through only meanwhile, to a queue that also waits in
    /// other ways: what it finds by itself afterwards is to raise none.
    fn block(&mut self, step: Step) -> Result<Woken, NvmeError> {
        self.blocking.keep(&self.queues);
        let woken = self.run(step)?;
        for queue in &mut self.queues {
            if queue.masks_between_blocks() {
                queue.disarm()?;
            }
        }
        Ok(woken)
    }

    /// Any wait in which the core polls itself.
    fn spin(&mut self, step: Step) -> Result<Woken, WaitError> {
        let Some(before) = self.traced().map(|queue| queue.polls()) else {
            return self.run(step);
        };
        let light = step.kind != StepKind::Spin;
        self.trace(match light {
            false => EventKind::SpinBegin,
            true => EventKind::PauseBegin,
        });
        let woken = self.run(step);
        let polls = self.traced().map_or(0, |queue| queue.polls() - before);
        // The one that found the completion is not counted as an empty poll.
        let polls = (polls + 1).min(u32::MAX.into()) as u32;
        self.trace(match light {
            false => EventKind::SpinEnd { polls },
            true => EventKind::PauseEnd { polls },
        });
        woken
    }

    /// The queue that the core's own events are told on, if it is traced.
    #[inline]
    fn traced(&mut self) -> Option<&mut QueuePair<D>> {
        self.queues.first_mut().filter(|queue| queue.is_traced())
    }

    fn trace(&mut self, kind: EventKind) {
        if let Some(queue) = self.traced() {
            queue.trace_now(kind);
        }
    }

    /// What the queues' policies want, merged. Queues with nothing outstanding only count when
    /// none has.
    fn plan(&mut self, idle: bool) -> Result<Option<Step>, WaitError> {
        let at = if self.queues.iter().any(QueuePair::timed) {
            now()
        } else {
            Nanos::ZERO
        };
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

    fn sleep(&mut self, step: Step) -> Result<Woken, NvmeError> {
        self.trace(EventKind::SleepBegin);
        let start = now();
        let woken = self.run(step)?;
        let end = now();
        self.trace(EventKind::SleepEnd);
        let mut over = false;
        for queue in &mut self.queues {
            let here = queue.look();
            queue.woke(here, end);
            over |= here;
        }
        if let Some(queue) = self.queues.first_mut() {
            queue.slept_for(end - start, end - step.until, over);
        }
        Ok(woken)
    }
}
