//! A hardware thread: which thread runs on it, and what it does while none does.

use crate::run_queue::RunQueue;
use crate::step_costs::{IdleStateTimes, StepCosts};
use crate::times::{CoreTimes, Doing};
use joulio_model::machine::costs::IdleState;
use joulio_units::Nanos;

/// Cause of the end of an idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A device's interrupt.
    Interrupt,
    /// A timer that was set when the CPU became idle.
    Timer,
    /// A timer of a thread that knows that no other event ends the idle time.
    Known,
    /// The turn of a thread after another's: no interrupt is handled.
    Turn,
}

impl Cause {
    /// Returns the time of its handler.
    #[inline]
    pub(crate) fn handler(self, costs: &StepCosts) -> Nanos {
        match self {
            Cause::Interrupt => costs.interrupt,
            Cause::Timer | Cause::Known => costs.timer_fires,
            Cause::Turn => Nanos::ZERO,
        }
    }
}

/// Circumstances under which a thread got its CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Got {
    /// Time at which the thread got it.
    pub(crate) at: Nanos,
    /// How long the CPU had belonged to another thread or been idle; `None`: it had been the job's all the time.
    pub(crate) cold: Option<Nanos>,
    /// True if the CPU was idle, so that the wake-up is charged to no thread.
    pub(crate) idle: bool,
}

/// A hardware thread. Where threads share it, their requests for it must come in the order of their times.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// The threads on this CPU, and the scheduler's choice among them.
    pub(crate) run_queue: RunQueue,
    /// The thread that had the CPU last.
    owner: usize,
    /// Time from which on no thread has the CPU.
    pub(crate) free: Nanos,
    /// The latest idle time, and the activity until `free`: read for the other hardware thread of the core.
    idle: (Nanos, Nanos),
    latest: Doing,
    recent: Recent,
    /// Number of jobs on the CPU that have not ended.
    pub(crate) jobs: usize,
    /// Time of the next interrupt of another queue or device; `Nanos::MAX` if none comes.
    pub(crate) next_irq: Nanos,
    /// Start of the measured part: earlier times are not counted.
    from: Nanos,
    /// Times by activity of the thread that had the CPU.
    done: [Nanos; Doing::COUNT],
    /// Time by idle state.
    idled: [Nanos; IdleState::ALL.len()],
    /// All other times and counts.
    times: CoreTimes,
}

/// The governor's memory: the last idle times.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    lengths: [u64; Recent::KEPT],
    sum: u64,
    next: usize,
    count: u64,
}

impl Recent {
    /// Number of idle times that the menu governor keeps (drivers/cpuidle/governors/menu.c, INTERVALS).
    const KEPT: usize = 8;

    fn add(&mut self, length: Nanos) {
        self.sum = self.sum - self.lengths[self.next] + length.0;
        self.lengths[self.next] = length.0;
        self.next = (self.next + 1) % Recent::KEPT;
        self.count = (self.count + 1).min(Recent::KEPT as u64);
    }

    /// Returns the mean idle time; 0 for a CPU that was never idle.
    fn typical(&self) -> Nanos {
        Nanos(self.sum.checked_div(self.count).unwrap_or(0))
    }
}

impl Cpu {
    pub(crate) fn new(from: Nanos, costs: &StepCosts) -> Cpu {
        Cpu {
            run_queue: RunQueue::new(costs.slice, costs.tick),
            owner: usize::MAX,
            free: Nanos::ZERO,
            idle: (Nanos::ZERO, Nanos::ZERO),
            latest: Doing::Pause,
            recent: Recent::default(),
            jobs: 0,
            next_irq: Nanos::MAX,
            from,
            done: [Nanos::ZERO; Doing::COUNT],
            idled: [Nanos::ZERO; IdleState::ALL.len()],
            times: CoreTimes::default(),
        }
    }

    /// Returns the times of the CPU in the measured part.
    pub(crate) fn times(&self) -> CoreTimes {
        let mut times = self.times;
        for doing in Doing::ALL {
            *times.doing(doing) = self.done[doing as usize];
        }
        for state in IdleState::ALL {
            *times.idling(state) = self.idled[state as usize];
        }
        times
    }

