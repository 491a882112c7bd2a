//! Patience of a core: the time that it spends in one step before it takes another.

use joulio_units::Nanos;

/// Time limit of a wait. A wait begins when the core has nothing else to do, and begins again after a completion or a
/// submission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) time: Nanos,
    /// Time when this wait began.
    since: Option<Nanos>,
}

impl Patience {
    pub(crate) fn of(time: Nanos) -> Patience {
        Patience { time, since: None }
    }

    /// Begins the wait again: a completion came, or another command was submitted.
    pub(crate) fn begin_anew(&mut self) {
        self.since = None;
    }

    /// Returns when this wait's patience ends; `None` if it has ended.
    pub(crate) fn until(&mut self, now: Nanos) -> Option<Nanos> {
        let until = *self.since.get_or_insert(now) + self.time;
        (now < until).then_some(until)
    }
}
