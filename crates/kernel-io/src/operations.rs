//! Operations, other than reads and writes, that an engine can do on a file.

use crate::{DirectFile, FileKind, Release};
use joulio_job::EngineName;
use joulio_units::Operation;
use rustix::io::Errno;

/// First release whose io_uring can discard on block devices (50c52250e2d7).
const RING_DISCARDS: Release = Release::new(6, 12);
/// First release whose io_submit(2) supports flushes, according to its manual page.
const AIO_FLUSHES: Release = Release::new(4, 18);

/// Reason why an engine cannot do an operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoOperation {
    /// The block device does not support discards.
    #[error("the device takes no discards: its queue/discard_max_bytes is 0")]
    NoDiscards,
    /// The file system does not support holes.
    #[error("no holes can be made in a file here (fallocate, FALLOC_FL_PUNCH_HOLE): {0}")]
    NoHoles(Errno),
    /// The kernel's io_uring cannot discard on block devices yet.
    #[error(
        "io_uring discards on block devices since Linux {RING_DISCARDS}, this is {0}: --engine psync does by BLKDISCARD"
    )]
    RingTooOld(Release),
    /// The NVMe commands that are sent do not include trims.
    #[error("it sends reads, writes and flushes: --engine io_uring trims")]
    NotACommand,
    /// The kernel's asynchronous I/O does not support flushes yet.
    #[error(
        "io_submit flushes since Linux {AIO_FLUSHES}, this is {0}: --engine psync does by fsync"
    )]
    AioTooOld(Release),
}

/// Checks that `engine` can do `operation` on `file`, which is open for writing, with a kernel of `release`. An
/// unknown value (`None`) is taken to allow it: the run will show.
///
/// # Errors
/// [`NoOperation`], with the reason.
pub fn check_operation(
    engine: EngineName,
    operation: Operation,
    file: &DirectFile,
    release: Option<Release>,
) -> Result<(), NoOperation> {
    match (engine, operation, file.kind()) {
        (EngineName::IoUringCmd, Operation::Trim, _) => Err(NoOperation::NotACommand),
        (_, Operation::Trim, FileKind::Regular) => file.takes_holes().map_err(NoOperation::NoHoles),
        (_, Operation::Trim, FileKind::Block) => {
            let max = file.disk().and_then(|disk| disk.queue.max_discard);
            if max == Some(0) {
                return Err(NoOperation::NoDiscards);
            }
            match release {
                Some(is) if engine == EngineName::IoUring && is < RING_DISCARDS => {
                    Err(NoOperation::RingTooOld(is))
                }
                _ => Ok(()),
            }
        }
        (EngineName::Libaio, Operation::Sync | Operation::DataSync, _) => match release {
            Some(is) if is < AIO_FLUSHES => Err(NoOperation::AioTooOld(is)),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
