//! The namespaces of a controller: by the list of NVMe 1.1, or one by one.

use super::{Controller, NvmeError};
use crate::Namespace;
use joulio_device::Device;
use joulio_nvme_spec::identify::{ActiveNamespaces, Cns, IdentifyNamespace};
use joulio_nvme_spec::register::Version;
use joulio_nvme_spec::{Command, NamespaceId, Status};

/// NSIDs from here on name no namespace (Base 3.2.1.2).
const RESERVED: u32 = 0xffff_fffe;

impl<D: Device> Controller<D> {
    /// Reads the identifiers of the active namespaces, ascending: of the first 1024 that the
    /// controller lists (CNS 02h, Base 5.17.2.2), or, where it has no list (NVMe 1.0), of NSIDs 1
    /// to 1024 and NN.
    ///
    /// # Errors
    /// As [`Controller::feature`].
    pub fn active_namespaces(&self) -> Result<Vec<u32>, NvmeError> {
        if self.version_number() < (1, 1) {
            return self.namespaces_one_by_one();
        }
        match self.listed_namespaces() {
            Err(NvmeError::Admin { status, .. }) if has_no_list(status) => {
                self.namespaces_one_by_one()
            }
            other => other,
        }
    }

    fn version_number(&self) -> (u16, u8) {
        let version: Version = self.version();
        match self.shared.quirks().no_lists {
            true => (1, 0),
            false => (version.major(), version.minor()),
        }
    }

    /// Identify CNS 02h, as far as it makes sense: what is there twice, or out of order, or no NSID
    /// of a namespace, is a controller's mistake.
    fn listed_namespaces(&self) -> Result<Vec<u32>, NvmeError> {
        let (_, list): (_, Box<ActiveNamespaces>) = self.shared.fetch(
            "Identify Active Namespace ID list",
            Command::identify(Cns::ACTIVE_NAMESPACES, NamespaceId::NONE),
        )?;
        let ids = list.nsid.iter().map(|id| id.get());
        let mut ids: Vec<u32> = ids
            .take_while(|&id| id != 0)
            .filter(|&id| id < RESERVED)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Identify CNS 00h of each NSID up to NN: an inactive one has no size, or is refused.
    fn namespaces_one_by_one(&self) -> Result<Vec<u32>, NvmeError> {
        // As many as a list has, however many the controller claims.
        let max = size_of::<ActiveNamespaces>() / size_of::<u32>();
        let last = self.identity().nn.get().min(max as u32);
        let mut active = Vec::new();
        for nsid in 1..=last {
            match self.fetch_namespace(nsid) {
                Ok(identify) if identify.nsze.get() == 0 => {}
                Ok(_) => active.push(nsid),
                Err(NvmeError::Admin { status, .. }) if has_no_list(status) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(active)
    }

    fn fetch_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        let command = Command::identify(Cns::NAMESPACE, NamespaceId(nsid));
        Ok(self.shared.fetch("Identify Namespace", command)?.1)
    }

    /// Reads the Identify Namespace data structure of `nsid` (CNS 00h, NVM 1.0, 4.1.5.1).
    ///
    /// # Errors
    /// [`NvmeError::NoNamespace`] where `nsid` is not active; otherwise as [`Controller::feature`].
    pub fn identify_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        let active = self.active_namespaces()?;
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

    /// Opens the namespace `nsid` for I/O.
    ///
    /// # Errors
    /// As [`Controller::identify_namespace`]; [`NvmeError::Format`] for metadata, or blocks of
    /// other sizes than 512 and 4096 bytes.
    pub fn namespace(&self, nsid: u32) -> Result<Namespace, NvmeError> {
        let identify = self.identify_namespace(nsid)?;
        let domain = self.shared.admin().memory().domain();
        let quirks = self.shared.quirks();
        let mut oncs = self.identity().optional_commands();
        oncs.set_write_zeroes(oncs.write_zeroes() && !quirks.no_write_zeroes);
        let namespace = Namespace::new(self.name(), domain, NamespaceId(nsid), &identify, oncs)?;
        Ok(match quirks.striped {
            true => namespace.with_boundary(self.max_transfer()),
            false => namespace,
        })
    }
}

/// Reports whether `status` answers a CNS that the controller does not have: Invalid Field, or,
/// where it sees only the one bit that CNS had in NVMe 1.0, that NSID 0 is none.
fn has_no_list(status: Status) -> bool {
    [Status::INVALID_FIELD, Status::INVALID_NAMESPACE].contains(&status.kind())
}
