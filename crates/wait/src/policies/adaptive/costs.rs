//! Costs of steps on a machine: time and joules.

use super::goal::Objective;
use crate::StepKind;
use joulio_units::{Joules, Nanos, Watts};

/// Costs of the steps of a machine, by which [`crate::Adaptive`] plans.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WaitCosts {
    /// Nanoseconds of a poll that finds nothing.
    pub poll: Nanos,
    /// Nanoseconds from the decision to sleep to an idle core.
    pub sleep_before: Nanos,
    /// Nanoseconds from a timer's interrupt to the thread's next instruction, on a core that is awake.
    pub sleep_after: Nanos,
    /// Nanoseconds from the decision to block to an idle core.
    pub block_before: Nanos,
    /// Nanoseconds from a device's interrupt to the thread's next instruction, on a core that is awake.
    pub block_after: Nanos,
    /// Nanoseconds by which a thread is slower after an idle time of zero and after an endless one, and the idle time
    /// after which half of the difference is reached.
    pub cold: [Nanos; 3],
    /// Nanoseconds to leave a user-level wait.
    pub pause_exit: Nanos,
    /// Nanoseconds from a user interrupt to the thread's next instruction.
    pub user_interrupt: Nanos,
    /// Nanoseconds of an I/O's latency before its submission and after its completion was seen.
    pub around: Nanos,
    /// Watts of a core that spins.
    pub spin: Watts,
    /// Watts of a core in the kernel.
    pub kernel: Watts,
    /// Watts of a core in a user-level wait for a time.
    pub pause: Watts,
    /// Watts of a core in a user-level wait for a cache line.
    pub monitor: Watts,
    /// Watts of the package without its cores.
    pub package: Watts,
    /// Watts of the machine without its cores.
    pub wall: Watts,
    /// Idle states, from the shallowest; at least one.
    pub idle: Vec<IdleCost>,
    /// Joules of a wake-up by a timer.
    pub timer: Joules,
    /// Joules of a wake-up by an interrupt.
    pub interrupt: Joules,
}

/// Costs of an idle state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IdleCost {
    /// Nanoseconds of the shortest expected idle time for which the governor chooses the state.
    pub chosen: Nanos,
    /// Nanoseconds to leave it.
    pub exit: Nanos,
    /// Watts of a core in it.
    pub watts: Watts,
}

/// Returns the nanoseconds of a cost. They are far below 2^63, and a processor converts signed numbers in one
/// instruction.
#[inline]
pub(super) fn ns(cost: Nanos) -> f64 {
    cost.0 as i64 as f64
}

/// Returns the greater of two costs. Neither is NaN, so that a comparison is enough.
#[inline]
pub(super) fn greater(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

impl WaitCosts {
    /// Costs of a server whose own costs are unknown: those of the profile `generic-server`, for the user-space
    /// driver.
    pub fn generic() -> WaitCosts {
        let idle = |chosen, exit, watts| IdleCost {
            chosen: Nanos(chosen),
            exit: Nanos(exit),
            watts: Watts(watts),
        };
        WaitCosts {
            poll: Nanos(60),
            sleep_before: Nanos(1_927),
            sleep_after: Nanos(940),
            block_before: Nanos(2_836),
            block_after: Nanos(2_543),
            cold: [Nanos(345), Nanos(1_145), Nanos(20_000)],
            pause_exit: Nanos(100),
            user_interrupt: Nanos(600),
            around: Nanos(336),
            spin: Watts(4.0),
            kernel: Watts(4.2),
            pause: Watts(3.6),
            monitor: Watts(3.6),
            package: Watts(3.0),
            wall: Watts(108.0),
            idle: vec![
                idle(2_000, 250, 1.44),
                idle(20_000, 5_000, 0.88),
                idle(600_000, 100_000, 0.1),
            ],
            timer: Joules(10e-6),
            interrupt: Joules(8e-6),
        }
    }

    /// Returns the watts within the boundary of `objective` that are drawn while an I/O of a closed loop lasts,
    /// whatever its core does, for each of `jobs`.
    pub(super) fn share(&self, objective: Objective, jobs: usize) -> f64 {
        let all = match objective {
            Objective::Cores => 0.0,
            Objective::Package => self.package.0,
            Objective::Wall => self.wall.0,
        };
        all / jobs.max(1) as f64
    }

    /// Returns the idle state that the governor chooses for an idle time of `expected` nanoseconds.
    pub(super) fn idle_of(&self, expected: f64) -> IdleCost {
        let mut states = self.idle.iter().rev();
        let pays = states.find(|state| ns(state.chosen) <= expected);
        *pays.unwrap_or(&self.idle[0])
    }

    /// Returns the nanoseconds by which a thread is slower after its core was idle for `idle` nanoseconds.
    pub(super) fn cold_after(&self, idle: f64) -> f64 {
        let [least, most, half] = self.cold.map(ns);
        match idle + half {
            0.0 => least,
            sum => least + greater(most - least, 0.0) * idle / sum,
        }
    }

    /// Returns the nanoseconds from the completion to the thread's next instruction after a block of `idle`
    /// nanoseconds.
    pub(super) fn block_delay(&self, idle: f64) -> f64 {
        ns(self.idle_of(idle).exit) + ns(self.block_after)
    }

    /// Returns the nanoseconds from a timer's time to the thread's next instruction after a sleep of `idle`
    /// nanoseconds.
    pub(super) fn timer_delay(&self, idle: f64) -> f64 {
        ns(self.idle_of(idle).exit) + ns(self.sleep_after)
    }

    /// Returns the nanojoules of `time` nanoseconds from a decision to sleep to the thread's next instruction, with a
    /// wake-up of `wake` joules.
    pub(super) fn asleep(&self, time: f64, wake: f64) -> f64 {
        let awake = ns(self.sleep_before) + ns(self.sleep_after);
        let idle = (time - awake).max(0.0);
        awake * self.kernel.0 + idle * self.idle_of(idle).watts.0 + wake * 1e9
    }

    /// Returns the joules that a core has used `time` after it began a step of `kind`.
    pub fn energy(&self, kind: StepKind, time: Nanos) -> Joules {
        Joules(self.spent(kind, time) * 1e-9)
    }

    /// Returns the nanojoules that a core has used `time` after it began a step of `kind`.
    pub(super) fn spent(&self, kind: StepKind, time: Nanos) -> f64 {
        let time = ns(time);
        match kind {
            StepKind::Spin => time * self.spin.0,
            StepKind::Pause | StepKind::UserInterrupt => time * self.pause.0,
            StepKind::Monitor => time * self.monitor.0,
            StepKind::Sleep => self.asleep(time, self.timer.0),
            // Like a sleep, but with its own times.
            StepKind::Block => {
                let asleep = self.asleep(time, self.interrupt.0);
                let more = self.block_before + self.block_after;
                let more = ns(more.since(self.sleep_before + self.sleep_after));
                asleep + more.min(time) * (self.kernel.0 - self.idle[0].watts.0).max(0.0)
            }
        }
    }

    /// Returns the nanoseconds of spinning that cost as much as a block: the break-even of ski rental.
    pub(super) fn break_even(&self) -> f64 {
        let awake = (ns(self.block_before) + ns(self.block_after)) * self.kernel.0;
        let wake = self.interrupt.0 * 1e9 + awake;
        let saved = (self.spin.0 - self.idle[0].watts.0).max(self.spin.0 / 100.0);
        wake / saved
    }
}
