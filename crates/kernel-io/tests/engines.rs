//! Every engine on a file of the machine's own file system: written data is read back, an error ends the request to
//! which it belongs, and an engine that is dropped has ended its requests.

mod common;

use common::{BLOCK, BLOCKS, Claim, Scratch, of_every_engine, one, request, soon};
use joulio_job::{CompletionMode, EngineName};
use joulio_kernel_io::{
    Access, DirectFile, KernelEngine, KernelEngineError, KernelRequestError, NoOperation, Psync,
    check_operation,
};
use joulio_units::{Nanos, Operation};
use joulio_wait::now;
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::sync::Arc;

/// Returns the content of a block after a test has written it.
fn pattern(block: u64, salt: u8) -> Vec<u8> {
    let word = block.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(salt);
    word.to_le_bytes().repeat(BLOCK as usize / 8)
}

/// Submits a request for every block, as many at once as the depth, and checks that each ends once.
fn sweep(engine: &mut impl KernelEngine, operation: Operation, depth: usize, salt: u8, name: &str) {
    let mut buffers = engine.buffers(0, depth, BLOCK as usize).unwrap();
    let (mut next, mut ended) = (0, HashSet::new());
    while ended.len() < BLOCKS as usize {
        while next < BLOCKS {
            let Some(mut buffer) = buffers.pop() else {
                break;
            };
            // Not in order: 97 and 256 have no common factor.
            let block = next * 97 % BLOCKS;
            match operation {
                Operation::Write => buffer.copy_from_slice(&pattern(block, salt)),
                _ => buffer.fill(0xAA),
            }
            engine
                .prepare(request(operation, block, block), buffer)
                .unwrap();
            next += 1;
        }
        engine.submit().unwrap();
        let reaped = engine.reap(1, soon(), |done| {
            assert_eq!(done.outcome, Ok(()), "{name}");
            assert!(
                done.buffer[..] == pattern(done.tag, salt)[..],
                "{name}: block {}",
                done.tag
            );
            assert!(
                ended.insert(done.tag),
                "{name}: block {} ended twice",
                done.tag
            );
            buffers.push(done.buffer);
        });
        assert!(reaped.unwrap() > 0, "{name}: nothing ended in 30 s");
    }
    assert_eq!(buffers.len(), depth, "{name}");
}

struct WhatIsWrittenIsReadBack;

impl Claim for WhatIsWrittenIsReadBack {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        let salt = name.len() as u8 ^ depth as u8;
        sweep(&mut engine, Operation::Write, depth, salt, name);
        sweep(&mut engine, Operation::Read, depth, salt, name);
        let calls = engine.calls();
        assert_eq!(
            (calls.submitted, calls.completed),
            (2 * BLOCKS, 2 * BLOCKS),
            "{name}"
        );
        assert_eq!(calls.strange, 0, "{name}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let scratch = Scratch::new();
    of_every_engine(&scratch.open(Access::Write), &WhatIsWrittenIsReadBack);
}

struct NoReapDeliversMoreThanItsLimit;

impl Claim for NoReapDeliversMoreThanItsLimit {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        sweep(&mut engine, Operation::Write, depth, 5, name);
        for limit in [0, 1, 3, depth, usize::MAX] {
            engine.limit(limit);
            let buffers = engine.buffers(0, depth, BLOCK as usize).unwrap();
            for (block, mut buffer) in (0..).zip(buffers) {
                buffer.fill(0xAA);
                engine
                    .prepare(request(Operation::Read, block, block), buffer)
                    .unwrap();
            }
            engine.submit().unwrap();
            let mut ended = HashSet::new();
            while ended.len() < depth {
                let left = depth - ended.len();
                // A reap does not wait for more than it may deliver.
                let reaped = engine.reap(left, soon(), |done| {
                    assert_eq!(done.outcome, Ok(()), "{name}");
                    let right = done.buffer[..] == pattern(done.tag, 5)[..];
                    assert!(right, "{name}: block {}", done.tag);
                    assert!(ended.insert(done.tag), "{name}: {} twice", done.tag);
                });
                let wanted = left.min(limit.max(1));
                assert_eq!(reaped.unwrap(), wanted, "{name}, limit {limit}");
                assert_eq!(depth - ended.len(), left - wanted, "{name}");
            }
        }
        let calls = engine.calls();
        let all = 5 * depth as u64 + BLOCKS;
        assert_eq!((calls.completed, calls.strange), (all, 0), "{name}");
    }
}

#[test]
fn no_reap_delivers_more_than_its_limit() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Write);
    of_every_engine(&file, &NoReapDeliversMoreThanItsLimit);
}

/// Returns true for a completion mode in which the kernel polls, which it does only for reads and writes.
fn polls(engine: &mut impl KernelEngine) -> bool {
    ["poll", "hybrid", "sqpoll+poll"].contains(&engine.effective().as_str())
}

