//! A policy's plan for the I/Os of a class, as the policy reports it.

use crate::StepKind;
use joulio_units::{Joules, Nanos};

/// Plan for the wait for an I/O: a rest, a loose watch, a close watch, and a block after it. Times count from the
/// submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedWait {
    /// Kind of the rest, [`StepKind::Sleep`] or [`StepKind::Pause`], and its end; `None`: no rest.
    pub rest: Option<(StepKind, Nanos)>,
    /// Kind and end of the loose watch, which sees a completion later than a close one; `None`: no loose watch.
    pub loose: Option<(StepKind, Nanos)>,
    /// Kind of the close watch.
    pub watch: StepKind,
    /// End of the close watch, after which the core blocks; zero: it blocks at once.
    pub watch_until: Nanos,
    /// Expected cost; `None` before the class has a history.
    pub expected: Option<ExpectedCost>,
}

/// Expected cost of a wait to an I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedCost {
    /// Joules of the core.
    pub energy: Joules,
    /// Mean nanoseconds from the completion to the moment when the thread sees it.
    pub delay: Nanos,
}
