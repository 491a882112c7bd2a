//! The state that the device, its thread, its memory and its vectors share.

use crate::bell::{Bell, Side};
use crate::clock;
use crate::controller::EmulatedController;
use crate::doorbells::Doorbells;
use crate::fault::{Fault, FaultPlan};
use crate::options::Options;
use joulio_cpu::uintr::TestSource;
use joulio_device::pci::PciId;
use joulio_device::{
    DeviceError, DmaDomain, DmaMapping, DmaMemory, Iova, IovaSpace, SharedMemory, Vector,
    VectorControl,
};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Last device address: 48 bits, as with most IOMMUs.
const LAST_ADDRESS: u64 = (1 << 48) - 1;
/// Size in bytes of a huge page, to which large memory is aligned.
const HUGE_PAGE: usize = 2 << 20;

/// A controller behind a lock, and the state that is accessed without the lock.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) pci_id: PciId,
    controller: Mutex<EmulatedController>,
    /// Whether a thread steps the controller, by the clock.
    clocked: bool,
    /// Number of threads that wait in [`Shared::controller_first`].
    waiting: AtomicU32,
    pub(crate) doorbells: Arc<Doorbells>,
    /// The bell that the doorbells of I/O queues ring.
    pub(crate) bell: Arc<Bell>,
    /// Doorbells that the device's thread has read.
    pub(crate) polls: AtomicU64,
    /// Number of polls, each of however many doorbells.
    pub(crate) rounds: AtomicU64,
    pub(crate) parks: AtomicU64,
    pub(crate) wakes: AtomicU64,
    space: Mutex<IovaSpace>,
    domain: DmaDomain,
    pub(crate) vectors: u16,
    real_interrupts: bool,
}

impl Shared {
    /// Makes the state of a controller; a thread is to step it by the clock if `clocked`.
    pub(crate) fn new(
        controller: EmulatedController,
        options: &Options,
        clocked: bool,
    ) -> Arc<Shared> {
        Arc::new(Shared {
            name: options.name.clone(),
            pci_id: options.pci_id,
            doorbells: controller.doorbells(),
            bell: Arc::new(Bell::new()),
            polls: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            parks: AtomicU64::new(0),
            wakes: AtomicU64::new(0),
            space: Mutex::new(IovaSpace::new([0..=LAST_ADDRESS])),
            domain: DmaDomain::unique(),
            vectors: controller.vectors(),
            real_interrupts: options.real_interrupts,
            controller: Mutex::new(controller),
            clocked,
            waiting: AtomicU32::new(0),
        })
    }

