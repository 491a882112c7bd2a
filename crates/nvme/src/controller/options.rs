//! Options by which a controller is opened.

use crate::Cancel;
use joulio_nvme_spec::feature::Arbitration;
use joulio_units::Nanos;

/// Options of [`Controller::open`](crate::Controller::open).
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// Number of I/O queue pairs requested, at least 1; the controller may give fewer.
    pub queues: u16,
    /// Time limit of an admin command, after which the controller is reset.
    pub admin_timeout: Nanos,
    /// Time limit of an I/O command, after which it is aborted, and after as long again the
    /// controller reset. Time in which nobody waits for completions does not count.
    pub io_timeout: Nanos,
    /// Number of times that a failed command is sent again, where its status allows it or a reset
    /// ended it; 0: none.
    pub retries: u8,
    /// True if buffers of more than two pages are described by SGLs, where the controller has them.
    pub sgls: bool,
    /// Weights of the priority classes, where the controller has weighted round robin (CAP.AMS); `None`: round
    /// robin.
    pub arbitration: Option<Arbitration>,
    /// Largest host memory buffer that a controller without memory of its own is lent (feature 0Dh), in bytes; 0:
    /// none.
    pub host_memory_max: u64,
    /// Cancels waits for admin commands, resets and bring-up, within half a second each.
    pub cancel: Cancel,
}

impl Default for ControllerOptions {
    /// A queue pair for each CPU, as the kernel has it, and its time limits: 60 s and 30 s, as
    /// nvme_core.admin_timeout and nvme_core.io_timeout; its limit of 128 MiB of host memory
    /// (nvme.max_host_mem_size_mb). No retries.
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        ControllerOptions {
            queues: cpus.min(256) as u16,
            admin_timeout: Nanos::from_millis(60_000),
            io_timeout: Nanos::from_millis(30_000),
            retries: 0,
            sgls: true,
            arbitration: None,
            host_memory_max: 128 << 20,
            cancel: Cancel::default(),
        }
    }
}
