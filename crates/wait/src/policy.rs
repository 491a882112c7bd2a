//! The trait of all policies: pure decisions.

use crate::{Class, PlannedWait, Step, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// The commands that a queue waits for, in the form that a policy needs.
pub trait Outstanding {
    /// Returns the number of commands submitted and not completed.
    fn count(&self) -> usize;

    /// Calls `each` with the class and submission time of every command.
    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos));

    /// Returns the class and submission time of the command, if there is exactly one; `None`: use
    /// [`Outstanding::for_each`].
    fn only(&self) -> Option<(Class, Nanos)> {
        None
    }
}

/// Outcome of a sleep that a policy planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// Too short: no completion was there yet.
    Under,
    /// Too long: a completion was there at the first poll.
    Over,
}

/// A rule that decides how to wait. It owns no clock and does no I/O.
pub trait Policy: Send {
    /// Name with parameters, as `--completion` takes it.
    fn name(&self) -> Cow<'static, str>;

    /// Returns every kind of step that [`Policy::plan`] may ever return.
    fn steps(&self) -> StepSet;

    /// Returns whether the policy uses times. If not, the clock is not read for it, and all times that it is given
    /// are zero.
    fn timed(&self) -> bool {
        false
    }

    /// Learns, before [`Policy::submitted`], that the command waited for `time` up to `at` since it was requested,
    /// for room in the queue or for the core.
    fn waited(&mut self, time: Nanos, at: Nanos) {
        let _ = (time, at);
    }

    /// Learns that a command of `class` was submitted at `at`.
    fn submitted(&mut self, class: Class, at: Nanos) {
        let _ = (class, at);
    }

    /// Learns that a command of `class`, submitted at `submitted`, was seen completed at `at`.
    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        let _ = (class, submitted, at);
    }

    /// Learns that the core woke at `at` from a sleep, or from a block with a deadline. The policy of another queue
    /// of the core may have planned it, and it may be earlier than this policy planned.
    fn woke(&mut self, slept: Slept, at: Nanos) {
        let _ = (slept, at);
    }

    /// Returns whether the policy uses [`Policy::lost`]; such a policy uses times, too.
    fn asks_lost(&self) -> bool {
        false
    }

    /// Learns, now and then, that the thread was ready to run and did not run, for `time` up to `at`: other threads
    /// had its core.
    fn lost(&mut self, time: Nanos, at: Nanos) {
        let _ = (time, at);
    }

    /// Returns whether the policy uses [`Policy::others_runnable`]. A queue that does not know which threads are
    /// runnable refuses such a policy.
    fn asks_others(&self) -> bool {
        false
    }

    /// Learns, before each [`Policy::plan`], whether another thread is runnable on the core.
    fn others_runnable(&mut self, others: bool) {
        let _ = others;
    }

    /// Returns the longest time, with I/O, until the policy has learnt how long to wait; zero once it has, or if it
    /// has nothing to learn.
    fn learning(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Returns the current plan for I/Os of `class`, with its expected cost; `None` if the policy has no plan by
    /// class.
    fn planned(&self, class: Class) -> Option<PlannedWait> {
        let _ = class;
        None
    }

    /// Returns the step that the policy plans for every wait; `None`: the step varies.
    fn fixed(&self) -> Option<Step> {
        None
    }

    /// Plans how to wait now, with steps in `can` only.
    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step;
}
