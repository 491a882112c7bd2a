//! Policies: pure decisions.

use crate::{Class, Hybrid, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// What a queue is waiting for, as a policy may look at it.
pub trait Outstanding {
    /// Commands submitted and not completed.
    fn count(&self) -> usize;

    /// Calls `each` with the class and submission time of every one of them.
    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos));
}

/// Decides how to wait. Owns no clock and does no I/O.
pub trait Policy: Send {
    /// Its name, parameters included, as `--completion` takes it.
    fn name(&self) -> Cow<'static, str>;

    /// Every kind of step that [`Policy::plan`] may ever return.
    fn steps(&self) -> StepSet;

    /// Whether it wants to be told times. If not, nobody reads a clock for it, and all times it
    /// is given are zero.
    fn timed(&self) -> bool {
        false
    }

    /// A command of `class` was submitted at `at`.
    fn submitted(&mut self, class: Class, at: Nanos) {
        let _ = (class, at);
    }

    /// A command of `class`, submitted at `submitted`, completed and was seen at `at`.
    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        let _ = (class, submitted, at);
    }

    /// How to wait now, with steps out of `can` only.
    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step;
}

/// Classic polling: spin until the completion is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Poll;

impl Policy for Poll {
    fn name(&self) -> Cow<'static, str> {
        "poll".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin)
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::forever(StepKind::Spin)
    }
}

/// Interrupts: block until the device raises the queue's vector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupt;

impl Policy for Interrupt {
    fn name(&self) -> Cow<'static, str> {
        "interrupt".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Block)
    }

    #[inline]
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::forever(StepKind::Block)
    }
}

/// Any policy: the known ones without a virtual call, others boxed.
pub enum AnyPolicy {
    /// [`Poll`].
    Poll(Poll),
    /// [`Interrupt`].
    Interrupt(Interrupt),
    /// [`Hybrid`].
    Hybrid(Hybrid),
    /// A caller's own.
    Other(Box<dyn Policy>),
}

impl AnyPolicy {
    /// Classic polling.
    pub const POLL: AnyPolicy = AnyPolicy::Poll(Poll);
    /// Interrupts.
    pub const INTERRUPT: AnyPolicy = AnyPolicy::Interrupt(Interrupt);

    fn inner(&self) -> &dyn Policy {
        match self {
            AnyPolicy::Poll(policy) => policy,
            AnyPolicy::Interrupt(policy) => policy,
            AnyPolicy::Hybrid(policy) => policy,
            AnyPolicy::Other(policy) => &**policy,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn Policy {
        match self {
            AnyPolicy::Poll(policy) => policy,
            AnyPolicy::Interrupt(policy) => policy,
            AnyPolicy::Hybrid(policy) => policy,
            AnyPolicy::Other(policy) => &mut **policy,
        }
    }
}

impl Policy for AnyPolicy {
    fn name(&self) -> Cow<'static, str> {
        self.inner().name()
    }

    fn steps(&self) -> StepSet {
        self.inner().steps()
    }

    fn timed(&self) -> bool {
        self.inner().timed()
    }

    fn submitted(&mut self, class: Class, at: Nanos) {
        self.inner_mut().submitted(class, at);
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.inner_mut().completed(class, submitted, at);
    }

    #[inline]
    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        match self {
            AnyPolicy::Poll(policy) => policy.plan(outstanding, can, now),
            AnyPolicy::Interrupt(policy) => policy.plan(outstanding, can, now),
            AnyPolicy::Hybrid(policy) => policy.plan(outstanding, can, now),
            AnyPolicy::Other(policy) => policy.plan(outstanding, can, now),
        }
    }
}
