//! Block devices through the kernel: their counters in /proc and /sys, and the engines that read and write them:
//! [`Psync`], [`Libaio`], [`IoUring`] on block devices and files, and [`NvmeCommands`] on NVMe namespaces.
//!
//! Unsafe code is in six modules: the memory of [`AlignedBuffer`], the ring of io_uring, its set-up, the system
//! calls of libaio, the status of loop devices, and the discard of block devices.
//!
//! ```
//! use joulio_job::{CompletionMode, EngineName};
//! use joulio_kernel_io::{Queue, Release, expect};
//!
//! // Every kernel accepts a synchronous call that requests polling, but only those up to Linux 5.18 poll.
//! let (psync, poll) = (EngineName::Psync, CompletionMode::Poll);
//! let queue = Queue { io_poll: Some(true), ..Queue::default() };
//! assert!(expect(psync, poll, Some(Release::new(5, 10)), &queue).is_requested());
//! let effective = expect(psync, poll, Some(Release::new(6, 18)), &queue);
//! assert_eq!(effective.name, "interrupt");
//! println!("{}", effective.reason.expect("it is not the requested mode"));
//! ```
#![warn(clippy::missing_errors_doc)]
#![deny(unsafe_code)]

mod buffer;
mod cpuidle;
mod cputimes;
mod direct_file;
mod disk;
mod diskstats;
mod effective;
mod engines;
mod error;
mod interrupts;
mod interval;
mod lock_holder;
mod loops;
mod namespace_name;
mod operations;
mod release;
mod slots;
mod stack;
mod throttle;
mod trim;

pub use buffer::AlignedBuffer;
pub use cpuidle::{CpuIdle, IdleStateCounters, IdleUse, NoCpuIdle};
pub use cputimes::{CpuTimes, CpuUse, NoCpuTimes, TICK};
pub use direct_file::{Access, DirectFile, FileKind};
pub use disk::{Blocks, Disk, Queue};
pub use diskstats::{DiskStats, Disks, StatsError};
pub use effective::{Effective, Unavailable, expect, judge};
pub use engines::*;
pub use error::{DirectFileError, KernelEngineError, Missing, NoPassthrough};
pub use interrupts::{InterruptLine, Interrupts};
pub use interval::DiskUse;
pub use lock_holder::LockHolder;
pub use namespace_name::{block_device_of, character_device_of};
pub use operations::{NoOperation, check_operation};
pub use release::Release;
pub use throttle::{NoThrottles, Throttled, Throttles};