    /// Locks the controller with priority over the device's thread.
    pub(crate) fn controller_first(&self) -> MutexGuard<'_, EmulatedController> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let controller = self.controller();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        controller
    }

    /// Locks the controller as [`Shared::controller_first`] does, to change its state at the time of its clock: it may
    /// have been idle for long since its latest step. One without a thread remains at the time of that.
    pub(crate) fn controller_now(&self) -> MutexGuard<'_, EmulatedController> {
        let mut controller = self.controller_first();
        if self.clocked {
            controller.pass_time(clock::now());
        }
        controller
    }

    /// Writes registers, and lets the device's thread do the resulting work.
    pub(crate) fn write_registers(&self, write: impl FnOnce(&mut EmulatedController)) {
        let mut controller = self.controller_now();
        write(&mut controller);
        let shuts_down = controller.awaits_shutdown();
        drop(controller);
        if shuts_down {
            self.wake_to_poll();
        }
    }

    /// Commits `fault`, and lets the device's thread notice its effect.
    pub(crate) fn inject(&self, fault: Fault) {
        self.controller_now().inject(fault);
        self.wake_to_poll();
    }

    /// Replaces the faults that are still planned, and lets the device's thread notice their times.
    pub(crate) fn plan_faults(&self, plan: &FaultPlan) {
        self.controller_first().plan_faults(plan);
        self.wake_to_poll();
    }

    /// Makes the device's thread step once more: if it sleeps, it is woken; if not, it sees that the doorbells were
    /// reset.
    fn wake_to_poll(&self) {
        self.controller().doorbells().reset();
        fence(Ordering::SeqCst);
        self.bell.wake(Side::Tail);
    }

    /// Whether another thread waits for the controller, and so the device's thread is to let go of it.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Locks the controller. A panic of another thread leaves it in a consistent state.
    pub(crate) fn controller(&self) -> MutexGuard<'_, EmulatedController> {
        lock(&self.controller)
    }

    /// Allocates `len` bytes that the controller can reach.
    pub(crate) fn allocate(self: &Arc<Self>, len: usize) -> Result<DmaMemory, DeviceError> {
        self.map(Arc::new(SharedMemory::allocate(len)?))
    }

    /// Maps `memory` for the controller.
    pub(crate) fn map(
        self: &Arc<Self>,
        memory: Arc<SharedMemory>,
    ) -> Result<DmaMemory, DeviceError> {
        let len = memory.len();
        let align = if len.is_multiple_of(HUGE_PAGE) {
            HUGE_PAGE
        } else {
            4096
        };
        let iova = lock(&self.space).allocate(len, align);
        let iova = iova.ok_or(DeviceError::IovaSpace { wanted: len })?;
        let mapping = Mapping {
            shared: Arc::clone(self),
            iova,
            len,
        };
        let mapped = self.controller().map(iova, Arc::clone(&memory), 0, len);
        mapped.map_err(|error| DeviceError::Unsupported {
            device: self.name.clone(),
            reason: error.to_string(),
        })?;
        Ok(DmaMemory::new(memory, iova, mapping))
    }

    /// Resets the function; afterwards vectors are as a kernel leaves them: enabled and masked.
    pub(crate) fn reset_function(&self) -> Result<(), DeviceError> {
        if !self.controller_now().reset_function_for_host() {
            return Err(DeviceError::NoFunctionReset {
                device: self.name.clone(),
            });
        }
        self.wake_to_poll();
        Ok(())
    }

    /// Enables `count` vectors, with an event each.
    pub(crate) fn enable_vectors(self: &Arc<Self>, count: u16) -> Result<Vec<Vector>, DeviceError> {
        let events = Vector::eventfds(count, self.vectors)?;
        let theirs = events.iter().map(|event| self.raises(event));
        let theirs = theirs.collect::<Result<Vec<OwnedFd>, _>>()?;
        self.controller().enable_vectors(theirs);
        let control: Arc<dyn VectorControl> = Arc::clone(self) as _;
        let vectors = (0..).zip(events);
        Ok(vectors
            .map(|(index, event)| Vector::new(index, event, Arc::clone(&control)))
            .collect())
    }
}

impl Shared {
    /// Returns the descriptor to which the controller writes to raise the interrupt that signals `event`.
    fn raises(&self, event: &OwnedFd) -> Result<OwnedFd, DeviceError> {
        if !self.real_interrupts {
            return event.try_clone().map_err(|source| DeviceError::Os {
                what: "duplicate an eventfd".into(),
                source,
            });
        }
        // On any CPU: its user moves it to its own.
        let source = TestSource::open(event.as_fd(), 0);
        source
            .map(OwnedFd::from)
            .map_err(|error| DeviceError::Unsupported {
                device: self.name.clone(),
                reason: error.to_string(),
            })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mapping of memory; unmapped when dropped.
struct Mapping {
    shared: Arc<Shared>,
    iova: Iova,
    len: usize,
}

impl DmaMapping for Mapping {
    fn domain(&self) -> DmaDomain {
        self.shared.domain
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // With the lock held no access is under way, and none comes after.
        self.shared.controller().unmap(self.iova, self.len);
        lock(&self.shared.space).free(self.iova, self.len);
    }
}

impl VectorControl for Shared {
    fn set_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        found(vector, self.controller().set_mask(vector, masked))
    }

    fn masks_by_store(&self) -> bool {
        true
    }

    fn keep(
        &self,
        vector: u16,
        masked: bool,
        target: Option<(Iova, u32)>,
    ) -> Result<bool, DeviceError> {
        let mut controller = self.controller();
        if controller.is_set(vector, masked, target) {
            return Ok(true);
        }
        let redirected = target.is_none() || controller.redirect(vector, target);
        found(vector, redirected && controller.set_mask(vector, masked))?;
        Ok(false)
    }

    fn redirect(&self, vector: u16, target: Option<(Iova, u32)>) -> Result<(), DeviceError> {
        found(vector, self.controller().redirect(vector, target))
    }
}

fn found(vector: u16, there: bool) -> Result<(), DeviceError> {
    if there {
        return Ok(());
    }
    Err(DeviceError::VectorTable {
        vector,
        reason: "the vector is not enabled".into(),
    })
}
