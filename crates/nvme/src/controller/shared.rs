//! What a controller and its queue pairs hold together, and who may free what, when.

use super::features::Features;
use super::recovery::Recovery;
use crate::admin::Admin;
use crate::power::AdminData;
use crate::registers::{Registers, shutdown_time};
use crate::{ControllerOptions, NvmeError};
use joulio_device::{Device, DmaBuffer, DmaMemory, Vector};
use joulio_nvme_spec::identify::IdentifyController;
use joulio_nvme_spec::register::Cap;
use joulio_nvme_spec::{AdminOpcode, Command, QueueId};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zerocopy::{FromBytes, IntoBytes};

pub(crate) struct Shared<D: Device> {
    pub(crate) device: Arc<D>,
    pub(crate) cap: Cap,
    pub(crate) max_transfer: u32,
    /// Set before anyone else sees this.
    pub(crate) identity: Option<Box<IdentifyController>>,
    pub(crate) options: ControllerOptions,
    admin: Mutex<Admin<D>>,
    /// CSTS.RDY was seen: there is something to shut down.
    up: bool,
    pool: Mutex<Pool>,
    retired: Mutex<Retired>,
    pub(super) features: Mutex<Features>,
    pub(super) recovery: Mutex<Recovery>,
    /// Moves on with every reset, before it begins: the queues of an earlier epoch are no more.
    pub(super) epoch: Arc<AtomicU32>,
}

/// Queue identifiers and vectors not in use.
#[derive(Default)]
struct Pool {
    granted: usize,
    /// Vectors that were had, and that were asked for; the admin queue's among them.
    vectors: (u16, u16),
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

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device> Shared<D> {
    /// A controller that is disabled, with `admin` for its admin queue.
    pub(super) fn new(
        device: Arc<D>,
        cap: Cap,
        admin: Admin<D>,
        options: ControllerOptions,
    ) -> Shared<D> {
        Shared {
            device,
            cap,
            max_transfer: 0,
            identity: None,
            options,
            epoch: admin.current_epoch(),
            admin: Mutex::new(admin),
            up: false,
            pool: Mutex::default(),
            retired: Mutex::default(),
            features: Mutex::default(),
            recovery: Mutex::default(),
        }
    }

    /// The registers, waited for as long as somebody wants to.
    pub(crate) fn registers(&self) -> Registers<'_, D> {
        Registers {
            device: &self.device,
            cancel: &self.options.cancel,
        }
    }

    pub(super) fn enable(&mut self) -> Result<(), NvmeError> {
        let (aqa, asq, acq) = self.admin().attributes();
        self.registers().enable(self.cap, aqa, asq, acq)?;
        self.up = true;
        Ok(())
    }

    /// Checks that the controller is there, has not failed, and is to stay.
    pub(crate) fn check(&self) -> Result<(), NvmeError> {
        self.registers().check_enabled()?;
        if self.device.is_removal_requested() {
            return Err(NvmeError::RemovalRequested {
                device: self.device.name().into(),
            });
        }
        Ok(())
    }

    /// Runs an admin command without data; dword 0 of its completion. A controller that does not
    /// answer it is reset.
    pub(crate) fn run(&self, name: &'static str, command: Command) -> Result<u32, NvmeError> {
        self.exchange(name, command, AdminData::None)
    }

    /// Runs an admin command without data that means something in `epoch` only: a reset since then
    /// ends it. Returns dword 0 of its completion.
    pub(crate) fn run_in(
        &self,
        epoch: u32,
        name: &'static str,
        command: Command,
    ) -> Result<u32, NvmeError> {
        self.run_or_reset(|admin| admin.run_in(epoch, name, command))
    }

    /// Runs an admin command that returns a structure; dword 0 of its completion, and it.
    pub(crate) fn fetch<T: FromBytes + IntoBytes>(
        &self,
        name: &'static str,
        command: Command,
    ) -> Result<(u32, Box<T>), NvmeError> {
        self.run_or_reset(|admin| admin.fetch(name, command))
    }

