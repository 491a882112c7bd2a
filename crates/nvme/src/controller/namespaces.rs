//! The namespaces of a controller that this driver owns.

use super::{Controller, NvmeError};
use crate::Namespace;
use crate::inspect::{FetchData, Inspect};
use joulio_device::Device;
use joulio_nvme_spec::identify::{IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::register::Version;
use joulio_nvme_spec::{Command, NamespaceId};
use zerocopy::{FromBytes, IntoBytes};

impl<D: Device> FetchData for Controller<D> {
    fn name(&self) -> &str {
        Controller::name(self)
    }

    fn identity(&self) -> &IdentifyController {
        Controller::identity(self)
    }

    fn has_list(&self) -> bool {
        let version: Version = self.version();
        !self.shared.quirks.no_lists && (version.major(), version.minor()) >= (1, 1)
    }

    fn fetch<T: FromBytes + IntoBytes>(
        &self,
        name: &'static str,
        command: Command,
    ) -> Result<Box<T>, NvmeError> {
        Ok(self.shared.fetch(name, command)?.1)
    }
}

impl<D: Device> Controller<D> {
    /// Reads the identifiers of the active namespaces, ascending: the first 1024 that the controller lists (CNS 02h,
    /// Base 5.17.2.2) or, where it has no list (NVMe 1.0), those of NSIDs 1 to 1024 and NN.
    ///
    /// # Errors
    /// As [`Controller::feature`].
    pub fn active_namespaces(&self) -> Result<Vec<u32>, NvmeError> {
        Inspect::active_namespaces(self)
    }

    /// Reads the Identify Namespace data structure of `nsid` (CNS 00h, NVM 1.0, 4.1.5.1).
    ///
    /// # Errors
    /// [`NvmeError::NoNamespace`] where `nsid` is not active; otherwise as [`Controller::feature`].
    pub fn identify_namespace(&self, nsid: u32) -> Result<Box<IdentifyNamespace>, NvmeError> {
        Inspect::identify_namespace(self, nsid)
    }

    /// Opens the namespace `nsid` for I/O.
    ///
    /// # Errors
    /// As [`Controller::identify_namespace`]; [`NvmeError::Format`] for metadata, or blocks of
    /// other sizes than 512 and 4096 bytes.
    pub fn namespace(&self, nsid: u32) -> Result<Namespace, NvmeError> {
        let identify = self.identify_namespace(nsid)?;
        let controller = self.shared.id;
        let quirks = self.shared.quirks;
        let mut oncs = self.identity().optional_commands();
        oncs.set_write_zeroes(oncs.write_zeroes() && !quirks.no_write_zeroes);
        let namespace =
            Namespace::new(self.name(), controller, NamespaceId(nsid), &identify, oncs)?;
        Ok(match quirks.striped {
            true => namespace.with_boundary(self.max_transfer()),
            false => namespace,
        })
    }
}
