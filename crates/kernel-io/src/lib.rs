//! The kernel's own view of block devices: counters of /proc and /sys; and its own ways to read
//! and write them, as engines: [`Psync`], [`Libaio`], [`IoUring`].
//!
//! Unsafe code is in three modules: [`Buffer`]'s memory, the ring of io_uring, the system calls of
//! libaio.
#![deny(unsafe_code)]

mod aio;
mod buffer;
mod cpuidle;
mod cputimes;
mod disk;
mod diskstats;
mod engine;
mod error;
mod interrupts;
mod interval;
pub mod knobs;
mod loops;
pub mod machine;
mod obtained;
mod psync;
mod release;
mod slots;
mod stack;
mod target;
mod uring;
mod way;

pub use aio::Libaio;
pub use buffer::Buffer;
pub use cpuidle::{CpuIdle, IdleState, IdleUse, NoCpuIdle};
pub use cputimes::{CpuTimes, CpuUse, NoCpuTimes, TICK};
pub use disk::{Blocks, Disk, Queue};
pub use diskstats::{DiskStats, Disks, StatsError};
pub use engine::{Calls, Completion, Failure, KernelEngine};
pub use error::{EngineError, Missing, TargetError};
pub use interrupts::{InterruptLine, Interrupts};
pub use interval::Interval;
pub use knobs::{Knob, KnobError, Knobs};
pub use machine::Machine;
pub use obtained::{Obtained, Unobtained, expect, judge};
pub use psync::Psync;
pub use release::Release;
pub use target::{Access, Kind, Target};
pub use uring::{IoUring, RingOptions};
pub use way::{Path, Way};