    /// Runs an admin command with up to a page of data; dword 0 of its completion.
    pub(crate) fn exchange(
        &self,
        name: &'static str,
        command: Command,
        data: AdminData<'_>,
    ) -> Result<u32, NvmeError> {
        let sent = match &data {
            AdminData::Out(bytes) => Some(Box::from(*bytes)),
            _ => None,
        };
        self.run_or_reset(|admin| {
            let dw0 = admin.exchange(name, command, data)?;
            // Nobody resets the controller in between, who has the admin queue then.
            lock(&self.features).note(name, command, sent);
            Ok(dw0)
        })
    }

    fn run_or_reset<T>(
        &self,
        run: impl FnOnce(&mut Admin<D>) -> Result<T, NvmeError>,
    ) -> Result<T, NvmeError> {
        self.settled()?;
        let (epoch, result) = {
            let mut admin = self.admin();
            (admin.epoch(), run(&mut admin))
        };
        if let Err(error) = &result
            && error.asks_for_reset()
        {
            // The error is what happened to the command. A reset that fails is reported to
            // whoever comes next.
            let _ = self.recover(epoch, error);
        }
        result
    }

    pub(crate) fn admin(&self) -> MutexGuard<'_, Admin<D>> {
        lock(&self.admin)
    }

    /// The admin queue, if nobody has it.
    pub(super) fn try_admin(&self) -> Option<MutexGuard<'_, Admin<D>>> {
        self.admin.try_lock().ok()
    }

    /// Reports whether commands may have SGLs (SGLS bits 1:0), and are to have them.
    pub(crate) fn sgls(&self) -> bool {
        let support = self.identity().sgl_support();
        self.options.sgls && support.supported()
    }

    pub(super) fn identity(&self) -> &IdentifyController {
        self.identity.as_ref().expect("set when it was opened")
    }

    /// Fills the pool with queues 1 to `queues` and the vectors from 1 on, of which `wanted` were
    /// asked for.
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

    /// Vectors that were had, and that were asked for; the admin queue's among them.
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
        self.run("Delete I/O Submission Queue", command)?;
        self.delete_completion_queue(id)
    }

    /// Deletes the completion queue of `id`, which no submission queue uses.
    pub(crate) fn delete_completion_queue(&self, id: QueueId) -> Result<(), NvmeError> {
        let opcode = AdminOpcode::DELETE_IO_COMPLETION_QUEUE;
        let command = Command::delete_queue(opcode, id);
        self.run("Delete I/O Completion Queue", command)?;
        Ok(())
    }

    /// Holds memory that the device may still use until the controller is disabled.
    pub(crate) fn retire(&self, memory: Arc<DmaMemory>, buffers: Vec<DmaBuffer>) {
        let mut retired = lock(&self.retired);
        retired.memory.push(memory);
        retired.buffers.extend(buffers);
    }

    /// Frees what was held: the controller is disabled.
    pub(super) fn release_retired(&self) {
        drop(std::mem::take(&mut *lock(&self.retired)));
    }
}

impl<D: Device> Drop for Shared<D> {
    fn drop(&mut self) {
        let registers = self.registers();
        let dead = lock(&self.recovery).death().map(|death| death.released);
        let released = dead.unwrap_or_else(|| {
            if self.up {
                let rtd3e = self.identity.as_ref().map_or(0, |it| it.rtd3e.get());
                registers.shut_down(shutdown_time(rtd3e));
            }
            registers.lets_go(self.cap)
        });
        if !released {
            // The device keeps memory that it was never seen to let go of: leaked, and still
            // mapped, rather than handed to someone else.
            std::mem::forget(Arc::clone(self.admin().memory()));
            std::mem::forget(std::mem::take(&mut *lock(&self.retired)));
        }
    }
}
