//! Cost of a plan, and the figures that it is computed from.

use super::costs::WaitCosts;
use super::promise::Promise;
use crate::StepKind;

/// A kind of watch: its watts, and the time from a completion to the thread's next instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) kind: StepKind,
    pub(super) watts: f64,
    pub(super) exit: f64,
}

/// Costs, load and promise from which the cost of a plan is computed.
#[derive(Clone, Copy)]
pub(super) struct Costing<'a> {
    pub(super) costs: &'a WaitCosts,
    /// Available kinds of watch, spinning first.
    pub(super) watches: &'a [Watch],
    /// The promise that counts.
    pub(super) promise: Option<&'a Promise>,
    /// Nanoseconds from the submission to the first wait, for an I/O that is alone.
    pub(super) begin: f64,
    /// Nanoseconds by which a timer may be later than its costs say; below zero: earlier.
    pub(super) late: f64,
    /// Factor by which the thread takes longer than expected to go on after a block; at least 1.
    pub(super) slow: f64,
    /// Watts that are drawn while the I/O lasts, whatever the core does.
    pub(super) share: f64,
    /// Weight of an I/O's delay, in watts.
    pub(super) delay_weight: f64,
    /// Nanoseconds from its submission for which an I/O may stay unseen.
    pub(super) due: f64,
    /// Mean nanoseconds for which an I/O is watched for after it is due.
    pub(super) after_due: f64,
    /// Number of I/Os in a row that one of the slowest waited for.
    pub(super) chain: f64,
    /// Share of the I/Os that come while others are out, and wait until the core wakes.
    pub(super) between: f64,
    /// Nanoseconds by which the I/O is late already, since a nap delayed it or those before it.
    pub(super) nap: f64,
    /// Nanoseconds of the longest limit.
    pub(super) promised: f64,
    /// Nanoseconds of spinning that cost as much as a block.
    pub(super) break_even: f64,
    /// True if the load comes by itself.
    pub(super) open: bool,
}

/// Cost of a plan for one I/O.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Nanojoules of the core.
    pub(super) joules: f64,
    /// Nanoseconds that an I/O takes in the closed loop, or how many more than with another plan.
    pub(super) time: f64,
    /// Mean nanoseconds by which an I/O is late.
    pub(super) delay: f64,
    /// Nanoseconds by which one of the longest I/Os is late.
    pub(super) tail: f64,
    /// Largest nanoseconds by which an I/O is late.
    pub(super) most: f64,
}

impl Cost {
    /// A cost of `joules` nanojoules and a delay of `delay` nanoseconds.
    pub(super) fn one(joules: f64, delay: f64) -> Cost {
        Cost {
            joules,
            time: delay,
            delay,
            tail: delay,
            most: delay,
        }
    }
}
