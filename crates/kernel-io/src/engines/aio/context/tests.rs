//! Tests with a context that is full: the kernel has no resources for another request (EAGAIN).

use super::*;
use crate::engines::aio::Libaio;
use crate::{Access, KernelEngine};
use joulio_engine::Engine;
use joulio_job::CompletionMode;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::Write;
use std::os::unix::net::UnixStream;

// include/uapi/linux/aio_abi.h
const POLL: u16 = 5;

/// Requests without a user that fill a context, until `writer` is written to.
struct Filling {
    id: libc::c_ulong,
    count: usize,
    _reader: UnixStream,
    writer: UnixStream,
}

impl Filling {
    /// Fills the context of `engine`; `None` if the kernel does not support such requests.
    fn of(engine: &Libaio) -> Option<Filling> {
        let (reader, writer) = UnixStream::pair().unwrap();
        let id = engine.context.id;
        let mut count = 0;
        loop {
            let mut block = ControlBlock {
                data: u64::MAX,
                opcode: POLL,
                fd: reader.as_raw_fd() as u32,
                address: libc::POLLIN as u64,
                ..ControlBlock::default()
            };
            let mut pointer = &raw mut block;
            // SAFETY: one pointer to a control block, which has no buffer; its file is open.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, id, 1, &raw mut pointer) };
            match result(taken) {
                Ok(_) => count += 1,
                Err(Errno::AGAIN) => break,
                Err(Errno::INVAL) => return None,
                Err(errno) => panic!("{errno}"),
            }
        }
        assert!(count > 0);
        Some(Filling {
            id,
            count,
            _reader: reader,
            writer,
        })
    }

    /// Ends the requests and reads their events.
    fn empty(mut self) {
        self.writer.write_all(&[0]).unwrap();
        let mut events = vec![Event::default(); self.count];
        let (count, room) = (self.count, events.as_mut_ptr());
        let no_limit = ptr::null::<libc::timespec>();
        // SAFETY: `events` has room for `count` events.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.id,
                count,
                count,
                room,
                no_limit,
            )
        };
        assert_eq!(result(taken), Ok(count));
    }
}

/// Returns an engine on a file beside this program, and binds the thread to one CPU, since each CPU has a part of a
/// context's space of its own.
fn engine(depth: usize) -> Libaio {
    let allowed = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu));
    let mut one = CpuSet::new();
    one.set(first.unwrap());
    sched_setaffinity(None, &one).unwrap();
    let program = std::env::current_exe().unwrap();
    let mut file = tempfile::NamedTempFile::new_in(program.parent().unwrap()).unwrap();
    file.write_all(&[7; 65536]).unwrap();
    let file = Arc::new(DirectFile::open(file.path(), Access::Read).unwrap());
    Libaio::new(file, depth, CompletionMode::Interrupt).unwrap()
}

fn submit_read(engine: &mut Libaio, tag: u64) {
    let buffer = engine.buffers(0, 1, 4096).unwrap().remove(0);
    let request = Request {
        device: 0,
        operation: Operation::Read,
        offset: tag * 4096,
        len: 4096,
        tag,
    };
    engine.prepare(request, buffer).unwrap();
    engine.submit().unwrap();
}

/// Returns the tags of up to `min` reads that complete; none may fail.
fn reaped(engine: &mut Libaio, min: usize, deadline: Nanos) -> Vec<u64> {
    let mut tags = Vec::new();
    let count = engine.reap(min, deadline, |one| {
        one.outcome.unwrap();
        tags.push(one.tag);
    });
    assert_eq!(count.unwrap(), tags.len());
    tags
}

#[test]
fn a_request_without_resources_goes_out_when_there_are_some() {
    let mut engine = engine(1);
    let Some(filling) = Filling::of(&engine) else {
        eprintln!("skipped: this kernel has no IOCB_CMD_POLL");
        return;
    };
    submit_read(&mut engine, 0);
    // One retry each, since the deadline has passed.
    for min in [1, 0] {
        assert_eq!(reaped(&mut engine, min, Nanos(1)), [0; 0]);
    }
    let calls = engine.calls();
    assert_eq!(
        (calls.submits, calls.submitted, calls.system_calls),
        (1, 1, 3)
    );
    // Another call does not submit it twice either.
    engine.submit().unwrap();
    filling.empty();
    assert_eq!(reaped(&mut engine, 1, Nanos::MAX), [0]);
    let calls = engine.calls();
    assert_eq!((calls.submits, calls.submitted, calls.completed), (1, 1, 1));
}

#[test]
fn with_others_in_flight_it_goes_out_when_one_of_them_has_ended() {
    let mut engine = engine(2);
    submit_read(&mut engine, 0);
    let Some(_filling) = Filling::of(&engine) else {
        eprintln!("skipped: this kernel has no IOCB_CMD_POLL");
        return;
    };
    submit_read(&mut engine, 1);
    assert_eq!(reaped(&mut engine, 2, Nanos::MAX), [0, 1]);
    let calls = engine.calls();
    assert_eq!((calls.submits, calls.submitted, calls.completed), (2, 2, 2));
}