struct ATrimmedBlockIsZeroAndTheRestIsNot;

impl Claim for ATrimmedBlockIsZeroAndTheRestIsNot {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        if polls(&mut engine) {
            return;
        }
        sweep(&mut engine, Operation::Write, depth, 9, name);
        for tag in [Operation::Trim, Operation::Sync, Operation::DataSync] {
            let done = one(&mut engine, request(tag, 3, tag as u64));
            assert_eq!((done.tag, done.outcome), (tag as u64, Ok(())), "{name}");
            assert_eq!(done.buffer.len(), BLOCK as usize, "{name}");
        }
        for block in [2, 3, 4] {
            let done = one(&mut engine, request(Operation::Read, block, block));
            let wanted = match block {
                3 => vec![0; BLOCK as usize],
                block => pattern(block, 9),
            };
            assert!(done.buffer[..] == wanted[..], "{name}: block {block}");
        }
        // Longer than its buffer: no data is transferred.
        let buffer = engine.buffers(0, 1, 512).unwrap().pop().unwrap();
        let request = request(Operation::Trim, 4, 1);
        engine.prepare(request, buffer).unwrap();
        engine.submit().unwrap();
        let mut outcome = None;
        let ended = engine.reap(1, soon(), |done| outcome = Some(done.outcome));
        assert_eq!((ended.unwrap(), outcome), (1, Some(Ok(()))), "{name}");
        let calls = engine.calls();
        assert_eq!(calls.submitted, calls.completed, "{name}");
        assert_eq!(calls.strange, 0, "{name}");
    }
}

#[test]
fn a_trimmed_block_is_zero_and_the_rest_is_not() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Write);
    for engine in [EngineName::Psync, EngineName::Libaio, EngineName::IoUring] {
        for operation in Operation::ALL {
            assert_eq!(check_operation(engine, operation, &file, None), Ok(()));
        }
    }
    of_every_engine(&file, &ATrimmedBlockIsZeroAndTheRestIsNot);
}

struct ATrimOfWhatIsOnlyReadFails;

impl Claim for ATrimOfWhatIsOnlyReadFails {
    fn of(&self, mut engine: impl KernelEngine, name: &str, _: usize) {
        if polls(&mut engine) {
            return;
        }
        let done = one(&mut engine, request(Operation::Trim, 3, 9));
        let refused = KernelRequestError::Errno(Errno::BADF);
        assert_eq!((done.tag, done.outcome), (9, Err(refused)), "{name}");
    }
}

#[test]
fn a_trim_of_what_is_only_read_fails_and_changes_nothing() {
    let scratch = Scratch::new();
    std::fs::write(&scratch.path, vec![7; 1 << 20]).unwrap();
    let file = scratch.open(Access::Read);
    let refused = check_operation(EngineName::Psync, Operation::Trim, &file, None);
    assert_eq!(refused, Err(NoOperation::NoHoles(Errno::BADF)));
    of_every_engine(&file, &ATrimOfWhatIsOnlyReadFails);
    assert!(std::fs::read(&scratch.path).unwrap() == vec![7; 1 << 20]);
}

struct AReadBehindTheEndIsShort;

impl Claim for AReadBehindTheEndIsShort {
    fn of(&self, mut engine: impl KernelEngine, name: &str, _: usize) {
        let short = KernelRequestError::Short {
            moved: 0,
            requested: BLOCK,
        };
        let done = one(&mut engine, request(Operation::Read, BLOCKS - 1, 5));
        assert_eq!((done.tag, done.outcome), (5, Err(short)), "{name}");
        let done = one(&mut engine, request(Operation::Read, 0, 6));
        assert_eq!((done.tag, done.outcome), (6, Ok(())), "{name}");
    }
}

#[test]
fn a_read_behind_the_end_of_a_truncated_file_is_short() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Read);
    let written = File::options().write(true).open(&scratch.path).unwrap();
    written.set_len(u64::from(BLOCK)).unwrap();
    of_every_engine(&file, &AReadBehindTheEndIsShort);
}

struct AWriteToWhatIsOnlyReadFails;

impl Claim for AWriteToWhatIsOnlyReadFails {
    fn of(&self, mut engine: impl KernelEngine, name: &str, _: usize) {
        let done = one(&mut engine, request(Operation::Write, 3, 9));
        let refused = KernelRequestError::Errno(Errno::BADF);
        assert_eq!((done.tag, done.outcome), (9, Err(refused)), "{name}");
        assert_eq!(done.buffer.len(), BLOCK as usize);
        let done = one(&mut engine, request(Operation::Read, 3, 10));
        assert_eq!(done.outcome, Ok(()), "{name}");
    }
}

#[test]
fn a_write_to_what_is_only_read_fails_and_the_engine_goes_on() {
    let scratch = Scratch::new();
    of_every_engine(&scratch.open(Access::Read), &AWriteToWhatIsOnlyReadFails);
}

