//! The host memory buffer (Base 5.27.1.11): memory that is lent to a controller without memory of its own, for as
//! long as it is open.

use super::Controller;
use super::feature_record::Key;
use super::loan::{Lent, Loan, Ranges};
use super::shared::{Shared, lock};
use crate::NvmeError;
use crate::admin::Admin;
use joulio_device::Device;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::{PAGE_SIZE, Status};
use zerocopy::little_endian::U32;

const NAME: &str = "Set Features (Host Memory Buffer)";
const KEY: Key = (FeatureId::HOST_MEMORY_BUFFER, 0, 0);

/// Host memory buffer of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostMemory {
    /// No memory is lent: the controller wants none (HMPRE 0), or
    /// [`ControllerOptions::host_memory_max`](crate::ControllerOptions::host_memory_max) is 0.
    None,
    /// Number of bytes lent to the controller.
    Lent(u64),
    /// The controller wants memory and has none, for this reason: it may be slower without.
    Missing(String),
}

/// Sizes that a controller wants, in bytes.
struct Wanted {
    preferred: u64,
    minimum: u64,
}

impl Wanted {
    /// Sizes to try, the largest first: each half of the one before.
    fn sizes(&self, max: u64) -> impl Iterator<Item = u64> {
        let (page, least) = (PAGE_SIZE as u64, self.minimum.max(PAGE_SIZE as u64));
        let first = self.preferred.min(max) / page * page;
        std::iter::successors(Some(first), move |size| Some(size / 2 / page * page))
            .take_while(move |&size| size >= least)
    }
}

impl<D: Device> Shared<D> {
    /// Lends the controller the memory that it wants, or as much as can be allocated. Without any, the controller is
    /// opened all the same.
    pub(super) fn lend_memory(&mut self) -> Result<(), NvmeError> {
        let (wanted, max) = (self.wanted(), self.options.host_memory_max);
        if wanted.preferred == 0 || max == 0 {
            return Ok(());
        }
        let lent = match self.allocate_loan(&wanted, max) {
            Ok(lent) => lent,
            Err(why) => {
                self.loan = Loan::Missing(why);
                return Ok(());
            }
        };
        let command = lent.command(false);
        // Before the command: a controller that does not answer may use the memory until it is disabled.
        self.loan = Loan::Lent(lent);
        let lending = self.admin().run(NAME, command);
        if let Some(status) = refused(lending)? {
            self.loan = Loan::Missing(format!("{NAME}: {status}"));
        }
        Ok(())
    }

    fn wanted(&self) -> Wanted {
        let identity = self.identity();
        let bytes = |pages: U32| u64::from(pages.get()) * PAGE_SIZE as u64;
        Wanted {
            preferred: bytes(identity.hmpre),
            // HMMINDS: the least size of a range.
            minimum: bytes(identity.hmmin).max(bytes(identity.hmminds)),
        }
    }

    /// Returns which ranges the controller takes. An IOMMU makes one of any memory, so that several would only be had
    /// where memory runs out; without one, memory in one piece is rare.
    fn ranges(&self) -> Ranges {
        let identity = self.identity();
        let page = PAGE_SIZE as u64;
        Ranges {
            max: match (self.device.has_iommu(), identity.hmmaxd.get()) {
                // HMMAXD of 0: no limit.
                (Some(false), 0) => Ranges::MAX,
                (Some(false), max) => Ranges::MAX.min(max.into()),
                _ => 1,
            },
            min_bytes: u64::from(identity.hmminds.get().max(1)) * page,
        }
    }

    fn allocate_loan(&self, wanted: &Wanted, max: u64) -> Result<Lent, String> {
        let mut failed = None;
        let ranges = self.ranges();
        for bytes in wanted.sizes(max) {
            match Lent::allocate(&*self.device, bytes, ranges) {
                Ok(lent) => return Ok(lent),
                Err(error) => failed = Some(error.to_string()),
            }
        }
        Err(failed.unwrap_or_else(|| {
            format!(
                "it wants {} bytes at the least, and the limit is {max}",
                wanted.minimum
            )
        }))
    }

    /// Lends the same memory again after a reset: as the controller left it or, if it does not accept that, as new
    /// memory.
    pub(super) fn lend_memory_again(&self, admin: &mut Admin<D>) -> Result<(), NvmeError> {
        let Loan::Lent(lent) = &self.loan else {
            return Ok(());
        };
        let mut status = refused(admin.run(NAME, lent.command(true)))?;
        if status.is_some() {
            status = refused(admin.run(NAME, lent.command(false)))?;
        }
        let mut features = lock(&self.features);
        match status {
            None => features.lost.retain(|(key, _)| *key != KEY),
            Some(status) => features.lose(KEY, format!("{NAME}: {status}")),
        }
        Ok(())
    }
}

/// Returns the status with which a controller refused a command.
fn refused(result: Result<u64, NvmeError>) -> Result<Option<Status>, NvmeError> {
    match result {
        Ok(_) => Ok(None),
        Err(NvmeError::Admin { status, .. }) => Ok(Some(status)),
        Err(error) => Err(error),
    }
}

impl<D: Device> Controller<D> {
    /// Returns the host memory buffer that the controller has now.
    pub fn host_memory(&self) -> HostMemory {
        let features = lock(&self.shared.features);
        if let Some((_, why)) = features.lost.iter().find(|(key, _)| *key == KEY) {
            return HostMemory::Missing(why.clone());
        }
        match &self.shared.loan {
            Loan::Lent(lent) => HostMemory::Lent(lent.bytes()),
            Loan::Missing(why) => HostMemory::Missing(why.clone()),
            Loan::None => HostMemory::None,
        }
    }
}
