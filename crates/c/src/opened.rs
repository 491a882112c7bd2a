//! Controllers of any back end behind one type.

use crate::opened_group::Members;
use crate::opened_queue::OpenedQueue;
use crate::queue_handle::{AnyGroup, AnyQueue};
use ::joulio_volume::{BlockStore, NvmeStore, StoreError};
use joulio_device::{Arena, Device, DmaBuffer, SharedMemory};
use joulio_host::controller::{OwnAddress, SharedPowerControl, open_pcie, open_vfio_user};
use joulio_lab::{DeviceKind, DeviceName, EmulatedUse, OpenError};
use joulio_nvme::{
    AdminCompleted, AdminRejected, Controller, ControllerOptions, Namespace, NvmeError,
};
use joulio_nvme_spec::Command;
use joulio_wait::{AnyPolicy, WaitCounters};
use std::sync::Arc;

/// A controller of any back end.
pub(crate) trait AnyController: Send {
    fn namespace(&self) -> &Namespace;
    /// Opens the namespace `nsid` of the same controller.
    fn with_namespace(&self, nsid: u32) -> Result<Box<dyn AnyController>, NvmeError>;
    fn max_transfer(&self) -> u32;
    fn buffers(&self, count: usize, len: usize) -> Result<Vec<DmaBuffer>, NvmeError>;
    fn arena(&self, len: usize) -> Result<Arena, NvmeError>;
    /// Makes an arena of the caller's own memory.
    fn register(&self, memory: SharedMemory) -> Result<Arena, NvmeError>;
    /// Returns the controller's admin commands, for users that outlive its handle.
    fn control(&self) -> SharedPowerControl;
    /// Executes an admin command that moves its data to or from `memory`, and waits for its completion.
    fn admin(&self, command: Command, memory: DmaBuffer) -> Result<AdminCompleted, AdminRejected>;
    /// Opens the namespace as the blocks of a volume, for threads that wait with policies that `policy` makes.
    fn store(
        &self,
        policy: Box<dyn Fn() -> AnyPolicy + Send + Sync>,
        may_write: bool,
    ) -> Result<Box<dyn AnyStore>, StoreError>;
    fn queue(&self, depth: usize, policy: AnyPolicy) -> Result<Box<dyn AnyQueue>, NvmeError>;
    /// Makes a group for queues of this back end.
    fn group(&self) -> Result<Box<dyn AnyGroup>, NvmeError>;
}

/// Blocks of a namespace, with any back end.
pub(crate) trait AnyStore: BlockStore {
    fn counters(&self) -> WaitCounters;
}

impl<D: Device> AnyStore for NvmeStore<D> {
    fn counters(&self) -> WaitCounters {
        NvmeStore::counters(self)
    }
}

/// Opens the device `name`, as `joulio bench --device` takes it, with the options `how`.
pub(crate) fn open(
    name: &DeviceName,
    how: ControllerOptions,
) -> Result<Box<dyn AnyController>, OpenError> {
    Ok(match &name.kind {
        DeviceKind::Emulated(emulated) => {
            let controller = emulated.open(&name.text, how, EmulatedUse::of_seed(1))?;
            of(controller, name.nsid)?
        }
        DeviceKind::Own(OwnAddress::Pcie(address)) => of(open_pcie(*address, how)?, name.nsid)?,
        DeviceKind::Own(OwnAddress::VfioUser(path)) => of(open_vfio_user(path, how)?, name.nsid)?,
    })
}

/// Makes the handle's state of `controller` with its namespace `nsid`.
pub(crate) fn of<D: Device>(
    controller: Controller<D>,
    nsid: u32,
) -> Result<Box<dyn AnyController>, NvmeError> {
    let namespace = controller.namespace(nsid)?;
    Ok(Box::new(Opened {
        controller: Arc::new(controller),
        namespace,
    }))
}

struct Opened<D: Device> {
    controller: Arc<Controller<D>>,
    namespace: Namespace,
}

impl<D: Device> AnyController for Opened<D> {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn with_namespace(&self, nsid: u32) -> Result<Box<dyn AnyController>, NvmeError> {
        Ok(Box::new(Opened {
            controller: Arc::clone(&self.controller),
            namespace: self.controller.namespace(nsid)?,
        }))
    }

    fn max_transfer(&self) -> u32 {
        self.controller.max_transfer()
    }

    fn buffers(&self, count: usize, len: usize) -> Result<Vec<DmaBuffer>, NvmeError> {
        // As described for joulio_buffer_alloc_many().
        self.controller.allocate_buffers_in_one_piece(count, len)
    }

    fn arena(&self, len: usize) -> Result<Arena, NvmeError> {
        self.controller.allocate_arena(len)
    }

    fn register(&self, memory: SharedMemory) -> Result<Arena, NvmeError> {
        self.controller.register(memory).map(Arena::new)
    }

    fn control(&self) -> SharedPowerControl {
        let controller: Arc<Controller<D>> = Arc::clone(&self.controller);
        controller
    }

    fn admin(&self, command: Command, memory: DmaBuffer) -> Result<AdminCompleted, AdminRejected> {
        self.controller.submit_admin_with_data(command, memory)
    }

    fn store(
        &self,
        policy: Box<dyn Fn() -> AnyPolicy + Send + Sync>,
        may_write: bool,
    ) -> Result<Box<dyn AnyStore>, StoreError> {
        let nsid = self.namespace.id().0;
        let store = NvmeStore::new(Arc::clone(&self.controller), nsid, policy)?;
        Ok(match may_write {
            true => Box::new(store),
            false => Box::new(store.read_only()),
        })
    }

    fn queue(&self, depth: usize, policy: AnyPolicy) -> Result<Box<dyn AnyQueue>, NvmeError> {
        let mut pair = self.controller.create_queue_pair(depth)?;
        pair.set_policy(policy)?;
        pair.serve(&self.namespace).expect("of this controller");
        let mut queue = OpenedQueue::empty(self.namespace)?;
        queue.put(pair);
        Ok(Box::new(queue))
    }

    fn group(&self) -> Result<Box<dyn AnyGroup>, NvmeError> {
        Ok(Box::new(Members::<D>::new()?))
    }
}
