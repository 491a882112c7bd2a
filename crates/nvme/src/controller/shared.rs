//! State shared by a controller and its queue pairs, and the rules for freeing it.

use super::death::Recovery;
use super::feature_record::Features;
use super::loan::Loan;
use crate::admin::Admin;
use crate::namespace::ControllerId;
use crate::queue::prp::ListLayout;
use crate::quirks::Quirks;
use crate::registers::{Registers, shutdown_time};
use crate::{ControllerOptions, NvmeError};
use joulio_device::{Device, DmaBuffer, DmaMemory, Vector};
use joulio_nvme_spec::QueueId;
use joulio_nvme_spec::identify::IdentifyController;
use joulio_nvme_spec::register::Cap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) struct Shared<D: Device> {
    pub(crate) device: Arc<D>,
    pub(crate) id: ControllerId,
    pub(crate) cap: Cap,
    /// Quirks of the drive, which it does not report itself; those of its model once it is identified.
    pub(super) quirks: Quirks,
    pub(crate) max_transfer: u32,
    /// Set before anyone else sees this.
    pub(crate) identity: Option<Box<IdentifyController>>,
    pub(crate) options: ControllerOptions,
    /// Set before anyone else sees this.
    pub(super) loan: Loan,
    admin: Mutex<Admin<D>>,
    /// CSTS.RDY was seen, so that there is a controller to shut down.
    up: bool,
    /// Process that opened the controller.
    process: u32,
    pool: Mutex<Pool>,
    retired: Mutex<Retired>,
    pub(super) features: Mutex<Features>,
    pub(super) recovery: Mutex<Recovery>,
    /// Generation: counts up with every reset, before the reset begins. Queues of an earlier generation are void.
    pub(super) generation: Arc<AtomicU32>,
}

/// Queue identifiers and vectors that are not in use.
#[derive(Default)]
struct Pool {
    granted: usize,
    /// Number of vectors that the system gave, and that were requested; both with the admin queue's.
    vectors: (u16, u16),
    free: Vec<(QueueId, Option<Vector>)>,
    /// Vector of the admin queue, masked: its completions are polled for.
    _admin: Option<Vector>,
}

/// Memory that the device may still use: freed once CSTS.RDY = 0.
#[derive(Default)]
pub(super) struct Retired {
    memory: Vec<Arc<DmaMemory>>,
    buffers: Vec<DmaBuffer>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device> Shared<D> {
    /// A controller that is disabled, with the `quirks` of its identifiers, and `admin` for its admin queue.
    pub(super) fn new(
        device: Arc<D>,
        cap: Cap,
        quirks: Quirks,
        admin: Admin<D>,
        options: ControllerOptions,
    ) -> Shared<D> {
        Shared {
            device,
            id: ControllerId::unique(),
            cap,
            quirks,
            max_transfer: 0,
            identity: None,
            options,
            loan: Loan::default(),
            generation: admin.current_generation(),
            admin: Mutex::new(admin),
            up: false,
            process: std::process::id(),
            pool: Mutex::default(),
            retired: Mutex::default(),
            features: Mutex::default(),
            recovery: Mutex::default(),
        }
    }

    /// Returns the registers, with waits that end when the caller cancels them.
    pub(crate) fn registers(&self) -> Registers<'_, D> {
        Registers {
            device: &self.device,
            cancel: &self.options.cancel,
            csts_delay: self.quirks.csts_delay,
        }
    }

    pub(super) fn enable(&mut self) -> Result<(), NvmeError> {
        let (aqa, asq, acq) = self.admin().attributes();
        let registers = self.registers();
        registers.enable(self.cap, self.is_weighted(), (aqa, asq, acq))?;
        self.up = true;
        Ok(())
    }

    /// Reports whether queues share the controller by weight.
    pub(crate) fn is_weighted(&self) -> bool {
        self.options.arbitration.is_some() && self.cap.ams() & Cap::WEIGHTED != 0
    }

    /// Checks that the controller is present, has not failed, and is not to be removed.
    pub(crate) fn check(&self) -> Result<(), NvmeError> {
        self.registers().check_enabled()?;
        self.check_stays()
    }

    /// Checks that the controller is not to be removed, without reading its registers.
    pub(crate) fn check_stays(&self) -> Result<(), NvmeError> {
        if self.device.is_removal_requested() {
            return Err(NvmeError::RemovalRequested {
                device: self.device.name().into(),
            });
        }
        Ok(())
    }