struct ThereIsRoomForTheDepth;

impl Claim for ThereIsRoomForTheDepth {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        let mut ended = 0;
        assert_eq!(engine.reap(0, Nanos::MAX, |_| ended += 1).unwrap(), 0);
        assert_eq!(engine.reap(1, now(), |_| ended += 1).unwrap(), 0);
        assert_eq!(engine.reap(1, Nanos::MAX, |_| ended += 1).unwrap(), 0);
        let mut buffers = engine.buffers(0, depth + 1, BLOCK as usize).unwrap();
        let extra = buffers.pop().unwrap();
        for (tag, buffer) in buffers.into_iter().enumerate() {
            let request = request(Operation::Read, 0, tag as u64);
            engine.prepare(request, buffer).unwrap();
        }
        let full = engine.prepare(request(Operation::Read, 0, 99), extra);
        assert!(
            matches!(full, Err(KernelEngineError::Full { .. })),
            "{name}"
        );
        engine.submit().unwrap();
        engine.submit().unwrap();
        let reaped = engine.reap(depth, soon(), |_| ended += 1).unwrap();
        assert_eq!((reaped, ended), (depth, depth), "{name}");
    }
}

#[test]
fn there_is_room_for_the_depth_and_not_for_more() {
    let scratch = Scratch::new();
    of_every_engine(&scratch.open(Access::Read), &ThereIsRoomForTheDepth);
}

struct ShortDeadlinesLoseNothing;

impl Claim for ShortDeadlinesLoseNothing {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        let mut tags = HashSet::new();
        for (tag, buffer) in (0..).zip(engine.buffers(0, depth, BLOCK as usize).unwrap()) {
            let request = request(Operation::Read, tag, tag);
            engine.prepare(request, buffer).unwrap();
        }
        engine.submit().unwrap();
        let end = soon();
        while tags.len() < depth {
            assert!(now() < end, "{name}: {} of {depth} in 30 s", tags.len());
            let reaped = engine.reap(depth, now() + Nanos::from_micros(50), |done| {
                assert_eq!(done.outcome, Ok(()), "{name}");
                assert!(tags.insert(done.tag), "{name}");
            });
            assert!(reaped.unwrap() <= depth, "{name}");
        }
        assert_eq!(engine.calls().completed, depth as u64, "{name}");
    }
}

#[test]
fn short_deadlines_lose_nothing() {
    let scratch = Scratch::new();
    of_every_engine(&scratch.open(Access::Read), &ShortDeadlinesLoseNothing);
}

struct ADroppedEngineHasEndedItsRequests<'a>(&'a Arc<DirectFile>);

impl Claim for ADroppedEngineHasEndedItsRequests<'_> {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        let salt = name.len() as u8 ^ depth as u8;
        let buffers = engine.buffers(0, depth, BLOCK as usize).unwrap();
        for (block, mut buffer) in (0..).zip(buffers) {
            buffer.copy_from_slice(&pattern(block, salt));
            engine
                .prepare(request(Operation::Write, block, block), buffer)
                .unwrap();
        }
        engine.submit().unwrap();
        drop(engine);
        let mut reader = Psync::new(Arc::clone(self.0), 1, CompletionMode::Interrupt).unwrap();
        for block in 0..depth as u64 {
            let done = one(&mut reader, request(Operation::Read, block, 0));
            assert!(
                done.buffer[..] == pattern(block, salt)[..],
                "{name}: block {block}"
            );
        }
    }
}

#[test]
fn a_dropped_engine_has_ended_its_requests() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Write);
    of_every_engine(&file, &ADroppedEngineHasEndedItsRequests(&file));
}

struct WhatWasNotSentIsNotDone<'a>(&'a Arc<DirectFile>);

impl Claim for WhatWasNotSentIsNotDone<'_> {
    fn of(&self, mut engine: impl KernelEngine, name: &str, _: usize) {
        let mut buffer = engine.buffers(0, 1, BLOCK as usize).unwrap().pop().unwrap();
        buffer.fill(0xFF);
        engine
            .prepare(request(Operation::Write, 7, 0), buffer)
            .unwrap();
        assert_eq!(engine.reap(0, Nanos::MAX, drop).unwrap(), 0, "{name}");
        drop(engine);
        let mut reader = Psync::new(Arc::clone(self.0), 1, CompletionMode::Interrupt).unwrap();
        let done = one(&mut reader, request(Operation::Read, 7, 0));
        assert!(done.buffer.iter().all(|&byte| byte == 0), "{name}");
    }
}

#[test]
fn what_was_prepared_and_not_sent_is_not_done() {
    let scratch = Scratch::new();
    let file = scratch.open(Access::Write);
    of_every_engine(&file, &WhatWasNotSentIsNotDone(&file));
}
