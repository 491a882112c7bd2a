//! The controller: bring-up, identity, queue pairs, and the end.

mod shared;

pub(crate) use shared::Shared;

use crate::queue::{Layout, MOST_SLOTS, Parts, prp};
use crate::registers::Registers;
use crate::{Namespace, NvmeError, QueuePair};
use joulio_device::{Device, DmaBuffer, DmaMemory, Vector};
use joulio_nvme_spec::feature::{ApstTable, FeatureId, NumberOfQueues};
use joulio_nvme_spec::identify::{ActiveNamespaces, Cns, IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::log::{LogId, SmartHealth};
use joulio_nvme_spec::register::{Version, completion_doorbell, submission_doorbell};
use joulio_nvme_spec::{Command, NamespaceId, QueueId};
use joulio_units::Nanos;
use std::sync::Arc;

/// How to open a controller.
#[derive(Clone, Copy, Debug)]
pub struct ControllerOptions {
    /// I/O queue pairs wanted; the controller may give fewer. At least 1.
    pub queues: u16,
    /// How long an admin command may take.
    pub admin_timeout: Nanos,
}

impl Default for ControllerOptions {
    /// A queue pair for each CPU, as the kernel has it, and 60 s, as nvme_core.admin_timeout.
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        ControllerOptions {
            queues: cpus.min(256) as u16,
            admin_timeout: Nanos::from_millis(60_000),
        }
    }
}

/// An NVMe controller, enabled. Dropped, it is shut down; queue pairs keep it up until they go.
pub struct Controller<D: Device> {
    shared: Arc<Shared<D>>,
}

impl<D: Device> Controller<D> {
    /// Resets the controller, enables it, and asks what it is.
    pub fn open(device: D, options: ControllerOptions) -> Result<Controller<D>, NvmeError> {
        let device = Arc::new(device);
        let registers = Registers(&*device);
        let cap = registers.cap()?;
        let unsupported = |what: &str| NvmeError::Unsupported {
            device: device.name().into(),
            what: what.into(),
        };
        // CSS bit 0: NVM command set; bit 6: all I/O command sets that it has (Base figure 36).
        if cap.css() & (1 | 1 << 6) == 0 {
            return Err(unsupported(
                "it does not have the NVM command set (CAP.CSS)",
            ));
        }
        if cap.mpsmin() != 0 {
            return Err(unsupported(
                "it does not do 4 KiB memory pages (CAP.MPSMIN)",
            ));
        }
        registers.disable(cap, true)?;
        let admin = crate::admin::Admin::new(Arc::clone(&device), cap, options.admin_timeout)?;
        let mut shared = Shared::new(device, cap, admin);
        shared.enable()?;
        let identity = shared.admin().fetch(
            "Identify Controller",
            Command::identify(Cns::CONTROLLER, NamespaceId::NONE),
        )?;
        shared.max_transfer = max_transfer(&identity);
        shared.identity = Some(identity);
        shared.negotiate_queues(options.queues.max(1))?;
        Ok(Controller {
            shared: Arc::new(shared),
        })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.shared.device.name()
    }

    /// The back end.
    pub fn device(&self) -> &D {
        &self.shared.device
    }

    /// The version register VS.
    pub fn version(&self) -> Version {
        Registers(&*self.shared.device).version()
    }

    /// Identify Controller, as it was when the controller was opened.
    pub fn identity(&self) -> &IdentifyController {
        self.shared.identity()
    }

    /// The most bytes of one command: MDTS, and this driver's limit of 1 MiB.
    pub fn max_transfer(&self) -> u32 {
        self.shared.max_transfer
    }

    /// The deepest queue pair: min(CAP.MQES, 4095). MQES is 0's based and one entry stays empty.
    pub fn max_depth(&self) -> usize {
        usize::from(self.shared.cap.mqes()).min(MOST_SLOTS)
    }

    /// I/O queue pairs that can be open at once.
    pub fn max_queues(&self) -> usize {
        self.shared.granted()
    }

