//! How long to wait for a device that has stopped completing.

use crate::engine::{Done, Engine};
use crate::looped::WorkerError;
use joulio_nvme::wait::now;
use joulio_units::Nanos;

/// How often a job that waits looks up: whether it is to end, whether the device is well.
pub(crate) const LOOK: Nanos = Nanos::from_millis(100);

/// As nvme_core.io_timeout of the kernel.
const LIMIT: Nanos = Nanos::from_millis(30_000);

/// Since when nothing has completed.
pub(crate) struct Patience(Nanos);

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience(now())
    }

    /// Nothing is in flight: the time does not count.
    pub(crate) fn rest(&mut self, at: Nanos) {
        self.0 = at;
    }

    /// Waits for a completion until `deadline`. When none has come for a while it asks the device
    /// how it is, and in the end it gives up.
    #[inline]
    pub(crate) fn reap<E: Engine>(
        &mut self,
        engine: &mut E,
        deadline: Nanos,
        sink: impl FnMut(Done<E::Buffer>),
    ) -> Result<(), WorkerError> {
        if engine.reap(1, Some(deadline), sink)? > 0 {
            self.0 = deadline;
            return Ok(());
        }
        self.nothing(engine)
    }

    #[cold]
    fn nothing<E: Engine>(&self, engine: &mut E) -> Result<(), WorkerError> {
        let waited = now() - self.0;
        if waited < LOOK {
            // An arrival, not a wait.
            return Ok(());
        }
        engine.check()?;
        if waited >= LIMIT {
            return Err(WorkerError::Stuck {
                seconds: LIMIT.0 / 1_000_000_000,
            });
        }
        Ok(())
    }
}
