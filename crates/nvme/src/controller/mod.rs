//! The controller: bring-up, identity, queue pairs, and shutdown.

mod commands;
mod death;
mod events;
mod feature_record;
mod features;
mod host_memory;
mod loan;
mod memory;
mod namespaces;
mod options;
mod power;
mod queues;
mod raw;
pub(crate) mod recovery;
pub(crate) mod shared;

pub use host_memory::HostMemory;
pub use options::ControllerOptions;
pub use raw::AdminCompleted;
pub(crate) use shared::Shared;

use crate::Inspect;
use crate::queue::{MAX_SLOTS, prp};
use crate::quirks::Quirks;
use crate::registers::Registers;
use crate::{NvmeError, QueuePair};
use joulio_device::Device;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::identify::{Cns, IdentifyController};
use joulio_nvme_spec::log::SmartHealth;
use joulio_nvme_spec::register::{Cap, Version};
use joulio_nvme_spec::{Command, NamespaceId};
use std::sync::Arc;

/// An NVMe controller, enabled. Dropping it shuts the controller down, once its last queue pair is dropped too.
pub struct Controller<D: Device> {
    shared: Arc<Shared<D>>,
}

impl<D: Device> Controller<D> {
    /// Resets and enables the controller, and identifies it (NVM Express Base 2.0, 3.5.1).
    ///
    /// # Errors
    /// The device was removed, does not become ready in its time (CAP.TO), or lacks what this
    /// driver needs: the NVM command set and memory pages of 4 KiB.
    pub fn open(device: D, options: ControllerOptions) -> Result<Controller<D>, NvmeError> {
        let device = Arc::new(device);
        if let Some(flag) = options.cancel.flag() {
            device.cancel_on(flag);
        }
        let quirks = Quirks::of(device.pci_id());
        let registers = Registers {
            device: &*device,
            cancel: &options.cancel,
            csts_delay: quirks.csts_delay,
        };
        if let Some(why) = quirks.refused {
            return Err(NvmeError::Unsupported {
                device: device.name().into(),
                what: why.into(),
            });
        }
        let cap = registers.cap()?;
        let unsupported = |what: &str| NvmeError::Unsupported {
            device: device.name().into(),
            what: what.into(),
        };
        // A controller may name the NVM command set only as one of all that it has (Base figure 36).
        if cap.css() & (Cap::NVM_COMMAND_SET | Cap::ALL_COMMAND_SETS) == 0 {
            return Err(unsupported(
                "it does not have the NVM command set (CAP.CSS)",
            ));
        }
        if cap.mpsmin() != 0 {
            return Err(unsupported(
                "it does not do 4 KiB memory pages (CAP.MPSMIN)",
            ));
        }
        registers.disable_or_reset(cap, true)?;
        let admin = crate::admin::Admin::new(
            Arc::clone(&device),
            cap,
            options.admin_timeout,
            options.cancel.clone(),
        )?;
        let queues = options.queues.max(1);
        let mut shared = Shared::new(device, cap, quirks, admin, options);
        shared.enable()?;
        let (_, identity) = shared.admin().fetch(
            "Identify Controller",
            Command::identify(Cns::CONTROLLER, NamespaceId::NONE),
        )?;
        shared.max_transfer = max_transfer(&identity);
        shared.quirks = shared.quirks.with_model(&identity);
        shared.identity = Some(identity);
        shared.lend_memory()?;
        shared.negotiate_queues(queues)?;
        shared.ask_for_events(&mut shared.admin());
        let controller = Controller {
            shared: Arc::new(shared),
        };
        let weights = controller.shared.options.arbitration;
        if let Some(weights) = weights.filter(|_| controller.is_weighted()) {
            controller.set_feature(FeatureId::ARBITRATION, weights.into())?;
        }
        Ok(controller)
    }

    /// Returns whether queues share the controller by the weights of their priority classes: weights were requested,
    /// and the controller has weighted round robin.
    pub fn is_weighted(&self) -> bool {
        self.shared.is_weighted()
    }

    /// Name of the device.
    pub fn name(&self) -> &str {
        self.shared.device.name()
    }

    /// The back end.
    pub fn device(&self) -> &D {
        &self.shared.device
    }

    /// Version register VS.
    pub fn version(&self) -> Version {
        self.shared.registers().version()
    }

    /// Returns the Identify Controller data structure, as of when the controller was opened.
    pub fn identity(&self) -> &IdentifyController {
        self.shared.identity()
    }

    /// Returns the largest transfer of one command in bytes: MDTS, at most this driver's limit of 1 MiB.
    pub fn max_transfer(&self) -> u32 {
        self.shared.max_transfer
    }

