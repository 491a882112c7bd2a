//! A plan for the I/Os of a class, as a policy reports it.

use crate::StepKind;
use joulio_units::{Joules, Nanos};

/// Plan of a policy for the wait for an I/O: a rest, a loose watch, a close one, and a block after
/// it. Times count from the submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedWait {
    /// Kind of the rest, [`StepKind::Sleep`] or [`StepKind::Pause`], and its end; `None`: no rest.
    pub rest: Option<(StepKind, Nanos)>,
    /// Kind of the loose watch, which sees a completion later than a close one, and its end; `None`: there
    /// is none.
    pub loose: Option<(StepKind, Nanos)>,
    /// Kind of the close watch.
    pub watch: StepKind,
    /// End of the watch, after which the core blocks; zero: it blocks at once.
    pub watch_until: Nanos,
    /// Expected cost; `None` before the class has a history.
    pub expected: Option<ExpectedCost>,
}

/// Expected cost of a wait to an I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedCost {
    /// Joules of the core.
    pub energy: Joules,
    /// Mean nanoseconds from the completion to the thread's sight of it.
    pub delay: Nanos,
}
