//! What a controller and its queue pairs hold together, and who may free what, when.

use crate::NvmeError;
use crate::admin::Admin;
use crate::registers::Registers;
use joulio_device::{Device, DmaBuffer, DmaMemory, Vector};
use joulio_nvme_spec::identify::IdentifyController;
use joulio_nvme_spec::register::Cap;
use joulio_nvme_spec::{AdminOpcode, Command, QueueId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) struct Shared<D: Device> {
    pub(crate) device: Arc<D>,
    pub(crate) cap: Cap,
    pub(crate) max_transfer: u32,
    /// Set before anyone else sees this.
    pub(crate) identity: Option<Box<IdentifyController>>,
    admin: Mutex<Admin<D>>,
    /// CSTS.RDY was seen: there is something to shut down.
    up: bool,
    pool: Mutex<Pool>,
    retired: Mutex<Retired>,
}

/// Queue identifiers and vectors not in use.
#[derive(Default)]
struct Pool {
    granted: usize,
    free: Vec<(QueueId, Option<Vector>)>,
    /// The admin queue's, masked: its completions are polled for.
    _admin: Option<Vector>,
}

/// Memory that the device may still use: freed once CSTS.RDY = 0.
#[derive(Default)]
struct Retired {
    memory: Vec<Arc<DmaMemory>>,
    buffers: Vec<DmaBuffer>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device> Shared<D> {
    /// A controller that is disabled, with `admin` for its admin queue.
    pub(super) fn new(device: Arc<D>, cap: Cap, admin: Admin<D>) -> Shared<D> {
        Shared {
            device,
            cap,
            max_transfer: 0,
            identity: None,
            admin: Mutex::new(admin),
            up: false,
            pool: Mutex::default(),
            retired: Mutex::default(),
        }
    }

    pub(super) fn enable(&mut self) -> Result<(), NvmeError> {
        let (aqa, asq, acq) = self.admin().attributes();
        Registers(&*self.device).enable(self.cap, aqa, asq, acq)?;
        self.up = true;
        Ok(())
    }

    /// Whether the controller is there and has not failed.
    pub(crate) fn check(&self) -> Result<(), NvmeError> {
        Registers(&*self.device).check()
    }

    pub(crate) fn admin(&self) -> MutexGuard<'_, Admin<D>> {
        lock(&self.admin)
    }

    pub(super) fn identity(&self) -> &IdentifyController {
        self.identity.as_ref().expect("set when it was opened")
    }

    /// Fills the pool with queues 1 to `queues` and the vectors from 1 on.
    pub(super) fn offer_queues(&self, queues: u16, vectors: Vec<Vector>) {
        let mut vectors = vectors.into_iter();
        let mut pool = lock(&self.pool);
        pool._admin = vectors.next();
        pool.granted = queues.into();
        pool.free = (1..=queues)
            .map(|id| (QueueId(id), vectors.next()))
            .collect();
        // Taken from the end: queue 1 first.
        pool.free.reverse();
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

    /// Takes a queue back for the next user; one that could not be deleted is not given again.
    pub(crate) fn take_back(&self, id: QueueId, vector: Option<Vector>, deleted: bool) {
        if deleted {
            lock(&self.pool).free.push((id, vector));
        }
    }

    /// Deletes the queues of `id`: the submission queue first (Base 5.6).
    pub(crate) fn delete_queues(&self, id: QueueId) -> Result<(), NvmeError> {
        let opcode = AdminOpcode::DELETE_IO_SUBMISSION_QUEUE;
        let command = Command::delete_queue(opcode, id);
        self.admin().run("Delete I/O Submission Queue", command)?;
        self.delete_completion_queue(id)
    }

    /// Deletes the completion queue of `id`, which no submission queue uses.
    pub(crate) fn delete_completion_queue(&self, id: QueueId) -> Result<(), NvmeError> {
        let opcode = AdminOpcode::DELETE_IO_COMPLETION_QUEUE;
        let command = Command::delete_queue(opcode, id);
        self.admin().run("Delete I/O Completion Queue", command)?;
        Ok(())
    }

    /// Holds memory that the device may still use until the controller is disabled.
    pub(crate) fn retire(&self, memory: Arc<DmaMemory>, buffers: Vec<DmaBuffer>) {
        let mut retired = lock(&self.retired);
        retired.memory.push(memory);
        retired.buffers.extend(buffers);
    }
}

impl<D: Device> Drop for Shared<D> {
    fn drop(&mut self) {
        let registers = Registers(&*self.device);
        if self.up {
            registers.shut_down();
        }
        let quiet = match registers.disable(self.cap, false) {
            // What is gone from the bus writes no memory any more.
            Ok(()) | Err(NvmeError::Gone { .. }) => true,
            Err(_) => false,
        };
        if !quiet {
            // The device keeps memory that it was never seen to let go of: leaked, and still
            // mapped, rather than handed to someone else.
            std::mem::forget(Arc::clone(self.admin().memory()));
            std::mem::forget(std::mem::take(&mut *lock(&self.retired)));
        }
    }
}
