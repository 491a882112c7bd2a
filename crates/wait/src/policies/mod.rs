//! The policies, in one table. A new one is a file here, its lines in this one, and a name of
//! `--completion`.

mod active_check;
mod adaptive;
mod dpas;
mod ehp;
mod hybrid;
mod hybrid_uintr;
mod interrupt;
mod once;
mod pas;
mod patience;
mod poll;
mod poll_pause;
mod ski_rental;
#[cfg(test)]
mod testing;
mod tpause;
mod umwait;
mod uring_hybrid;
mod user_interrupt;

pub use active_check::ActiveCheck;
pub use adaptive::{Adaptive, Goal, IdleCost, Objective, Promised, UnknownObjective, WaitCosts};
pub use dpas::Dpas;
pub use ehp::Ehp;
pub use hybrid::Hybrid;
pub use hybrid_uintr::HybridUintr;
pub use interrupt::Interrupt;
pub use pas::Pas;
pub use poll::Poll;
pub use poll_pause::PollPause;
pub use ski_rental::SkiRental;
pub use tpause::{HybridTpause, Tpause};
pub use umwait::Umwait;
pub use uring_hybrid::UringHybrid;
pub use user_interrupt::{SpdkPlus, Uintr, UintrBlock};

use crate::{Class, Outstanding, PlannedWait, Policy, Slept, Step, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// Declares [`AnyPolicy`] from a table of policies, each with its default value.
macro_rules! policies {
    ($($policy:ident = $default:expr;)*) => {
        /// Any policy: the built-in ones without a virtual call, others boxed.
        pub enum AnyPolicy {
            $(
                #[doc = concat!("[`", stringify!($policy), "`].")]
                $policy($policy),
            )*
            /// A policy of the caller's own.
            Other(Box<dyn Policy>),
        }

        impl AnyPolicy {
            /// Returns one of each known policy, with its default parameter.
            pub fn all() -> Vec<AnyPolicy> {
                vec![$(AnyPolicy::$policy($default)),*]
            }
        }

        impl Policy for AnyPolicy {
            fn name(&self) -> Cow<'static, str> {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.name(),)*
                    AnyPolicy::Other(policy) => policy.name(),
                }
            }

            fn steps(&self) -> StepSet {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.steps(),)*
                    AnyPolicy::Other(policy) => policy.steps(),
                }
            }

            fn timed(&self) -> bool {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.timed(),)*
                    AnyPolicy::Other(policy) => policy.timed(),
                }
            }

            fn asks_others(&self) -> bool {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.asks_others(),)*
                    AnyPolicy::Other(policy) => policy.asks_others(),
                }
            }

            fn others_runnable(&mut self, others: bool) {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.others_runnable(others),)*
                    AnyPolicy::Other(policy) => policy.others_runnable(others),
                }
            }

            fn learning(&self) -> Nanos {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.learning(),)*
                    AnyPolicy::Other(policy) => policy.learning(),
                }
            }

            fn waited(&mut self, time: Nanos, at: Nanos) {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.waited(time, at),)*
                    AnyPolicy::Other(policy) => policy.waited(time, at),
                }
            }

            fn submitted(&mut self, class: Class, at: Nanos) {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.submitted(class, at),)*
                    AnyPolicy::Other(policy) => policy.submitted(class, at),
                }
            }

            fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.completed(class, submitted, at),)*
                    AnyPolicy::Other(policy) => policy.completed(class, submitted, at),
                }
            }

            fn planned(&self, class: Class) -> Option<PlannedWait> {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.planned(class),)*
                    AnyPolicy::Other(policy) => policy.planned(class),
                }
            }

            fn asks_lost(&self) -> bool {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.asks_lost(),)*
                    AnyPolicy::Other(policy) => policy.asks_lost(),
                }
            }

            fn lost(&mut self, time: Nanos, at: Nanos) {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.lost(time, at),)*
                    AnyPolicy::Other(policy) => policy.lost(time, at),
                }
            }

            fn woke(&mut self, slept: Slept, at: Nanos) {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.woke(slept, at),)*
                    AnyPolicy::Other(policy) => policy.woke(slept, at),
                }
            }

            fn fixed(&self) -> Option<Step> {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.fixed(),)*
                    AnyPolicy::Other(policy) => policy.fixed(),
                }
            }

            #[inline]
            fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
                match self {
                    $(AnyPolicy::$policy(policy) => policy.plan(outstanding, can, now),)*
                    AnyPolicy::Other(policy) => policy.plan(outstanding, can, now),
                }
            }
        }
    };
}

policies! {
    Poll = Poll;
    PollPause = PollPause::new(PollPause::PAUSES);
    Interrupt = Interrupt;
    Hybrid = Hybrid::automatic();
    UringHybrid = UringHybrid::new();
    Ehp = Ehp::new();
    Pas = Pas::new();
    Dpas = Dpas::new(Dpas::THETA);
    SkiRental = SkiRental::new(SkiRental::COST_OF_A_WAKE);
    Tpause = Tpause::new(Tpause::PAUSE);
    HybridTpause = HybridTpause::new();
    Umwait = Umwait;
    Uintr = Uintr;
    UintrBlock = UintrBlock::new(UintrBlock::STAY);
    HybridUintr = HybridUintr::new();
    SpdkPlus = SpdkPlus;
    ActiveCheck = ActiveCheck::user_interrupt();
    Adaptive = Adaptive::generic();
}

impl AnyPolicy {
    /// Polling.
    pub const POLL: AnyPolicy = AnyPolicy::Poll(Poll);
    /// Interrupts.
    pub const INTERRUPT: AnyPolicy = AnyPolicy::Interrupt(Interrupt);
}

/// Returns `name` with a time as its parameter.
fn name_with_time(name: &str, time: Nanos) -> String {
    if time.0.is_multiple_of(1_000) {
        format!("{name}={}us", time.0 / 1_000)
    } else {
        format!("{name}={}ns", time.0)
    }
}