    /// Largest queue depth: min(CAP.MQES, 4095), at least 1. MQES is 0's based and one entry stays empty. The least
    /// MQES of the specification is 1; controllers that report 0, which would be a queue that holds nothing, accept
    /// two entries all the same, and some models 64.
    pub fn max_depth(&self) -> usize {
        let depth = match self.shared.cap.mqes() {
            0 => self.shared.quirks.depth_without_mqes,
            mqes => mqes.into(),
        };
        depth.clamp(1, MAX_SLOTS)
    }

    /// Returns the number of I/O queue pairs that can be open at once.
    pub fn max_queues(&self) -> usize {
        self.shared.granted()
    }

    /// Returns the number of interrupt vectors of the controller's queues, the admin queue included: fewer than
    /// queues where the device has no more, or the system gave no more.
    pub fn vectors(&self) -> usize {
        self.shared.vectors().0.into()
    }

    /// Reads the SMART / Health Information log page, 02h, of the whole controller (Base 5.16.1.3).
    ///
    /// # Errors
    /// As [`Controller::feature`].
    pub fn smart_log(&self) -> Result<Box<SmartHealth>, NvmeError> {
        Inspect::smart_log(self)
    }

    /// Reads the current value of a feature, dword 0 of Get Features (Base 5.15).
    ///
    /// # Errors
    /// The controller refuses the command ([`NvmeError::Admin`]), does not answer it and is reset
    /// ([`NvmeError::AdminStuck`]), or can no longer be used.
    pub fn feature(&self, fid: FeatureId) -> Result<u32, NvmeError> {
        let command = Command::get_features(fid);
        Ok(self.shared.run("Get Features", command)? as u32)
    }

    /// Sets a feature that has no data (Base 5.27). The driver sets it again after each reset, for as long as the
    /// controller is open.
    ///
    /// # Errors
    /// As [`Controller::feature`]; [`NvmeError::Unsupported`] for a feature with data, [`NvmeError::Submit`] for one
    /// that only the driver sets.
    pub fn set_feature(&self, fid: FeatureId, value: u32) -> Result<u32, NvmeError> {
        self.without_data(fid)?;
        let command = Command::set_features(fid, value);
        self.check_admin(&command)?;
        Ok(self.shared.run("Set Features", command)? as u32)
    }

    /// Refuses a feature whose data would go to address 0.
    fn without_data(&self, fid: FeatureId) -> Result<(), NvmeError> {
        let what = match fid {
            FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION => {
                "feature 0Ch is a table, not a value: read it with apst()".into()
            }
            FeatureId::HOST_MEMORY_BUFFER => {
                "feature 0Dh is memory, not a value: host_memory() says what was lent".into()
            }
            other if other.has_data() => format!(
                "feature {:02x}h has data: submit_admin_with_data()",
                other.0
            ),
            _ => return Ok(()),
        };
        Err(NvmeError::Unsupported {
            device: self.name().into(),
            what,
        })
    }

    /// Checks that the controller answers and has not failed (CSTS.CFS, Base 3.1.4.6), for a caller
    /// whose I/Os take too long.
    ///
    /// # Errors
    /// The controller was removed, has failed, was stopped or is to be unplugged.
    pub fn check(&self) -> Result<(), NvmeError> {
        self.shared.settled()?;
        self.shared.check()
    }

    /// Returns the number of resets of the controller since it was opened: for a stuck command, a stuck admin queue,
    /// or CSTS.CFS.
    pub fn resets(&self) -> u64 {
        self.shared.resets()
    }

    /// Returns how many of the resets needed a reset of the whole function, since CC.EN did not help.
    pub fn function_resets(&self) -> u64 {
        self.shared.function_resets()
    }

    /// Resets the controller (CC.EN, Base 3.7.2; where that does not help, the function). Outstanding commands are
    /// ended as by any reset. The queue pairs stay, and each is used again from the next wait on it.
    ///
    /// # Errors
    /// The controller does not come back ([`NvmeError::ResetFailed`]), was removed, or the wait for it was cancelled:
    /// it can no longer be used.
    pub fn reset(&self) -> Result<(), NvmeError> {
        let generation = self.shared.settled()?;
        let reason = NvmeError::Fatal {
            device: self.name().into(),
        };
        self.shared.recover(generation, &reason)
    }
}

/// Returns MDTS in bytes, where 0 is no limit; its unit is 4 KiB, as CAP.MPSMIN = 0.
fn max_transfer(identity: &IdentifyController) -> u32 {
    match identity.mdts {
        0 => prp::MAX_BYTES,
        mdts => 4096u32
            .checked_shl(mdts.into())
            .filter(|&bytes| (4096..=prp::MAX_BYTES).contains(&bytes))
            .unwrap_or(prp::MAX_BYTES),
    }
}
