//! A scratch file, and engines on it.
#![allow(dead_code)]

use joulio_engine::Request;
use joulio_job::CompletionMode;
use joulio_kernel_io::{
    Access, DirectFile, IoUring, KernelCompletion, KernelEngine, KernelEngineError, Libaio,
    Missing, PolicyUring, Psync, RingOptions,
};
use joulio_units::{Nanos, Operation};
use joulio_wait::{AnyPolicy, Policy, now};
use std::path::PathBuf;
use std::sync::Arc;

pub const BLOCK: u32 = 4096;
pub const BLOCKS: u64 = 256;

/// A file of [`BLOCKS`] blocks, on the file system of the build.
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

    pub fn open(&self, access: Access) -> Arc<DirectFile> {
        Arc::new(DirectFile::open(&self.path, access).unwrap())
    }
}

pub fn request(operation: Operation, block: u64, tag: u64) -> Request {
    Request {
        device: 0,
        operation,
        offset: block * u64::from(BLOCK),
        len: BLOCK,
        tag,
    }
}

pub fn soon() -> Nanos {
    now() + Nanos::from_millis(30_000)
}

/// Returns every completion mode that io_uring supports here, with the options that change its calls.
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

/// Returns a ring, or `None` if the machine does not support it: in a sandbox, on an old kernel, or on a device
/// without poll queues.
pub fn ring(
    file: &Arc<DirectFile>,
    depth: usize,
    mode: CompletionMode,
    options: RingOptions,
) -> Option<IoUring> {
    match IoUring::new(Arc::clone(file), depth, mode, options) {
        Ok(ring) => Some(ring),
        Err(KernelEngineError::Missing { missing, .. }) => {
            assert!(mode != CompletionMode::Interrupt || missing != Missing::NoPollQueues);
            eprintln!("not here: {mode}: {missing}");
            None
        }
        Err(error) => panic!("{mode}: {error}"),
    }
}

/// A claim that every engine must fulfil.
pub trait Claim {
    fn of(&self, engine: impl KernelEngine, name: &str, depth: usize);
}

/// Returns a ring with every policy whose steps it supports; none if the machine has no such ring.
pub fn policy_rings(file: &Arc<DirectFile>, depth: usize) -> Vec<(String, PolicyUring)> {
    let plain = RingOptions::default();
    let fixed = RingOptions {
        fixed_buffers: true,
        registered_file: true,
        ..plain
    };
    let mut rings = Vec::new();
    for options in [plain, fixed] {
        for policy in AnyPolicy::all() {
            let name = policy.name().into_owned();
            match PolicyUring::new(Arc::clone(file), depth, policy, options) {
                Ok(ring) => rings.push((format!("io_uring by {name} {options:?}"), ring)),
                Err(KernelEngineError::Policy { policy }) => assert_eq!(policy, name),
                Err(KernelEngineError::Missing { missing, .. }) => {
                    assert!(missing != Missing::NoPollQueues);
                    eprintln!("not here: {name}: {missing}");
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
    rings
}

/// Tests the claim on psync at depth 1, and on the others at depths 1 and 32.
pub fn of_every_engine(file: &Arc<DirectFile>, claim: &impl Claim) {
    let psync = Psync::new(Arc::clone(file), 1, CompletionMode::Interrupt).unwrap();
    claim.of(psync, "psync", 1);
    for depth in [1, 32] {
        let libaio = Libaio::new(Arc::clone(file), depth, CompletionMode::Interrupt).unwrap();
        claim.of(libaio, "libaio", depth);
        for (mode, options) in rings() {
            if let Some(ring) = ring(file, depth, mode, options) {
                claim.of(ring, &format!("io_uring {mode} {options:?}"), depth);
            }
        }
        for (name, ring) in policy_rings(file, depth) {
            claim.of(ring, &name, depth);
        }
    }
}

/// Tests the claim on psync at depth 1, and on the others at depths 1 and 32, in every completion mode that an
/// engine has here.
pub fn of_every_engine_and_mode(file: &Arc<DirectFile>, claim: &impl Claim) {
    for mode in CompletionMode::ALL {
        let psync = Psync::new(Arc::clone(file), 1, mode);
        if let Some(psync) = here("psync", mode, psync) {
            claim.of(psync, &format!("psync {mode}"), 1);
        }
        for depth in [1, 32] {
            let libaio = Libaio::new(Arc::clone(file), depth, mode);
            if let Some(libaio) = here("libaio", mode, libaio) {
                claim.of(libaio, &format!("libaio {mode}"), depth);
            }
            let options = RingOptions::default();
            let ring = IoUring::new(Arc::clone(file), depth, mode, options);
            if let Some(ring) = here("io_uring", mode, ring) {
                claim.of(ring, &format!("io_uring {mode}"), depth);
            }
        }
    }
    for depth in [1, 32] {
        for (name, ring) in policy_rings(file, depth) {
            claim.of(ring, &name, depth);
        }
    }
}

/// Returns an engine, or `None` if it lacks the mode, or the machine lacks what the mode needs.
fn here<E>(engine: &str, mode: CompletionMode, made: Result<E, KernelEngineError>) -> Option<E> {
    match made {
        Ok(engine) => Some(engine),
        Err(KernelEngineError::Missing { missing, .. }) => {
            if !matches!(missing, Missing::NotThisEngine(_)) {
                eprintln!("not here: {engine} {mode}: {missing}");
            }
            None
        }
        Err(error) => panic!("{engine} {mode}: {error}"),
    }
}

/// Executes one request from submission to completion.
pub fn one(engine: &mut impl KernelEngine, request: Request) -> KernelCompletion {
    let buffer = engine.buffers(0, 1, BLOCK as usize).unwrap().pop().unwrap();
    engine.prepare(request, buffer).unwrap();
    engine.submit().unwrap();
    let mut ended = Vec::new();
    let delivered = engine.reap(1, soon(), |done| ended.push(done)).unwrap();
    assert_eq!((delivered, ended.len()), (1, 1));
    ended.remove(0)
}
