//! Ends of a run that is too long, or that the caller stops.

use crate::TwinError;
use crate::event_queue::MAX_TIME;
use joulio_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};

/// The latest time that a run reaches, in nanoseconds: six days. The sum of two is still the time of an event.
pub(crate) const LONGEST: Nanos = Nanos(MAX_TIME.0 / 2);

/// Turns of threads from one reading of the flag to the next.
const INTERVAL: u32 = 1 << 14;

/// A flag that stops a run, read now and then.
pub(crate) struct Stop<'s> {
    flag: Option<&'s AtomicBool>,
    /// Turns that are left until it is read.
    left: u32,
}

impl<'s> Stop<'s> {
    /// The flag of a run that can be stopped.
    pub(crate) fn new(flag: Option<&'s AtomicBool>) -> Stop<'s> {
        Stop {
            flag,
            left: INTERVAL,
        }
    }

    /// Counts `turns`.
    ///
    /// # Errors
    /// [`TwinError::Stopped`], where it is set.
    #[inline]
    pub(crate) fn check(&mut self, turns: u32) -> Result<(), TwinError> {
        self.left = self.left.saturating_sub(turns);
        match self.left {
            0 => self.read(),
            _ => Ok(()),
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
