//! The emulated controller as a back end of the driver.

use crate::activity::Activity;
use crate::bell::{Bell, Line, Side};
use crate::clock;
use crate::controller::EmulatedController;
use crate::error::EmulatorError;
use crate::fault::{Fault, FaultPlan};
use crate::options::Options;
use crate::power::PowerUse;
use crate::shared::Shared;
use crate::stepper::Stepper;
use crate::thread::DeviceThread;
use joulio_device::pci::PciId;
use joulio_device::{Device, DeviceError, DmaMemory, Doorbell, SharedMemory, Vector};
use joulio_units::Nanos;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A controller in this process. Clones share one controller; dropping the last one stops its thread.
#[derive(Clone)]
pub struct EmulatedDevice {
    shared: Arc<Shared>,
    thread: Option<Arc<DeviceThread>>,
}

impl EmulatedDevice {
    /// Makes a controller with a thread of its own, which serves I/Os at the speed of its profile and sleeps when there
    /// is nothing to do.
    ///
    /// # Errors
    /// [`EmulatorError`] when the options are not possible: counts, sizes, a file, memory or a thread.
    pub fn spawn(options: &Options) -> Result<EmulatedDevice, EmulatorError> {
        let controller = EmulatedController::new(options, clock::now())?;
        let shared = Shared::new(controller, options, true);
        let thread = DeviceThread::spawn(&shared, options)?;
        Ok(EmulatedDevice {
            shared,
            thread: Some(Arc::new(thread)),
        })
    }

    /// Makes a controller without a thread or a clock. Admin commands are executed while their doorbell is rung;
    /// everything else when the [`Stepper`] steps.
    ///
    /// # Errors
    /// [`EmulatorError`] when the options are not possible: counts, sizes, a file or memory.
    pub fn stepped(options: &Options) -> Result<(EmulatedDevice, Stepper), EmulatorError> {
        let controller = EmulatedController::new(options, options.start)?;
        let shared = Shared::new(controller, options, false);
        let stepper = Stepper::new(Arc::clone(&shared));
        let device = EmulatedDevice {
            shared,
            thread: None,
        };
        Ok((device, stepper))
    }

    /// Returns the counts of the controller's work so far.
    pub fn activity(&self) -> Activity {
        Activity {
            doorbell_polls: self.doorbell_polls(),
            parks: self.shared.parks.load(Ordering::Relaxed),
            wakes: self.shared.wakes.load(Ordering::Relaxed),
            ..self.shared.controller().activity()
        }
    }

    /// Returns the use of the power states so far: by the clock, also while the thread is parked, and until the latest
    /// step for a stepped controller.
    pub fn power(&self) -> PowerUse {
        let now = self.thread.as_ref().map_or(Nanos::ZERO, |_| clock::now());
        self.shared.controller().power(now)
    }

    /// Commits `fault` now, or, if it is a fault of a command, on the next I/O command that is fetched.
    pub fn inject(&self, fault: Fault) {
        self.shared.inject(fault);
    }

    /// Replaces the faults that are still planned of [`Options::faults`]; permanent faults remain. Commands and times
    /// count as before: from power-on, and from when CC.EN was first set. Faults of earlier commands are skipped;
    /// faults whose time has passed happen at once. Where no fault was planned or injected before, commands count from
    /// now, and times too, or from when CC.EN is set next, if it is not set.
    pub fn plan_faults(&self, plan: &FaultPlan) {
        self.shared.plan_faults(plan);
    }

    /// Rewrites a vector's table entry as a kernel does that moves its interrupt to another CPU: the vector signals its
    /// event, and is not masked. Returns `false` when the vector is not enabled.
    pub fn rewrite_vector(&self, vector: u16) -> bool {
        let mut controller = self.shared.controller();
        controller.redirect(vector, None) && controller.set_mask(vector, false)
    }

    /// Returns the number of doorbells that the device's thread has read. It does not change while the thread is
    /// parked.
    pub fn doorbell_polls(&self) -> u64 {
        self.shared.polls.load(Ordering::Relaxed)
    }

    /// Writes registers. Without a thread, the resulting admin work is executed at once.
    fn write(&self, write: impl FnOnce(&mut EmulatedController)) {
        self.shared.write_registers(write);
        if self.thread.is_none() {
            self.shared.controller().sync();
        }
    }

    /// Returns the thread identifier of the device's thread, to find its CPU time.
    pub fn thread_id(&self) -> Option<i32> {
        self.thread.as_ref().map(|thread| thread.id())
    }
}

impl fmt::Debug for EmulatedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedDevice")
            .field("name", &self.shared.name)
            .field("thread", &self.thread_id())
            .finish_non_exhaustive()
    }
}

impl Device for EmulatedDevice {
    type Doorbell = EmulatedDoorbell;

    fn name(&self) -> &str {
        &self.shared.name
    }

    fn pci_id(&self) -> Option<PciId> {
        Some(self.shared.pci_id)
    }

    fn read32(&self, offset: u32) -> u32 {
        self.shared.controller().read32(offset)
    }

    fn read64(&self, offset: u32) -> u64 {
        self.shared.controller().read64(offset)
    }

    fn write32(&self, offset: u32, value: u32) {
        self.write(|controller| controller.write32(offset, value));
    }

    fn write64(&self, offset: u32, value: u64) {
        self.write(|controller| controller.write64(offset, value));
    }

    fn spins_in_process(&self) -> bool {
        self.thread.is_some()
    }

    fn doorbell(&self, offset: u32) -> Result<EmulatedDoorbell, DeviceError> {
        let doorbells = &self.shared.doorbells;
        let found = doorbells.decode(offset);
        let found = found.and_then(|(qid, side)| Some((qid, side, doorbells.line(qid)?)));
        let (qid, side, line) = found.ok_or(DeviceError::Doorbell {
            offset,
            size: doorbells.end(),
        })?;
        let inline = self.thread.is_none() && qid == 0;
        Ok(EmulatedDoorbell {
            line: Arc::clone(line),
            side,
            bell: if inline {
                Arc::new(Bell::always_asking())
            } else {
                Arc::clone(&self.shared.bell)
            },
            inline: inline.then(|| Arc::clone(&self.shared)),
        })
    }

    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        self.shared.allocate(len)
    }

    fn reach(&self, memory: Arc<SharedMemory>) -> Result<DmaMemory, DeviceError> {
        self.shared.map(memory)
    }

    fn max_vectors(&self) -> u16 {
        self.shared.vectors
    }

    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        self.shared.enable_vectors(count)
    }

    fn reset_function(&self) -> Result<(), DeviceError> {
        self.shared.reset_function()
    }
}

/// A doorbell of an [`EmulatedDevice`].
pub struct EmulatedDoorbell {
    line: Arc<Line>,
    side: Side,
    bell: Arc<Bell>,
    /// The controller, if it is stepped: its admin commands are executed when they are rung.
    inline: Option<Arc<Shared>>,
}

impl Doorbell for EmulatedDoorbell {
    #[inline]
    fn ring(&self, value: u32) {
        if self.bell.ring(&self.line, self.side, value) {
            self.answer();
        }
    }
}

impl EmulatedDoorbell {
    #[cold]
    fn answer(&self) {
        match &self.inline {
            Some(shared) => shared.controller().step_admin(),
            None => self.bell.wake(self.side),
        }
    }
}