    /// Gives the CPU to thread `job`, which `cause` makes runnable at `at`. Until then the CPU was idle, in the
    /// state that the governor had picked: the deepest that is worth it for the expected length. The length that a
    /// timer sets is known; otherwise the expected length is the mean of recent ones, as the menu governor expects
    /// it when idle times differ little.
    #[inline(always)]
    pub(crate) fn take(&mut self, job: usize, at: Nanos, cause: Cause, costs: &StepCosts) -> Got {
        if at <= self.free {
            // The time of the switch was spent when the CPU was given up.
            let other = self.owner != job && self.owner != usize::MAX;
            self.owner = job;
            if other {
                self.run_queue.handled(cause.handler(costs));
            }
            return Got {
                at: self.free,
                cold: other.then_some(Nanos::ZERO),
                idle: false,
            };
        }
        let length = self.leave_idle(at, cause, costs);
        self.owner = job;
        Got {
            at: self.free,
            cold: Some(length),
            idle: true,
        }
    }

    /// Handles an interrupt of another queue or device that comes at `at`: meanwhile no thread has the CPU, and an
    /// idle CPU becomes idle again afterwards.
    pub(crate) fn handle_other(&mut self, at: Nanos, costs: &StepCosts) {
        if at > self.free {
            self.leave_idle(at, Cause::Interrupt, costs);
        }
        self.spend(self.free, costs.interrupt, Doing::OtherIrq);
        self.times.other_irqs += u64::from(at >= self.from);
    }

    /// Ends an idle time at `at`, because of `cause`; returns its length. The CPU is free, and awake, once it has
    /// left the idle state.
    #[inline(always)]
    fn leave_idle(&mut self, at: Nanos, cause: Cause, costs: &StepCosts) -> Nanos {
        let length = at - self.free;
        let typical = self.recent.typical();
        let expected = match cause {
            Cause::Known => length,
            Cause::Timer | Cause::Turn if self.recent.count == 0 => length,
            Cause::Timer | Cause::Turn => length.min(typical),
            Cause::Interrupt => typical,
        };
        let state = pick(&costs.idle, expected);
        self.recent.add(length);
        // An interrupt that comes while the CPU enters the state is taken at the end of the entry; while it leaves
        // the state, it executes nothing yet.
        let entered = self.spend(self.free, state.enter, Doing::Kernel);
        let awake = entered.max(at).plus(state.exit);
        let idle = self.counted(entered, awake);
        let idled = &mut self.idled[state.state as usize];
        *idled = idled.plus(idle);
        self.idle = (entered, awake);
        self.free = awake;
        if at >= self.from {
            self.times.entered[state.state as usize] += 1;
            match cause {
                Cause::Interrupt => self.times.wakes += 1,
                Cause::Timer | Cause::Known | Cause::Turn => self.times.timer_wakes += 1,
            }
        }
        length
    }

    /// Spends `time` from `at` on; returns the time at which it ends.
    #[inline]
    pub(crate) fn spend(&mut self, at: Nanos, time: Nanos, doing: Doing) -> Nanos {
        // Longer runs are refused.
        let end = at.plus(time);
        let counted = match at >= self.from {
            true => time,
            false => end.since(self.from),
        };
        let done = &mut self.done[doing as usize];
        *done = done.plus(counted);
        self.free = end;
        self.latest = doing;
        end
    }

    /// Counts `time`, which ended at `end`, as charged to the idle task.
    #[inline]
    pub(crate) fn uncharge(&mut self, end: Nanos, time: Nanos) {
        if end > self.from {
            self.times.uncharged = self.times.uncharged.plus(time);
        }
    }

    /// Counts the activity until the CPU is free as work, not as a spin.
    #[inline]
    pub(crate) fn works(&mut self) {
        self.latest = Doing::Kernel;
    }

    /// Returns the activity of the CPU at `at`, as far as it is known; `None`: it is idle.
    #[inline]
    pub(crate) fn doing(&self, at: Nanos) -> Option<Doing> {
        let idle = self.idle.0 <= at && at < self.idle.1;
        (at < self.free && !idle).then_some(self.latest)
    }

    #[inline]
    fn counted(&self, from: Nanos, to: Nanos) -> Nanos {
        to.since(from.max(self.from))
    }
}

/// Returns the deepest state that pays within `expected`, or else the shallowest.
#[inline]
fn pick(states: &[IdleStateTimes], expected: Nanos) -> &IdleStateTimes {
    let pays = states.iter().rev().find(|s| s.chosen <= expected);
    // A profile is refused if it has no state.
    pays.unwrap_or(&states[0])
}
