//! A scratch file, and engines on it.
#![allow(dead_code)]

use joulio_engine::Request;
use joulio_job::CompletionMode;
use joulio_kernel_io::{
    Access, Completion, IoUring, KernelEngine, KernelEngineError, Libaio, Missing, Psync,
    RingOptions, Target,
};
use joulio_units::{Direction, Nanos};
use joulio_wait::now;
use std::path::PathBuf;
use std::sync::Arc;

pub const BLOCK: u32 = 4096;
pub const BLOCKS: u64 = 256;

/// A file of [`BLOCKS`] blocks, on the file system that holds the build.
pub struct Scratch {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl Scratch {
    pub fn new() -> Scratch {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = folder.path().join("scratch");
        std::fs::write(&path, vec![0; (BLOCKS * u64::from(BLOCK)) as usize]).unwrap();
        Scratch {
            _folder: folder,
            path,
        }
    }

    pub fn open(&self, access: Access) -> Arc<Target> {
        Arc::new(Target::open(&self.path, access).unwrap())
    }
}

pub fn request(direction: Direction, block: u64, tag: u64) -> Request {
    Request {
        direction,
        offset: block * u64::from(BLOCK),
        len: BLOCK,
        tag,
    }
}

pub fn soon() -> Nanos {
    now() + Nanos::from_millis(30_000)
}

/// Every completion mode that io_uring has here, with the options that change its calls.
pub fn rings() -> Vec<(CompletionMode, RingOptions)> {
    let plain = RingOptions::default();
    let fixed = RingOptions {
        fixed_buffers: true,
        registered_file: true,
        ..plain
    };
    let asleep_soon = RingOptions {
        poller_idle_ms: 1,
        poller_cpu: Some(0),
        ..plain
    };
    vec![
        (CompletionMode::Interrupt, plain),
        (CompletionMode::Interrupt, fixed),
        (CompletionMode::SqPoll, asleep_soon),
        (CompletionMode::SqPoll, fixed),
        (CompletionMode::Poll, plain),
        (CompletionMode::Poll, fixed),
        (CompletionMode::Hybrid, plain),
        (CompletionMode::SqPollPoll, plain),
    ]
}

/// A ring, or none where the machine has no such thing: a sandbox, an old kernel, a device without
/// queues to poll.
pub fn ring(
    target: &Arc<Target>,
    depth: usize,
    mode: CompletionMode,
    options: RingOptions,
) -> Option<IoUring> {
    match IoUring::new(Arc::clone(target), depth, mode, options) {
        Ok(ring) => Some(ring),
        Err(KernelEngineError::Missing { missing, .. }) => {
            assert!(mode != CompletionMode::Interrupt || missing != Missing::NoPollQueues);
            eprintln!("not here: {mode}: {missing}");
            None
        }
        Err(error) => panic!("{mode}: {error}"),
    }
}

/// What is to be claimed of every engine.
pub trait Claim {
    fn of(&self, engine: impl KernelEngine, name: &str, depth: usize);
}

/// Claims it of psync at depth 1, and of the others at depths 1 and 32.
pub fn of_every_engine(target: &Arc<Target>, claim: &impl Claim) {
    let psync = Psync::new(Arc::clone(target), 1, CompletionMode::Interrupt).unwrap();
    claim.of(psync, "psync", 1);
    for depth in [1, 32] {
        let libaio = Libaio::new(Arc::clone(target), depth, CompletionMode::Interrupt).unwrap();
        claim.of(libaio, "libaio", depth);
        for (mode, options) in rings() {
            if let Some(ring) = ring(target, depth, mode, options) {
                claim.of(ring, &format!("io_uring {mode} {options:?}"), depth);
            }
        }
    }
}

/// One request from beginning to end.
pub fn one(engine: &mut impl KernelEngine, request: Request) -> Completion {
    let buffer = engine.buffers(1, BLOCK as usize).unwrap().pop().unwrap();
    engine.prepare(request, buffer).unwrap();
    engine.submit().unwrap();
    let mut ended = Vec::new();
    let delivered = engine.reap(1, soon(), |done| ended.push(done)).unwrap();
    assert_eq!((delivered, ended.len()), (1, 1));
    ended.remove(0)
}
