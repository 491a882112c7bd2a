//! Identify and SMART data of a controller, whichever driver owns it. Namespaces are found by the list of NVMe 1.1,
//! or one by one.

use crate::NvmeError;
use joulio_nvme_spec::identify::{ActiveNamespaces, Cns, IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::log::{LogId, SmartHealth};
use joulio_nvme_spec::{Command, NamespaceId, Status};
use zerocopy::{FromBytes, IntoBytes};

/// First of the NSIDs that name no namespace (Base 3.2.1.2).
const RESERVED: u32 = 0xffff_fffe;

/// A controller to be identified: a [`crate::Controller`] or a [`crate::KernelController`].
pub trait Inspect {
    /// Identify Controller data structure, as of when the controller was opened.
    fn identity(&self) -> &IdentifyController;

    /// Reads the identifiers of the active namespaces, ascending, as
    /// [`crate::Controller::active_namespaces`].
    ///
    /// # Errors
    /// The controller fails the command.
    fn active_namespaces(&self) -> Result<Vec<u32>, NvmeError>;

    /// Reads the Identify Namespace data structure of `nsid` (CNS 00h, NVM 1.0, 4.1.5.1).
    ///
    /// # Errors
    /// [`NvmeError::NoNamespace`] where `nsid` is not active; the controller fails the command.
    fn identify_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError>;

    /// Reads the SMART / Health Information log page, 02h, of the whole controller (Base 5.16.1.3).
    ///
    /// # Errors
    /// The controller fails the command.
    fn smart_log(&self) -> Result<Box<SmartHealth>, NvmeError>;
}

impl<C: FetchData> Inspect for C {
    fn identity(&self) -> &IdentifyController {
        FetchData::identity(self)
    }

    fn active_namespaces(&self) -> Result<Vec<u32>, NvmeError> {
        self.active()
    }

    fn identify_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        self.active_namespace(nsid)
    }

    fn smart_log(&self) -> Result<Box<SmartHealth>, NvmeError> {
        let bytes = size_of::<SmartHealth>();
        let command = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, bytes);
        self.fetch("Get Log Page (SMART)", command)
    }
}

/// Admin commands that read data, over any transport.
pub trait FetchData {
    /// Name of the device.
    fn name(&self) -> &str;

    /// Identify Controller data structure.
    fn identity(&self) -> &IdentifyController;

    /// True if the controller is known to have the list of active namespaces (CNS 02h, NVMe 1.1).
    fn has_list(&self) -> bool;

    /// Executes a command and returns its data.
    fn fetch<T: FromBytes + IntoBytes>(
        &self,
        name: &'static str,
        command: Command,
    ) -> Result<Box<T>, NvmeError>;

    /// Identifiers of the active namespaces, ascending.
    fn active(&self) -> Result<Vec<u32>, NvmeError> {
        if !self.has_list() {
            return self.namespaces_one_by_one();
        }
        match self.listed_namespaces() {
            Err(NvmeError::Admin { status, .. }) if is_refused(status) => {
                self.namespaces_one_by_one()
            }
            other => other,
        }
    }

    /// Reads Identify CNS 02h, as far as the list is valid: a repeated or unordered NSID, or one that is no
    /// namespace's, is a controller's mistake and ends it.
    fn listed_namespaces(&self) -> Result<Vec<u32>, NvmeError> {
        let command = Command::identify(Cns::ACTIVE_NAMESPACES, NamespaceId::NONE);
        let list: Box<ActiveNamespaces> =
            self.fetch("Identify Active Namespace ID list", command)?;
        let ids = list.nsid.iter().map(|id| id.get());
        let mut ids: Vec<u32> = ids
            .take_while(|&id| id != 0)
            .filter(|&id| id < RESERVED)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Identifies (CNS 00h) each NSID up to NN: an inactive one has no size, or is refused.
    fn namespaces_one_by_one(&self) -> Result<Vec<u32>, NvmeError> {
        // As many as a list holds, however many the controller claims to have.
        let max = size_of::<ActiveNamespaces>() / size_of::<u32>();
        let last = self.identity().nn.get().min(max as u32);
        let mut active = Vec::new();
        for nsid in 1..=last {
            match self.fetch_namespace(nsid) {
                Ok(identify) if identify.nsze.get() == 0 => {}
                Ok(_) => active.push(nsid),
                Err(NvmeError::Admin { status, .. }) if is_refused(status) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(active)
    }

    /// Identify Namespace data structure of a namespace that may be inactive.
    fn fetch_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        let command = Command::identify(Cns::NAMESPACE, NamespaceId(nsid));
        self.fetch("Identify Namespace", command)
    }

    /// Identify Namespace data structure of the active namespace `nsid`.
    fn active_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        let active = self.active()?;
        if active.contains(&nsid) {
            return self.fetch_namespace(nsid);
        }
        let mut known: Vec<_> = active.iter().take(16).map(u32::to_string).collect();
        if active.len() > known.len() {
            known.push("...".into());
        }
        Err(NvmeError::NoNamespace {
            device: self.name().into(),
            nsid,
            active: if known.is_empty() {
                "none".into()
            } else {
                known.join(", ")
            },
        })
    }
}

/// Returns whether `status` is the answer of a controller that lacks a CNS: Invalid Field or, from one that sees only
/// the single bit of CNS in NVMe 1.0, that NSID 0 is not a namespace.
fn is_refused(status: Status) -> bool {
    [Status::INVALID_FIELD, Status::INVALID_NAMESPACE].contains(&status.kind())
}
