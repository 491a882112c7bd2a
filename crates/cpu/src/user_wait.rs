//! Waiting in user space: TPAUSE and UMWAIT, or MWAITX.

use crate::arch::Waits;
use crate::{CacheLine, MissingFeature, Tsc};
use joulio_units::Nanos;

/// Depth of the power state of a user-level wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// C0.1: lighter, with a shorter exit. On AMD: no idle state.
    C01,
    /// C0.2: deeper; where the system does not allow it, C0.1 is used instead ([`crate::PauseLimits`]). On AMD: C1.
    #[default]
    C02,
}

/// Reason why a user-level wait ended, as far as the CPU reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The system's limit: the requested time is not over, and no other event came.
    Limit,
    /// A write to the cache line, an interrupt, the time, or no apparent cause.
    Other,
}

/// The instructions of this CPU's user-level waits.
#[derive(Clone, Copy, Debug)]
pub struct UserWait {
    by: Waits,
    depth: Depth,
    tsc: Tsc,
}

impl UserWait {
    /// Returns the instructions of this CPU.
    ///
    /// # Errors
    /// The CPU lacks both WAITPKG and MONITORX: any CPU but x86's does.
    pub fn detect(depth: Depth) -> Result<UserWait, MissingFeature> {
        let by = Waits::detect()?;
        let tsc = Tsc::get();
        Ok(UserWait { by, depth, tsc })
    }

    /// Returns the depth of the power state of a wait.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Returns the name of the instruction that pauses: `tpause` or `mwaitx`.
    pub fn name(&self) -> &'static str {
        self.by.name()
    }

    /// Pauses for `time` at most: interrupts and the system's limit end it too.
    #[inline]
    pub fn pause(&self, time: Nanos) -> Ended {
        self.by.pause(self.depth, self.tsc, time)
    }

    /// Begins to monitor `line`. A write to it from now on ends the next [`UserWait::wait`], or prevents it from
    /// waiting.
    #[inline]
    pub fn arm(&self, line: CacheLine<'_>) {
        self.by.arm(line);
    }

    /// Waits for a write to the line for `time` at most, as [`UserWait::pause`]. Returns at once when no line is
    /// monitored.
    #[inline]
    pub fn wait(&self, time: Nanos) -> Ended {
        self.by.wait(self.depth, self.tsc, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Feature;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn a_cpu_without_the_instructions_says_so() {
        let has = Feature::Waitpkg.check().is_ok() || Feature::Mwaitx.check().is_ok();
        match UserWait::detect(Depth::C02) {
            Ok(wait) => {
                assert!(has);
                // Whatever ends it, the call returns.
                wait.pause(Nanos::from_micros(1));
                let word = AtomicU32::new(0);
                wait.arm(CacheLine::from(&word));
                wait.wait(Nanos::from_micros(1));
            }
            Err(missing) => {
                assert!(!has);
                assert_eq!(missing, MissingFeature(Feature::Waitpkg));
            }
        }
    }
}
