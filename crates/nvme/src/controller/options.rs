//! Options for opening a controller.

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
    /// Time limit of an I/O command. After it the command is aborted, and after as long again the controller is
    /// reset. Time in which no thread waits for completions does not count.
    pub io_timeout: Nanos,
    /// Number of times that a failed command is sent again, where its status allows it or a reset
    /// ended it; 0: none.
    pub retries: u8,
    /// True if buffers of more than two pages are described by SGLs, where the controller has them.
    pub sgls: bool,
    /// Weights of the priority classes, where the controller has weighted round robin (CAP.AMS); `None`: round
    /// robin.
    pub arbitration: Option<Arbitration>,
    /// Largest host memory buffer in bytes that is lent to a controller without memory of its own (feature 0Dh); 0:
    /// none.
    pub host_memory_max: u64,
    /// Cancels waits for admin commands, resets and bring-up; each ends within half a second.
    pub cancel: Cancel,
}

impl Default for ControllerOptions {
    /// The kernel's defaults: a queue pair for each CPU; the time limits of nvme_core.admin_timeout and
    /// nvme_core.io_timeout, 60 s and 30 s; at most 128 MiB of host memory (nvme.max_host_mem_size_mb). No retries.
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
