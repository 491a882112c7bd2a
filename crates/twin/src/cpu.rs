//! A hardware thread: who has it, and what it does when nobody has.

use crate::step_costs::{IdleStateTimes, StepCosts};
use crate::times::{Doing, Times};
use joulio_units::Nanos;
use std::collections::VecDeque;

/// Cause of the end of an idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A device's interrupt.
    Interrupt,
    /// A timer that was set when the CPU fell idle.
    Timer,
    /// A timer of whoever knows that nothing else will.
    Known,
}

/// Way in which a thread got its CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Got {
    /// When.
    pub(crate) at: Nanos,
    /// The CPU had been another's, or idle for so long; `None`: the job's all the time.
    pub(crate) cold: Option<Nanos>,
    /// True if the CPU was idle, so that what woke it runs in nobody's time.
    pub(crate) idle: bool,
}

/// A hardware thread. Whoever asks for it gets it in the order of asking; so events that ask must
/// come in the order of their times where jobs share it.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// More than one job is on it.
    pub(crate) shared: bool,
    /// The job that has it, where it is shared.
    holder: Option<usize>,
    /// Who asked for it meanwhile.
    queue: VecDeque<usize>,
    /// The job that had it last.
    owner: usize,
    /// Since when its owner has it.
    pub(crate) since: Nanos,
    /// From when on nobody has it.
    free: Nanos,
    /// The latest idle time, for the other thread of its core.
    idle: (Nanos, Nanos),
    recent: Recent,
    /// Start of the measured part: what is before it counts for nothing.
    from: Nanos,
    pub(crate) times: Times,
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
    /// As many as the menu governor keeps (drivers/cpuidle/governors/menu.c, INTERVALS).
    const KEPT: usize = 8;

    fn add(&mut self, length: Nanos) {
        self.sum = self.sum - self.lengths[self.next] + length.0;
        self.lengths[self.next] = length.0;
        self.next = (self.next + 1) % Recent::KEPT;
        self.count = (self.count + 1).min(Recent::KEPT as u64);
    }

    /// The mean; nothing is expected of a CPU without a past.
    fn typical(&self) -> Nanos {
        Nanos(self.sum.checked_div(self.count).unwrap_or(0))
    }
}

impl Cpu {
    pub(crate) fn new(from: Nanos) -> Cpu {
        Cpu {
            shared: false,
            holder: None,
            queue: VecDeque::new(),
            owner: usize::MAX,
            since: Nanos::ZERO,
            free: Nanos::ZERO,
            idle: (Nanos::ZERO, Nanos::ZERO),
            recent: Recent::default(),
            from,
            times: Times::default(),
        }
    }

    /// Lets `job` have the CPU before all others; `false`: another has it, and gives it on with
    /// [`Cpu::release`].
    pub(crate) fn claim(&mut self, job: usize) -> bool {
        if self.holder.is_some_and(|holder| holder != job) {
            self.queue.push_back(job);
            return false;
        }
        self.holder = Some(job);
        true
    }

    /// The holder has given the CPU away: who has it now, and from when on.
    pub(crate) fn release(&mut self) -> Option<(Nanos, usize)> {
        self.holder = self.queue.pop_front();
        self.holder.map(|next| (self.free, next))
    }

    /// Gives the CPU to `job`, which `cause` makes runnable at `at`. Time since it was given away
    /// is idle, in the state that the governor picked: the deepest that the expected length pays
    /// for. A timer's length is known; another is the mean of the last, as the menu governor has it
    /// when idle times differ little.
    pub(crate) fn take(&mut self, job: usize, at: Nanos, cause: Cause, costs: &StepCosts) -> Got {
        if at <= self.free {
            // Giving it away has paid for the switch.
            let other = self.owner != job && self.owner != usize::MAX;
            self.owner = job;
            self.since = self.free;
            return Got {
                at: self.free,
                cold: other.then_some(Nanos::ZERO),
                idle: false,
            };
        }
        let length = at - self.free;
        let typical = self.recent.typical();
        let expected = match cause {
            Cause::Known => length,
            Cause::Timer if self.recent.count == 0 => length,
            Cause::Timer => length.min(typical),
            Cause::Interrupt => typical,
        };
        let state = pick(&costs.idle, expected);
        self.recent.add(length);
        // On its way out of the state it executes nothing yet.
        let awake = at + state.exit;
        let idle = self.counted(self.free, awake);
        *self.times.idling(state.state) += idle;
        self.idle = (self.free, awake);
        self.free = awake;
        self.owner = job;
        self.since = at;
        if at >= self.from {
            match cause {
                Cause::Interrupt => self.times.wakes += 1,
                Cause::Timer | Cause::Known => self.times.timer_wakes += 1,
            }
        }
        Got {
            at: awake,
            cold: Some(length),
            idle: true,
        }
    }

    /// Spends `time` from `at` on; when that is over.
    pub(crate) fn spend(&mut self, at: Nanos, time: Nanos, doing: Doing) -> Nanos {
        let end = at + time;
        let counted = self.counted(at, end);
        *self.times.doing(doing) += counted;
        self.free = end;
        end
    }

    /// `time` that ended at `end` was spent in the idle task's name.
    pub(crate) fn uncharge(&mut self, end: Nanos, time: Nanos) {
        if end > self.from {
            self.times.uncharged += time;
        }
    }

    /// Returns true if the CPU is running something at `at`, as far as it is known.
    pub(crate) fn busy(&self, at: Nanos) -> bool {
        at < self.free && !(self.idle.0 <= at && at < self.idle.1)
    }

    fn counted(&self, from: Nanos, to: Nanos) -> Nanos {
        to.since(from.max(self.from))
    }
}

/// The deepest state that `expected` pays for, or the shallowest.
fn pick(states: &[IdleStateTimes], expected: Nanos) -> IdleStateTimes {
    let pays = states.iter().rev().find(|s| s.chosen <= expected);
    // A profile's rules hold that there is a state.
    *pays.unwrap_or(&states[0])
}