    pub(crate) fn admin(&self) -> MutexGuard<'_, Admin<D>> {
        lock(&self.admin)
    }

    /// The admin queue, if nobody has it.
    pub(super) fn try_admin(&self) -> Option<MutexGuard<'_, Admin<D>>> {
        self.admin.try_lock().ok()
    }

    /// Returns whether commands may have SGLs (SGLS bits 1:0), and the options want them.
    pub(crate) fn sgls(&self) -> bool {
        let support = self.identity().sgl_support();
        self.options.sgls && support.supported()
    }

    /// Returns the size and the places of the PRP lists of a queue.
    pub(crate) fn list_layout(&self) -> ListLayout {
        ListLayout {
            max_transfer: self.max_transfer,
            spaced: self.quirks.spaced_lists,
        }
    }

    /// Reports whether vendors' I/O commands have the standard format, with NDT in dword 10 (ICSVSCC
    /// bit 0).
    pub(crate) fn has_vendor_format(&self) -> bool {
        self.identity().icsvscc & 1 != 0
    }

    /// Reports whether vendors' admin commands have the standard format (AVSCC bit 0).
    pub(super) fn has_vendor_admin_format(&self) -> bool {
        self.identity().avscc & 1 != 0
    }

    pub(super) fn identity(&self) -> &IdentifyController {
        self.identity.as_ref().expect("set when it was opened")
    }

    /// Fills the pool with queues 1 to `queues` and the vectors from 1 on, of which `wanted` were
    /// requested.
    pub(super) fn offer_queues(&self, queues: u16, vectors: Vec<Vector>, wanted: u16) {
        let mut pool = lock(&self.pool);
        pool.vectors = (vectors.len() as u16, wanted);
        let mut vectors = vectors.into_iter();
        pool._admin = vectors.next();
        pool.granted = queues.into();
        pool.free = (1..=queues)
            .map(|id| (QueueId(id), vectors.next()))
            .collect();
        // Taken from the end: queue 1 first.
        pool.free.reverse();
    }

    /// Returns the number of vectors that the system gave, and that were requested; both with the admin queue's.
    pub(crate) fn vectors(&self) -> (u16, u16) {
        lock(&self.pool).vectors
    }

    pub(super) fn granted(&self) -> usize {
        lock(&self.pool).granted
    }

    pub(super) fn take_queue(&self) -> Result<(QueueId, Option<Vector>), NvmeError> {
        let mut pool = lock(&self.pool);
        pool.free.pop().ok_or_else(|| NvmeError::NoQueue {
            device: self.device.name().into(),
            have: pool.granted,
        })
    }

    /// Takes a queue identifier back for reuse; that of a queue that could not be deleted is not reused.
    pub(crate) fn take_back(&self, id: QueueId, vector: Option<Vector>, deleted: bool) {
        if deleted {
            lock(&self.pool).free.push((id, vector));
        }
    }

    /// Holds memory that the device may still use until the controller is disabled.
    pub(crate) fn retire(&self, memory: Arc<DmaMemory>, buffers: Vec<DmaBuffer>) {
        let mut retired = lock(&self.retired);
        retired.memory.push(memory);
        retired.buffers.extend(buffers);
    }

    /// Returns the memory that was held, for the caller to free: the controller is disabled.
    pub(super) fn take_retired(&self) -> Retired {
        std::mem::take(&mut *lock(&self.retired))
    }

    /// Shuts the controller down, and returns true if it uses no memory any more.
    fn lets_go(&self) -> bool {
        let registers = self.registers();
        let dead = lock(&self.recovery).death().map(|death| death.released);
        dead.unwrap_or_else(|| {
            if self.up {
                let rtd3e = self.identity.as_ref().map_or(0, |it| it.rtd3e.get());
                registers.shut_down(shutdown_time(rtd3e));
            }
            registers.lets_go(self.cap)
        })
    }
}

impl<D: Device> Drop for Shared<D> {
    fn drop(&mut self) {
        // In a child of fork(2) the controller is the parent's.
        let inherited = self.process != std::process::id();
        if inherited || !self.lets_go() {
            // The device was never seen to stop using this memory: it is leaked, still mapped, rather than reused.
            std::mem::forget(Arc::clone(self.admin().memory()));
            std::mem::forget(std::mem::take(&mut *lock(&self.retired)));
            std::mem::forget(std::mem::take(&mut self.loan));
        }
    }
}
