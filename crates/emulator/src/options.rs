//! The parts of a controller.

use crate::fault::FaultPlan;
use joulio_device::pci::PciId;
use joulio_model::DeviceProfile;
use joulio_nvme_spec::identify::{IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::register::Version;
use joulio_units::Nanos;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A function that returns once what was written to a file is durable.
pub type SyncFile = fn(&File) -> io::Result<()>;

/// PCI identifiers of an emulated controller. The vendor is the letters `LJ`, which nobody is assigned.
pub(crate) const PCI_ID: PciId = PciId {
    vendor: 0x4a4c,
    device: 0x0001,
};

/// Options of a controller. Fields are open; [`Options::new`] fills in what a profile says.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the device in messages.
    pub name: String,
    /// PCI identifiers, to a driver in this process.
    pub pci_id: PciId,
    /// The profile of the device: its identity and its service times.
    pub profile: DeviceProfile,
    /// The namespaces; the first is NSID 1.
    pub namespaces: Vec<NamespaceOptions>,
    /// The seed of service times and of the serial number.
    pub seed: u64,
    /// Maximum number of I/O queue pairs, 1 to [`Options::MAX_QUEUE_PAIRS`].
    pub queue_pairs: u16,
    /// Entries of the MSI-X table, 1 to 2048.
    pub vectors: u16,
    /// The time at which a stepped controller is switched on.
    pub start: Nanos,
    /// CPUs that the device's thread may use; none: those of the thread that starts it.
    pub cpus: Vec<usize>,
    /// Time to the next completion below which the device's thread spins instead of sleeping.
    pub spin: Nanos,
    /// Time for which the device's thread polls idle doorbells before it parks.
    pub linger: Nanos,
    /// The version of NVMe that it says it is of: 1.4, or 1.0, which has no list of active
    /// namespaces (Identify CNS 02h and above are refused).
    pub version: Version,
    /// Whether hosts may configure shadow doorbells (Base 5.8): for hosts whose doorbells are
    /// slow, as those of a virtual machine are. In this process they are not.
    pub shadow_doorbells: bool,
    /// Doorbells wake nobody: instead of parking, the device's thread polls again after this
    /// long.
    pub nap: Option<Nanos>,
    /// True for a controller that has weighted round robin (CAP.AMS). Where a host chooses it, the controller
    /// takes as many commands as its model works on at once, so that the others wait in their queues.
    pub weighted_round_robin: bool,
    /// Memory of the host's that the controller wants; `None`: it has its own. [`Options::identify`] says it itself.
    pub host_memory: Option<HostMemoryDemand>,
    /// Identify pages of another drive, which the controller answers with and keeps to; `None`: it answers with
    /// pages of its own.
    pub identify: Option<Box<IdentifyPages>>,
    /// Vectors are interrupts of the test source of `kmod/joulio_uintr` in place of eventfds alone:
    /// real ones, which a thread can take straight.
    pub real_interrupts: bool,
    /// The sync of namespaces' files: [`File::sync_data`], unless a test has another disk in mind.
    pub sync: SyncFile,
    /// The faults to commit: none, unless some are planned.
    pub faults: FaultPlan,
}

impl Options {
    /// Maximum number of I/O queue pairs of a controller.
    pub const MAX_QUEUE_PAIRS: u16 = 256;
    /// Maximum number of entries of an MSI-X table (PCI 3.0, 6.8.2.3).
    pub const MAX_VECTORS: u16 = 2048;
    /// Maximum number of namespaces of a controller: what one Identify list holds.
    pub const MAX_NAMESPACES: usize = 1024;

    /// A controller as `profile` describes it, with one namespace in memory.
    pub fn new(profile: DeviceProfile) -> Options {
        let queue_pairs = profile.max_io_queues.count().clamp(1, 64) as u16;
        Options {
            name: format!("emulated:{}", profile.name),
            pci_id: PCI_ID,
            namespaces: vec![NamespaceOptions::default()],
            seed: 0,
            queue_pairs,
            vectors: queue_pairs + 1,
            start: Nanos::ZERO,
            cpus: Vec::new(),
            spin: Nanos::from_micros(60),
            linger: Nanos::from_micros(50),
            version: Version::new().with_major(1).with_minor(4),
            shadow_doorbells: false,
            nap: None,
            weighted_round_robin: false,
            host_memory: None,
            identify: None,
            real_interrupts: false,
            sync: File::sync_data,
            faults: FaultPlan::default(),
            profile,
        }
    }
}

/// Identify pages of another drive.
///
/// What a page says of transfers (MDTS), events (AERL), the write cache (VWC), power states (NPSS, PSD) and memory of
/// the host's (HMPRE, HMMIN) the controller does. Left zero, SN, SQES and CQES are its own. NN may be larger than
/// the number of its namespaces: the others are inactive.
#[derive(Clone, Debug)]
pub struct IdentifyPages {
    /// Identify Controller (CNS 01h).
    pub controller: IdentifyController,
    /// Identify Namespace (CNS 00h) of every namespace; `None`: each has its own. The stores of the namespaces
    /// are what they are.
    pub namespace: Option<IdentifyNamespace>,
}

/// Memory of the host's that a controller wants, in bytes of whole pages of 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemoryDemand {
    /// Preferred size (HMPRE).
    pub preferred: u64,
    /// Least size that is of use (HMMIN), at most the preferred one.
    pub minimum: u64,
}

/// A namespace.
#[derive(Clone, Debug, Default)]
pub struct NamespaceOptions {
    /// Place of its data.
    pub store: StoreOptions,
    /// Bytes of a logical block, 512 or 4096; the profile's default when not said.
    pub block: Option<u32>,
}

/// Place of a namespace's data.
#[derive(Clone, Debug)]
pub enum StoreOptions {
    /// In memory: lost with the controller.
    Ram {
        /// Size in bytes; the profile's capacity when not said.
        bytes: Option<u64>,
    },
    /// In a regular file, which is locked so that no two controllers write it.
    File {
        /// The file.
        path: PathBuf,
        /// Size in bytes: a missing file is created with it, sparse; one that is there must have
        /// it.
        bytes: Option<u64>,
        /// Opened for reading; the namespace is then write protected.
        read_only: bool,
    },
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions::Ram { bytes: None }
    }
}
