//! The kernel's engines, and their only table: a new engine needs a name in `joulio-job`, a file beside this one,
//! and an entry in [`ENGINES`] and [`open`].

mod aio;
mod common;
mod psync;
mod uring;

pub use aio::Libaio;
pub use common::{Calls, KernelCompletion, KernelEngine, KernelRequestError};
pub use psync::Psync;
pub use uring::{FileRequests, IoUring, NvmeCommands, PolicyUring, RingOptions};

use crate::{DirectFile, KernelEngineError, Missing};
use joulio_job::{CompletionMode, EngineName, Method};
use joulio_wait::{AnyPolicy, StepSet};
use std::sync::Arc;

/// Largest queue depth of the asynchronous engines: that of io_uring (IORING_MAX_ENTRIES).
const MAX_DEPTH: usize = 32768;

/// The kernel's engines, each with the largest queue depth of a job.
pub const ENGINES: [(EngineName, usize); 4] = [
    (EngineName::Psync, 1),
    (EngineName::Libaio, MAX_DEPTH),
    (EngineName::IoUring, MAX_DEPTH),
    (EngineName::IoUringCmd, MAX_DEPTH),
];

/// User of an engine whose type is known only when it is opened.
pub trait EngineUser {
    /// Result of the use.
    type Output;

    /// Returns the policy for a thread that waits with `mode` and can take `steps`; `None`: only the kernel waits
    /// in that mode.
    fn policy(&self, mode: CompletionMode, steps: StepSet) -> Option<AnyPolicy>;

    /// Uses the engine, or the error if it is unavailable.
    fn run<E: KernelEngine>(self, engine: Result<E, KernelEngineError>) -> Self::Output;
}

/// Opens the engine of `method` on `file`, with a queue of `depth`, for `user`; `ring` has the options of io_uring.
pub fn open<U: EngineUser>(
    method: Method,
    file: Arc<DirectFile>,
    depth: usize,
    ring: RingOptions,
    user: U,
) -> U::Output {
    let Method { engine, mode } = method;
    match engine {
        EngineName::Psync => user.run(Psync::new(file, depth, mode)),
        EngineName::Libaio => user.run(Libaio::new(file, depth, mode)),
        EngineName::IoUring => match user.policy(mode, PolicyUring::steps()) {
            Some(policy) if mode == CompletionMode::Adaptive => {
                user.run(PolicyUring::new(file, depth, policy, ring))
            }
            _ => user.run(IoUring::new(file, depth, mode, ring)),
        },
        EngineName::IoUringCmd => match user.policy(mode, PolicyUring::steps()) {
            Some(policy) if mode == CompletionMode::Adaptive => {
                user.run(PolicyUring::passthrough(file, depth, policy, ring))
            }
            _ => user.run(IoUring::passthrough(file, depth, mode, ring)),
        },
        EngineName::Nvme
        | EngineName::Fio
        | EngineName::FioPosixAio
        | EngineName::SpdkNvmePerf
        | EngineName::DbBench
        | EngineName::DbBenchJoulio => user.run::<Psync>(Err(KernelEngineError::Missing {
            engine,
            mode,
            missing: Missing::NotTheKernels,
        })),
    }
}