    /// The identifiers of the active namespaces, ascending; the first 1024.
    pub fn active_namespaces(&self) -> Result<Vec<u32>, NvmeError> {
        let list: Box<ActiveNamespaces> = self.shared.admin().fetch(
            "Identify Active Namespace ID list",
            Command::identify(Cns::ACTIVE_NAMESPACES, NamespaceId::NONE),
        )?;
        let ids = list.nsid.iter().map(|id| id.get());
        Ok(ids.take_while(|&id| id != 0).collect())
    }

    /// Identify Namespace of `nsid`, which must be active.
    pub fn identify_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        let active = self.active_namespaces()?;
        if !active.contains(&nsid) {
            let mut known: Vec<_> = active.iter().take(16).map(u32::to_string).collect();
            if active.len() > known.len() {
                known.push("...".into());
            }
            return Err(NvmeError::NoNamespace {
                device: self.name().into(),
                nsid,
                active: if known.is_empty() {
                    "none".into()
                } else {
                    known.join(", ")
                },
            });
        }
        self.shared.admin().fetch(
            "Identify Namespace",
            Command::identify(Cns::NAMESPACE, NamespaceId(nsid)),
        )
    }

    /// The namespace `nsid`, for I/O.
    pub fn namespace(&self, nsid: u32) -> Result<Namespace, NvmeError> {
        let identify = self.identify_namespace(nsid)?;
        let domain = self.shared.admin().memory().domain();
        Namespace::new(self.name(), domain, NamespaceId(nsid), &identify)
    }

    /// Log 02h for the whole controller.
    pub fn smart_log(&self) -> Result<Box<SmartHealth>, NvmeError> {
        let command = Command::get_log_page(
            LogId::SMART_HEALTH,
            NamespaceId::ALL,
            size_of::<SmartHealth>(),
        );
        self.shared.admin().fetch("Get Log Page (SMART)", command)
    }

    /// The current value of a feature, as dword 0 of Get Features has it.
    pub fn feature(&self, fid: FeatureId) -> Result<u32, NvmeError> {
        self.shared
            .admin()
            .run("Get Features", Command::get_features(fid))
    }

    /// Sets a feature that has no data, until the next reset.
    pub fn set_feature(&self, fid: FeatureId, value: u32) -> Result<u32, NvmeError> {
        self.without_data(fid)?;
        self.shared
            .admin()
            .run("Set Features", Command::set_features(fid, value))
    }

    /// The APST table, 0Ch (Base 5.27.1.10), and whether it is enabled.
    pub fn apst(&self) -> Result<(bool, Box<ApstTable>), NvmeError> {
        let command = Command::get_features(FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION);
        let mut admin = self.shared.admin();
        let (enabled, table) = admin.fetch_with_result("Get Features (APST)", command)?;
        Ok((enabled & 1 != 0, table))
    }

    /// Refuses a feature whose data would go to address 0.
    fn without_data(&self, fid: FeatureId) -> Result<(), NvmeError> {
        if fid == FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION {
            return Err(NvmeError::Unsupported {
                device: self.name().into(),
                what: "feature 0Ch is a table, not a value: ask for it with apst()".into(),
            });
        }
        Ok(())
    }

    /// Memory that the device can reach.
    pub fn allocate(&self, len: usize) -> Result<DmaMemory, NvmeError> {
        Ok(self.shared.device.allocate(len)?)
    }

    /// `count` data buffers of `len` bytes, each on pages of its own.
    pub fn allocate_buffers(&self, count: usize, len: usize) -> Result<Vec<DmaBuffer>, NvmeError> {
        let bytes = (len <= u32::MAX as usize)
            .then(|| count.checked_mul(DmaBuffer::stride(len)))
            .flatten()
            .ok_or_else(|| NvmeError::Unsupported {
                device: self.name().into(),
                what: format!("{count} buffers of {len} bytes are more than memory can hold"),
            })?;
        Ok(DmaBuffer::carve(self.allocate(bytes)?, count, len))
    }

    /// A queue pair for up to `depth` outstanding commands, polled until told otherwise. It has an
    /// interrupt vector of its own if the device has one left.
    pub fn create_queue_pair(&self, depth: usize) -> Result<QueuePair<D>, NvmeError> {
        let most = self.max_depth();
        if depth == 0 || depth > most {
            return Err(NvmeError::Depth {
                device: self.name().into(),
                wanted: depth,
                most,
            });
        }
        let entries = depth + 1;
        let layout = Layout::new(entries, depth, self.max_transfer());
        let memory = Arc::new(self.allocate(layout.bytes)?);
        let (id, vector) = self.shared.take_queue()?;
        let doorbells = match self.doorbells(id) {
            Ok(doorbells) => doorbells,
            Err(error) => {
                self.shared.take_back(id, vector, true);
                return Err(error);
            }
        };
        if let Err((error, undone)) = self.connect(id, depth, vector.as_ref(), &layout, &memory) {
            self.shared.take_back(id, vector, undone);
            // The controller may know the memory.
            self.shared.retire(memory, Vec::new());
            return Err(error);
        }
        Ok(QueuePair::new(Parts {
            id,
            depth,
            memory,
            vector,
            doorbells,
            shared: Arc::clone(&self.shared),
        }))
    }

    fn doorbells(&self, id: QueueId) -> Result<(D::Doorbell, D::Doorbell), NvmeError> {
        let stride = self.shared.cap.dstrd();
        let device = &self.shared.device;
        Ok((
            device.doorbell(submission_doorbell(id.0, stride))?,
            device.doorbell(completion_doorbell(id.0, stride))?,
        ))
    }

    /// Makes the queues known to the controller. After an error, whether it knows neither.
    fn connect(
        &self,
        id: QueueId,
        depth: usize,
        vector: Option<&Vector>,
        layout: &Layout,
        memory: &Arc<DmaMemory>,
    ) -> Result<(), (NvmeError, bool)> {
        let entries = depth as u32 + 1;
        let refused = |error: &NvmeError| matches!(error, NvmeError::Admin { .. });
        let mut create = Command::create_completion_queue(id, entries, vector.map(Vector::index));
        create.prp1 = memory.iova().offset(layout.completion()).0.into();
        let created = self
            .shared
            .admin()
            .run("Create I/O Completion Queue", create);
        created.map_err(|error| {
            let undone = refused(&error);
            (error, undone)
        })?;
        let mut create = Command::create_submission_queue(id, entries, id);
        create.prp1 = memory.iova().0.into();
        let created = self
            .shared
            .admin()
            .run("Create I/O Submission Queue", create);
        created.map_err(|error| {
            let undone = refused(&error) && self.shared.delete_completion_queue(id).is_ok();
            (error, undone)
        })?;
        Ok(())
    }

    /// Whether the controller answers and has not failed (CSTS.CFS): for a caller whose I/Os take
    /// too long.
    pub fn check(&self) -> Result<(), NvmeError> {
        self.shared.check()
    }
}

