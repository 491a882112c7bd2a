//! Early ends of a run, which takes too long or which the caller stops.

use crate::TwinError;
use crate::event_queue::MAX_TIME;
use joulio_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};

/// Latest time that a run may reach, in nanoseconds: six days. The sum of two such times still fits an event.
pub(crate) const MAX_RUN_TIME: Nanos = Nanos(MAX_TIME.0 / 2);

/// Number of turns between two reads of the flag.
const INTERVAL: i64 = 1 << 14;

/// A flag that stops a run, read at intervals.
pub(crate) struct Stop<'s> {
    flag: Option<&'s AtomicBool>,
    /// Turns left until the flag is read, none if below 1.
    left: i64,
}

impl<'s> Stop<'s> {
    /// Returns a check of `flag`; `None`: the run cannot be stopped.
    pub(crate) fn new(flag: Option<&'s AtomicBool>) -> Stop<'s> {
        Stop {
            flag,
            left: INTERVAL,
        }
    }

    /// Counts `turns`, and checks the flag from time to time.
    ///
    /// # Errors
    /// [`TwinError::Stopped`], if the flag is set.
    #[inline]
    pub(crate) fn check(&mut self, turns: u32) -> Result<(), TwinError> {
        self.left -= i64::from(turns);
        match self.left > 0 {
            true => Ok(()),
            false => self.read(),
        }
    }

    #[cold]
    fn read(&mut self) -> Result<(), TwinError> {
        self.left = INTERVAL;
        match self.flag {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(TwinError::Stopped),
            _ => Ok(()),
        }
    }
}
