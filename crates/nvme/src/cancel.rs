//! Cancelling waits for a controller.

use joulio_units::Nanos;
use joulio_wait::now;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Time that the driver still waits for a controller after a wait was cancelled. A healthy controller has answered by
/// then, so that a run that is stopped still cleans up after itself.
const GRACE: Nanos = Nanos::from_millis(400);

/// A flag that ends the driver's waits (for an admin command, a reset, bring-up), after which the controller can no
/// longer be used. By default nothing is ever cancelled.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    /// Creates a `Cancel` that takes effect when `flag` is set, for example by a signal handler.
    pub fn on(flag: Arc<AtomicBool>) -> Cancel {
        Cancel(Some(flag))
    }

    /// The flag, if there is one.
    pub fn flag(&self) -> Option<&Arc<AtomicBool>> {
        self.0.as_ref()
    }

    /// Reports whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        let flag = self.0.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The time limit has passed.
    TimedOut,
    /// Nobody wants to wait any more.
    Cancelled,
}

/// A wait with an end: after a time limit, or soon after it is cancelled.
pub(crate) struct Patience<'a> {
    cancel: &'a Cancel,
    cancelled: bool,
    /// Time that is left after the wait is cancelled.
    grace: Nanos,
    end: Nanos,
}

impl<'a> Patience<'a> {
    /// A wait of at most `limit` from now on.
    pub(crate) fn new(limit: Nanos, cancel: &'a Cancel) -> Patience<'a> {
        Patience {
            cancel,
            cancelled: false,
            grace: GRACE,
            end: now() + limit,
        }
    }

    /// Changes the time that is left once the wait is cancelled.
    pub(crate) fn with_grace(self, grace: Nanos) -> Patience<'a> {
        Patience { grace, ..self }
    }

    /// Returns why the wait is over, if it is. Call it before the last check: a thread that was kept from its CPU
    /// then still finds what came in time.
    pub(crate) fn over(&mut self) -> Option<Over> {
        self.over_at(now())
    }

    fn over_at(&mut self, at: Nanos) -> Option<Over> {
        if !self.cancelled && self.cancel.is_cancelled() && at + self.grace < self.end {
            self.cancelled = true;
            self.end = at + self.grace;
        }
        (at >= self.end).then_some(match self.cancelled {
            true => Over::Cancelled,
            false => Over::TimedOut,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_is_cancelled_goes_on_for_a_moment_and_no_longer_than_it_would_have() {
        let flag = Arc::new(AtomicBool::new(false));
        let cancel = Cancel::on(Arc::clone(&flag));
        let mut long = Patience {
            cancel: &cancel,
            cancelled: false,
            grace: GRACE,
            end: Nanos::from_millis(60_000),
        };
        let mut short = Patience {
            end: Nanos::from_millis(1_100),
            ..long
        };
        assert_eq!(long.over_at(Nanos::from_millis(1_000)), None);
        flag.store(true, Ordering::Relaxed);
        assert_eq!(long.over_at(Nanos::from_millis(1_000)), None);
        assert_eq!(long.over_at(Nanos::from_millis(1_399)), None);
        let over = long.over_at(Nanos::from_millis(1_400));
        assert_eq!(over, Some(Over::Cancelled));
        assert_eq!(short.over_at(Nanos::from_millis(1_000)), None);
        let over = short.over_at(Nanos::from_millis(1_100));
        assert_eq!(over, Some(Over::TimedOut));
    }

    #[test]
    fn without_a_flag_nothing_is_cancelled() {
        let mut patience = Patience {
            cancel: &Cancel::default(),
            cancelled: false,
            grace: GRACE,
            end: Nanos::from_millis(2),
        };
        assert_eq!(patience.over_at(Nanos::from_millis(1)), None);
        let over = patience.over_at(Nanos::from_millis(2));
        assert_eq!(over, Some(Over::TimedOut));
    }
}