/// MDTS in bytes, where 0 is no limit; CAP.MPSMIN = 0 makes its unit 4 KiB.
fn max_transfer(identity: &IdentifyController) -> u32 {
    match identity.mdts {
        0 => prp::MOST_BYTES,
        mdts => 4096u32
            .checked_shl(mdts.into())
            .filter(|&bytes| (4096..=prp::MOST_BYTES).contains(&bytes))
            .unwrap_or(prp::MOST_BYTES),
    }
}

impl<D: Device> Shared<D> {
    /// Number of Queues (feature 07h) and a vector for each, as far as both go.
    fn negotiate_queues(&mut self, wanted: u16) -> Result<(), NvmeError> {
        // 0's based: FFFFh, which must not be asked for (Base figure 322), cannot come out.
        let ask = wanted - 1;
        let value = NumberOfQueues::new()
            .with_submission(ask)
            .with_completion(ask);
        let granted = self.admin().run(
            "Set Features (Number of Queues)",
            Command::set_features(FeatureId::NUMBER_OF_QUEUES, value.into()),
        )?;
        let granted = NumberOfQueues::from(granted);
        let most = u32::from(granted.submission().min(granted.completion())) + 1;
        let queues = most.min(wanted.into()) as u16;
        let vectors = self.device.max_vectors().min(queues.saturating_add(1));
        let vectors = if vectors == 0 {
            Vec::new()
        } else {
            self.device.enable_vectors(vectors)?
        };
        self.offer_queues(queues, vectors);
        Ok(())
    }
}
