//! Policies: pure decisions.

use crate::{
    Class, Dpas, Ehp, Hybrid, HybridTpause, Pas, SkiRental, Step, StepKind, StepSet, Tpause, Uintr,
    UintrBlock, Umwait, UringHybrid,
};
use joulio_units::Nanos;
use std::borrow::Cow;

/// What a queue is waiting for, as a policy may look at it.
pub trait Outstanding {
    /// Commands submitted and not completed.
    fn count(&self) -> usize;

    /// Calls `each` with the class and submission time of every one of them.
    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos));
}

/// How a sleep went that a policy planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// Too short: no completion was there yet.
    Under,
    /// Too long: a completion was there at the first look.
    Over,
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

    /// The core woke at `at` from a sleep, or from a block with a deadline, that this policy or
    /// that of a queue beside it planned; it may be earlier than this one asked for.
    fn woke(&mut self, slept: Slept, at: Nanos) {
        let _ = (slept, at);
    }

    /// How long it goes on without having learnt how long to wait, at the most, while there is I/O;
    /// zero: it has learnt, or has nothing to learn.
    fn learning(&self) -> Nanos {
        Nanos::ZERO
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
        Step::SPIN
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
        Step::BLOCK
    }
}

/// `name` with a time as its parameter.
pub(crate) fn name_with_time(name: &str, time: Nanos) -> String {
    if time.0.is_multiple_of(1_000) {
        format!("{name}={}us", time.0 / 1_000)
    } else {
        format!("{name}={}ns", time.0)
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
    /// [`UringHybrid`].
    UringHybrid(UringHybrid),
    /// [`Ehp`].
    Ehp(Ehp),
    /// [`Pas`].
    Pas(Pas),
    /// [`Dpas`].
    Dpas(Dpas),
    /// [`SkiRental`].
    SkiRental(SkiRental),
    /// [`Tpause`].
    Tpause(Tpause),
    /// [`HybridTpause`].
    HybridTpause(HybridTpause),
    /// [`Umwait`].
    Umwait(Umwait),
    /// [`Uintr`].
    Uintr(Uintr),
    /// [`UintrBlock`].
    UintrBlock(UintrBlock),
    /// A caller's own.
    Other(Box<dyn Policy>),
}

/// `$do` with whichever policy `$any` is.
macro_rules! each {
    ($any:expr, $policy:ident => $do:expr) => {
        match $any {
            AnyPolicy::Poll($policy) => $do,
            AnyPolicy::Interrupt($policy) => $do,
            AnyPolicy::Hybrid($policy) => $do,
            AnyPolicy::UringHybrid($policy) => $do,
            AnyPolicy::Ehp($policy) => $do,
            AnyPolicy::Pas($policy) => $do,
            AnyPolicy::Dpas($policy) => $do,
            AnyPolicy::SkiRental($policy) => $do,
            AnyPolicy::Tpause($policy) => $do,
            AnyPolicy::HybridTpause($policy) => $do,
            AnyPolicy::Umwait($policy) => $do,
            AnyPolicy::Uintr($policy) => $do,
            AnyPolicy::UintrBlock($policy) => $do,
            AnyPolicy::Other($policy) => $do,
        }
    };
}

impl AnyPolicy {
    /// Classic polling.
    pub const POLL: AnyPolicy = AnyPolicy::Poll(Poll);
    /// Interrupts.
    pub const INTERRUPT: AnyPolicy = AnyPolicy::Interrupt(Interrupt);
}

impl Policy for AnyPolicy {
    fn name(&self) -> Cow<'static, str> {
        each!(self, policy => policy.name())
    }

    fn steps(&self) -> StepSet {
        each!(self, policy => policy.steps())
    }

    fn timed(&self) -> bool {
        each!(self, policy => policy.timed())
    }

    fn learning(&self) -> Nanos {
        each!(self, policy => policy.learning())
    }

    fn submitted(&mut self, class: Class, at: Nanos) {
        each!(self, policy => policy.submitted(class, at));
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        each!(self, policy => policy.completed(class, submitted, at));
    }

    fn woke(&mut self, slept: Slept, at: Nanos) {
        each!(self, policy => policy.woke(slept, at));
    }

    #[inline]
    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        each!(self, policy => policy.plan(outstanding, can, now))
    }
}
