//! Reset of a controller that has queues, and the end of one that a reset does not help.
//!
//! The thread that finds the trouble resets the controller, under a lock, so that it is done once. Each queue learns
//! of the reset by the generation, in the thread that owns the queue: there its outstanding commands are ended, and
//! the queue is created on the controller again.

use super::death::Death;
use super::shared::{Retired, Shared, lock};
use crate::NvmeError;
use crate::admin::Admin;
use crate::registers::{CHECK_INTERVAL, MAX_CHECKS, MAX_RESET_CHECKS};
use joulio_device::Device;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Number of generations that controllers of this process have begun, plus one.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// Returns the number of generations begun, plus one: while it stays the same, no controller of this process was
/// reset. Never 0.
#[inline]
pub(crate) fn generations() -> u64 {
    GENERATIONS.load(Ordering::Relaxed)
}

/// How the commands end that a controller did not complete.
pub(crate) struct Ending {
    /// Reason, if the controller is gone or can no longer be used.
    pub(crate) dead: Option<NvmeError>,
    /// True if the controller no longer uses any memory.
    pub(crate) released: bool,
    /// Generation of the controller after the reset.
    pub(crate) generation: u32,
}

impl<D: Device> Shared<D> {
    /// Returns the generation of the controller, which each reset ends. A relaxed load: a queue that learns late of a
    /// reset rings a doorbell that has no queue, and learns at its next wait.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    fn next_generation(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        GENERATIONS.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the controller's generation, for its queues to read.
    pub(crate) fn current_generation(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.generation)
    }

    /// Waits until no reset is under way, and returns the controller's generation; an error if the controller is
    /// gone.
    pub(crate) fn settled(&self) -> Result<u32, NvmeError> {
        let recovery = lock(&self.recovery);
        match &recovery.dead {
            Some(death) => Err(death.error(self.device.name())),
            None => Ok(self.generation()),
        }
    }

    /// Waits until no reset is under way, and returns how a queue of an earlier generation ends its commands.
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

    /// Returns how many resets so far needed a reset of the whole function.
    pub(crate) fn function_resets(&self) -> u64 {
        lock(&self.recovery).function_resets
    }

    /// Resets the controller because of `trouble`, unless it was reset since the generation `seen`.
    pub(crate) fn recover(&self, seen: u32, trouble: &NvmeError) -> Result<(), NvmeError> {
        // Freed when no lock is held any more: the owner of memory may call into the controller when it is dropped.
        let mut retired = Retired::default();
        let mut recovery = lock(&self.recovery);
        if let Some(death) = &recovery.dead {
            return Err(death.error(self.device.name()));
        }
        if self.generation() != seen {
            return Ok(());
        }
        // First: from here on queues ring no doorbell, and waits for admin commands end.
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
            _ => self.restart(trouble.lacks_vectors(), &mut retired),
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

    /// Gives up a controller that came back from its resets and does not accept a queue again, for `trouble`. Returns
    /// the error that all callers get from now on, and whether the controller has stopped using memory.
    pub(crate) fn give_up(&self, trouble: &NvmeError) -> (NvmeError, bool) {
        let mut recovery = lock(&self.recovery);
        let death = recovery.dead.get_or_insert_with(|| {
            self.next_generation();
            Death::useless(trouble, self.registers().lets_go(self.cap))
        });
        (death.error(self.device.name()), death.released)
    }

    /// Returns whether registers that read as all ones still do so after a while: a function that is being reset by
    /// somebody else answers again soon (PCIe 6.6.2: after 100 ms).
    fn stays_removed(&self) -> bool {
        let registers = self.registers();
        for _ in 0..MAX_CHECKS {
            // No caller waits for it any more: it is given up as a controller that may still be there.
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

    /// Sets CC.EN again. A function that is being reset by somebody else accepts no writes for a while.
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

    /// Clears and sets CC.EN, and restores the state that the controller lost; where that does not help, or if
    /// `whole`, resets the function before. Returns whether the function was reset. The memory that the controller no
    /// longer uses goes to `retired`.
    fn restart(&self, whole: bool, retired: &mut Retired) -> Result<bool, Death> {
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
        *retired = self.take_retired();
        // The controller may be enabled, and then uses the admin queue.
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

    /// Sets CC.EN, and restores the state that the controller lost.
    fn begin_again(&self, admin: &mut Admin<D>) -> Result<(), NvmeError> {
        admin.reset(self.generation());
        self.enable_again(admin)?;
        self.lend_memory_again(admin)?;
        self.ask_for_queues(admin)?;
        self.ask_for_events(admin);
        self.set_features_again(admin)
    }
}
