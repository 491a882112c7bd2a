//! The end of a run that somebody stops.

use crate::TwinError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Turns of threads between two looks at the flag.
const INTERVAL: u32 = 1 << 14;

/// A flag that stops a run, seen now and then.
pub(crate) struct Stop<'s> {
    flag: Option<&'s AtomicBool>,
    /// Turns that are left until it is seen.
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

    /// Counts a turn.
    ///
    /// # Errors
    /// [`TwinError::Stopped`], where it is set.
    #[inline]
    pub(crate) fn check(&mut self) -> Result<(), TwinError> {
        self.left -= 1;
        match self.left {
            0 => self.see(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn see(&mut self) -> Result<(), TwinError> {
        self.left = INTERVAL;
        match self.flag {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(TwinError::Stopped),
            _ => Ok(()),
        }
    }
}
