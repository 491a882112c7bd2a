//! Resetting a controller under its queues, and the end of one that a reset does not help.
//!
//! Whoever finds the trouble resets: under a lock, so that it is done once. The queues learn of it
//! by the generation, each in the thread that owns it: there the commands outstanding are ended, and
//! the queue is made known to the controller again.

use super::death::Death;
use super::shared::{Shared, lock};
use crate::NvmeError;
use crate::admin::Admin;
use crate::registers::{CHECK_INTERVAL, MAX_CHECKS, MAX_RESET_CHECKS};
use joulio_device::Device;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Generations that controllers of this process have begun, and one.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// Number of generations begun, and one: as long as it stays the same, no controller of this process was reset. Never 0.
#[inline]
pub(crate) fn generations() -> u64 {
    GENERATIONS.load(Ordering::Relaxed)
}

/// The end of commands that a controller did not complete.
pub(crate) struct Ending {
    /// Why, when there is no controller any more.
    pub(crate) dead: Option<NvmeError>,
    /// True if the controller holds no memory any more.
    pub(crate) released: bool,
    /// Generation of the controller after the reset.
    pub(crate) generation: u32,
}

impl<D: Device> Shared<D> {
    /// The generation of the controller, which each reset ends. Cheap, and no order: a queue that learns late
    /// rings a doorbell of nobody's, and learns at its next wait.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    fn next_generation(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        GENERATIONS.fetch_add(1, Ordering::SeqCst);
    }

    /// The controller's generation, for its queues to read.
    pub(crate) fn current_generation(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.generation)
    }

    /// Returns the controller's generation once no reset is under way; an error when there is no
    /// controller any more.
    pub(crate) fn settled(&self) -> Result<u32, NvmeError> {
        let recovery = lock(&self.recovery);
        match &recovery.dead {
            Some(death) => Err(death.error(self.device.name())),
            None => Ok(self.generation()),
        }
    }

    /// Returns the end that a queue of an earlier generation makes of its commands, once no reset is
    /// under way.
    pub(crate) fn ending(&self) -> Ending {
        let recovery = lock(&self.recovery);
        let dead = recovery.death();
        Ending {
            dead: dead.map(|death| death.error(self.device.name())),
            released: dead.is_none_or(|death| death.released),
            generation: self.generation(),
        }
    }

    /// Resets so far.
    pub(crate) fn resets(&self) -> u64 {
        lock(&self.recovery).resets
    }

    /// Resets so far that took one of the whole function.
    pub(crate) fn function_resets(&self) -> u64 {
        lock(&self.recovery).function_resets
    }

    /// Resets the controller because of `trouble`, unless that was done since the generation `seen`.
    pub(crate) fn recover(&self, seen: u32, trouble: &NvmeError) -> Result<(), NvmeError> {
        let mut recovery = lock(&self.recovery);
        if let Some(death) = &recovery.dead {
            return Err(death.error(self.device.name()));
        }
        if self.generation() != seen {
            return Ok(());
        }
        // First: from here on queues ring no doorbell, and who waits for an admin command leaves.
        self.next_generation();
        let restarted = match trouble {
            NvmeError::Removed { .. } if self.stays_removed() => Err(Death::new(trouble, true)),
            NvmeError::RemovalRequested { .. } | NvmeError::Cancelled { .. } => {
                Err(Death::new(trouble, self.registers().lets_go(self.cap)))
            }
            _ if self.options.cancel.is_cancelled() => {
                let nobody = NvmeError::Cancelled {
                    device: self.device.name().into(),
                    what: format!("a reset ({trouble})"),
                };
                Err(Death::new(&nobody, self.registers().lets_go(self.cap)))
            }
            _ => self.restart(trouble.lacks_vectors()),
        };
        match restarted {
            Ok(function) => {
                recovery.resets += 1;
                recovery.function_resets += u64::from(function);
                Ok(())
            }
            Err(death) => {
                let error = death.error(self.device.name());
                recovery.dead = Some(death);
                Err(error)
            }
        }
    }

    /// Ends a controller that came back from its resets and does not take a queue again, for
    /// `trouble`. The error that everybody gets from now on, and whether it let go of memory.
    pub(crate) fn give_up(&self, trouble: &NvmeError) -> (NvmeError, bool) {
        let mut recovery = lock(&self.recovery);
        let death = recovery.dead.get_or_insert_with(|| {
            self.next_generation();
            Death::useless(trouble, self.registers().lets_go(self.cap))
        });
        (death.error(self.device.name()), death.released)
    }

    /// Reports whether registers that read as all ones still do after a while: a function that
    /// somebody else resets answers again soon (PCIe 6.6.2: after 100 ms).
    fn stays_removed(&self) -> bool {
        let registers = self.registers();
        for _ in 0..MAX_CHECKS {
            // Nobody waits for it any more: it is given up as one that may be there.
            if self.options.cancel.is_cancelled() {
                return false;
            }
            joulio_wait::sleep(CHECK_INTERVAL);
            self.device.settle_function();
            if !matches!(registers.check(), Err(NvmeError::Removed { .. })) {
                return false;
            }
        }
        true
    }

    /// CC.EN up again. A function that somebody else resets takes no writes for a while.
    fn enable_again(&self, admin: &Admin<D>) -> Result<(), NvmeError> {
        let (aqa, asq, acq) = admin.attributes();
        let weighted = self.is_weighted();
        let enable = || {
            let registers = self.registers();
            registers.enable(self.cap, weighted, (aqa, asq, acq))
        };
        for check in 0..MAX_RESET_CHECKS {
            if self.options.cancel.is_cancelled() {
                break;
            }
            match enable() {
                Err(NvmeError::Unresponsive { .. }) => joulio_wait::sleep(CHECK_INTERVAL),
                Err(NvmeError::Removed { .. }) if check < MAX_CHECKS => {
                    joulio_wait::sleep(CHECK_INTERVAL);
                    self.device.settle_function();
                }
                other => return other,
            }
        }
        enable()
    }

    /// CC.EN down and up again, and all that the controller forgot by it; where that does not help, or
    /// the `whole` function is to be reset, a reset of that before. Whether that was done.
    fn restart(&self, whole: bool) -> Result<bool, Death> {
        let mut admin = self.admin();
        let registers = self.registers();
        // A function that is being reset may read as zeroes, which is not CSTS.RDY = 0.
        let function = registers
            .wait_for_answer(self.cap)
            .and_then(|()| match whole {
                true => registers.reset_or_disable(self.cap),
                false => registers.disable_or_reset(self.cap, false),
            })
            .map_err(|error| Death::new(&error, false))?;
        self.release_retired();
        // It may be enabled, and then has the admin queue.
        let failed = |error: NvmeError| Death::new(&error, registers.lets_go(self.cap));
        match self.begin_again(&mut admin) {
            Ok(()) => Ok(function),
            Err(error) if function => Err(failed(error)),
            Err(error) => {
                registers
                    .reset_function(self.cap, error)
                    .and_then(|()| self.begin_again(&mut admin))
                    .map_err(failed)?;
                Ok(true)
            }
        }
    }

    /// CC.EN up again, and all that the controller forgot.
    fn begin_again(&self, admin: &mut Admin<D>) -> Result<(), NvmeError> {
        admin.reset(self.generation());
        self.enable_again(admin)?;
        self.lend_memory_again(admin)?;
        self.ask_for_queues(admin)?;
        self.ask_for_events(admin);
        self.set_features_again(admin)
    }
}
