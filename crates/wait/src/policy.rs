//! The trait of all policies: pure decisions.

use crate::{Class, PlannedWait, Step, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// The commands that a queue waits for, as a policy sees them.
pub trait Outstanding {
    /// Number of commands submitted and not completed.
    fn count(&self) -> usize;

    /// Calls `each` with the class and submission time of every one of them.
    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos));

    /// Class and submission time of the command, where there is one and no other; `None` sends who asks to
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

    /// Reports whether the policy uses times. If not, nobody reads a clock for it, and all times
    /// that it is given are zero.
    fn timed(&self) -> bool {
        false
    }

    /// Learns, before [`Policy::submitted`], that the command had to wait for `time` up to `at` since it
    /// was requested, for room in the queue or for the core.
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

    /// Learns that the core woke at `at` from a sleep, or from a block with a deadline, that this
    /// policy or that of another queue of the core planned; it may be earlier than this one
    /// planned.
    fn woke(&mut self, slept: Slept, at: Nanos) {
        let _ = (slept, at);
    }

    /// Reports whether the policy uses [`Policy::lost`]; such a one uses times, too.
    fn asks_lost(&self) -> bool {
        false
    }

    /// Learns, now and then, that the thread was ready to run and did not, for `time` up to `at`: others had its core.
    fn lost(&mut self, time: Nanos, at: Nanos) {
        let _ = (time, at);
    }

    /// Reports whether the policy uses [`Policy::others_runnable`]. A queue that cannot tell who is
    /// runnable refuses such a policy.
    fn asks_others(&self) -> bool {
        false
    }

    /// Learns, before each [`Policy::plan`], whether another thread is runnable on the core.
    fn others_runnable(&mut self, others: bool) {
        let _ = others;
    }

    /// Longest time, with I/O, until the policy has learnt how long to wait; zero once it has, or
    /// where it has nothing to learn.
    fn learning(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Returns how I/Os of `class` are waited for now, and what is expected of that; `None` where the
    /// policy has no plan by class.
    fn planned(&self, class: Class) -> Option<PlannedWait> {
        let _ = class;
        None
    }

    /// Step that the policy plans for every wait, whatever happens; `None`: that depends.
    fn fixed(&self) -> Option<Step> {
        None
    }

    /// Plans how to wait now, with steps out of `can` only.
    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step;
}
