//! Options of a controller.

use crate::fault::FaultPlan;
use joulio_device::pci::PciId;
use joulio_model::DeviceProfile;
use joulio_nvme_spec::identify::{IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::register::Version;
use joulio_units::Nanos;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A function that returns once the data written to a file is durable.
pub type SyncFile = fn(&File) -> io::Result<()>;

/// A function that is called when a sync of the file at this path has failed: once for each file, as all later syncs of
/// it fail too. It is called on the device's thread, and must not wait.
pub type SyncFailed = fn(&Path, &io::Error);

/// PCI identifiers of an emulated controller. The vendor is the letters `LJ`, which are assigned to nobody.
pub(crate) const PCI_ID: PciId = PciId {
    vendor: 0x4a4c,
    device: 0x0001,
};

/// Options of a controller. All fields are public; [`Options::new`] takes defaults from a profile.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the device in messages.
    pub name: String,
    /// PCI identifiers, as a driver in this process sees them.
    pub pci_id: PciId,
    /// Profile of the device: its identity and its service times.
    pub profile: DeviceProfile,
    /// The namespaces; the first is NSID 1.
    pub namespaces: Vec<NamespaceOptions>,
    /// Seed of service times and of the serial number.
    pub seed: u64,
    /// Maximum number of I/O queue pairs, 1 to [`Options::MAX_QUEUE_PAIRS`].
    pub queue_pairs: u16,
    /// Entries of the MSI-X table, 1 to 2048.
    pub vectors: u16,
    /// The time at which a stepped controller is switched on.
    pub start: Nanos,
    /// CPUs that the device's thread may use; empty: those of the thread that starts it.
    pub cpus: Vec<usize>,
    /// Time to the next completion below which the device's thread spins instead of sleeping.
    pub spin: Nanos,
    /// Time for which the device's thread polls idle doorbells before it parks.
    pub linger: Nanos,
    /// Version of NVMe that the controller reports: 1.4, or 1.0, which has no list of active namespaces (Identify CNS
    /// 02h and above are refused).
    pub version: Version,
    /// Whether hosts may configure shadow doorbells (Base 5.8): for hosts whose doorbell writes are slow, as a virtual
    /// machine's are. In this process they are not.
    pub shadow_doorbells: bool,
    /// Interval in which the device's thread polls again instead of parking, where doorbells wake nobody; `None`: it
    /// parks.
    pub nap: Option<Nanos>,
    /// Whether the controller has weighted round robin (CAP.AMS). If a host chooses it, the controller fetches only as
    /// many commands as its model works on at once, so that the others wait in their queues.
    pub weighted_round_robin: bool,
    /// Whether hosts may enable the controller with all I/O command sets (CAP.CSS bit 6, CC.CSS = 110b). There is one:
    /// NVM.
    pub command_sets: bool,
    /// Host memory buffer that the controller wants; `None`: none. Pages in [`Options::identify`] take precedence.
    pub host_memory: Option<HostMemoryDemand>,
    /// Whether the memory of namespaces is allocated with the controller, in huge pages where the system has them, and
    /// kept; otherwise memory is taken when a block is written, and given back when it is deallocated.
    pub prealloc: bool,
    /// Identify pages of another drive, which the controller reports and follows; `None`: its own pages.
    pub identify: Option<Box<IdentifyPages>>,
    /// Whether vectors raise interrupts of the test source of `kmod/joulio_uintr` in addition to eventfds: real ones,
    /// which a thread can take without the kernel.
    pub real_interrupts: bool,
    /// Sync of namespaces' files: [`File::sync_data`], unless a test replaces it.
    pub sync: SyncFile,
    /// Function that is called when a sync has failed; by default it does nothing.
    pub sync_failed: SyncFailed,
    /// Faults to commit; none by default.
    pub faults: FaultPlan,
}

impl Options {
    /// Maximum number of I/O queue pairs of a controller.
    pub const MAX_QUEUE_PAIRS: u16 = 256;
    /// Maximum number of entries of an MSI-X table (PCI 3.0, 6.8.2.3).
    pub const MAX_VECTORS: u16 = 2048;
    /// Maximum number of namespaces of a controller: the length of one Identify list.
    pub const MAX_NAMESPACES: usize = 1024;

    /// Makes the options of a controller as `profile` describes it, with one namespace in memory.
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
            command_sets: false,
            host_memory: None,
            prealloc: false,
            identify: None,
            real_interrupts: false,
            sync: File::sync_data,
            sync_failed: |_, _| (),
            faults: FaultPlan::default(),
            profile,
        }
    }
}

/// Identify pages of another drive.
///
/// The controller follows a page's transfer size (MDTS), events (AERL), write cache (VWC), power states (NPSS, PSD) and
/// host memory buffer (HMPRE, HMMIN). SN, SQES and CQES that are zero are replaced by its own. NN may be larger than
/// the number of its namespaces: the others are inactive.
#[derive(Clone, Debug)]
pub struct IdentifyPages {
    /// Identify Controller (CNS 01h).
    pub controller: IdentifyController,
    /// Identify Namespace (CNS 00h) of every namespace; `None`: each has its own. It does not change the stores of the
    /// namespaces.
    pub namespace: Option<IdentifyNamespace>,
}

/// Host memory buffer that a controller wants, in bytes, multiples of 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemoryDemand {
    /// Preferred size (HMPRE).
    pub preferred: u64,
    /// Least useful size (HMMIN), at most the preferred one.
    pub minimum: u64,
}

/// Options of a namespace.
#[derive(Clone, Debug, Default)]
pub struct NamespaceOptions {
    /// Store of its data.
    pub store: StoreOptions,
    /// Bytes of a logical block, 512 or 4096; `None`: the profile's default.
    pub block: Option<u32>,
}

/// Store of a namespace's data.
#[derive(Clone, Debug)]
pub enum StoreOptions {
    /// Memory that is lost with the controller.
    Ram {
        /// Size in bytes; `None`: the profile's capacity.
        bytes: Option<u64>,
    },
    /// Regular file, locked so that no two controllers write it.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Size in bytes: a missing file is created with it, sparse; an existing one must have it.
        bytes: Option<u64>,
        /// Whether the file is opened for reading only; the namespace is then write protected.
        read_only: bool,
    },
}

impl StoreOptions {
    /// Returns the size in bytes, if one is given.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            StoreOptions::Ram { bytes } | StoreOptions::File { bytes, .. } => *bytes,
        }
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            StoreOptions::Ram { .. } => None,
            StoreOptions::File { path, .. } => Some(path),
        }
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions::Ram { bytes: None }
    }
}
