//! What an I/O through the kernel must not do, with every engine in every completion mode that this machine has:
//! allocate, or make a system call that the engine does not count.
//!
//! To see the system calls the test runs itself under `strace`, with a file for each thread. The file of the
//! engines' thread contains marks, which are writes to /dev/null.

mod common;

use allocation_counter::measure;
use common::{BLOCK, BLOCKS, Claim, Scratch, of_every_engine_and_mode, request, soon};
use joulio_kernel_io::{Access, AlignedBuffer, KernelEngine, Release};
use joulio_units::Operation;
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Number of rounds, in each of which every buffer is read into once.
const ROUNDS: u64 = 20;

/// Reads into each of `buffers`, all at once, and waits for all completions.
fn round(engine: &mut impl KernelEngine, round: u64, buffers: &mut Vec<AlignedBuffer>) {
    let (all, deadline) = (buffers.len(), soon());
    while let Some(buffer) = buffers.pop() {
        let block = (round * 32 + buffers.len() as u64) % BLOCKS;
        engine
            .prepare(request(Operation::Read, block, block), buffer)
            .unwrap();
    }
    engine.submit().unwrap();
    while buffers.len() < all {
        let reaped = engine.reap(1, deadline, |done| {
            assert_eq!(done.outcome, Ok(()));
            buffers.push(done.buffer);
        });
        assert!(reaped.unwrap() > 0, "nothing ended in 30 s");
    }
}

struct NothingIsAllocated;

impl Claim for NothingIsAllocated {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        let mut buffers = engine.buffers(0, depth, BLOCK as usize).unwrap();
        let done = measure(|| {
            for number in 0..ROUNDS {
                round(&mut engine, number, &mut buffers);
            }
        });
        // Nothing was allocated or freed.
        let counts = (done.count_total, done.count_current);
        assert_eq!(counts, (0, 0), "{name} at depth {depth}");
    }
}

#[test]
fn no_engine_allocates_for_an_io() {
    let scratch = Scratch::new();
    of_every_engine_and_mode(&scratch.open(Access::Read), &NothingIsAllocated);
}

/// Variable that is set while the test runs under `strace`.
const TRACED: &str = "JOULIO_TEST_IS_TRACED";
const BEGIN: &str = "the counted I/Os begin";
const END: &str = "the counted I/Os end: ";

/// Writes marks around the I/Os, with the engine's own count.
struct Marked(RefCell<File>);

impl Marked {
    fn mark(&self, text: &str) {
        self.0.borrow_mut().write_all(text.as_bytes()).unwrap();
    }
}

impl Claim for Marked {
    fn of(&self, mut engine: impl KernelEngine, name: &str, depth: usize) {
        let mut buffers = engine.buffers(0, depth, BLOCK as usize).unwrap();
        // The first submission enables the ring of io_uring, and registers its descriptor.
        round(&mut engine, 0, &mut buffers);
        let before = engine.calls().system_calls;
        self.mark(BEGIN);
        for number in 0..ROUNDS {
            round(&mut engine, number, &mut buffers);
        }
        let count = engine.calls().system_calls - before;
        self.mark(&format!("{END}{count} by {name} at depth {depth}"));
    }
}

#[test]
fn every_system_call_of_an_io_is_one_that_its_engine_counts() {
    let scratch = Scratch::new();
    if std::env::var_os(TRACED).is_some() {
        let nowhere = File::options().write(true).open("/dev/null").unwrap();
        let file = scratch.open(Access::Read);
        return of_every_engine_and_mode(&file, &Marked(RefCell::new(nowhere)));
    }
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new("strace")
        .args(["-ff", "-qq", "-s", "200", "-o"])
        .arg(folder.path().join("thread"))
        .arg(std::env::current_exe().unwrap())
        .arg("every_system_call_of_an_io_is_one_that_its_engine_counts")
        .args(["--exact", "--quiet"])
        .env(TRACED, "1")
        .status()
        .expect("strace, which counts the system calls: install it");
    assert!(status.success(), "under strace: {status}");
    let mut counted = Vec::new();
    let mut calls: Option<Vec<&str>> = None;
    let text = engines_thread(folder.path());
    let registered = text.lines().any(registers_ring);
    for line in text.lines() {
        if line.contains(BEGIN) {
            calls = Some(Vec::new());
        } else if let Some((_, said)) = line.split_once(END) {
            let said = said.split('"').next().unwrap();
            let (count, of) = said.split_once(" by ").unwrap();
            let calls = calls.take().unwrap();
            println!("{count} by {of}");
            assert_eq!(calls.len().to_string(), count, "{of}: {calls:#?}");
            counted.push(of.to_owned());
        } else if let Some(calls) = &mut calls {
            // Two kinds of calls are not the engine's: reads of a clock that the vDSO cannot read, as on some
            // virtual machines, and in a debug build the standard library's check of a file that it closes.
            let checked = line.starts_with("fcntl(") && line.contains("F_GETFD");
            // A call that the kernel restarts by itself is one call, and its second line counts.
            let again = line.contains("ERESTART");
            if !line.starts_with("clock_gettime(") && !checked && !again {
                calls.push(line);
            }
            let enters = line.starts_with("io_uring_enter(");
            assert!(!enters || enters_by_number(line) == registered, "{line}");
        }
    }
    let rings = counted.iter().any(|of| of.starts_with("io_uring "));
    let has_table = Release::running() >= Some(Release::new(5, 18));
    assert_eq!(registered, rings && has_table, "{counted:?}");
    for engine in ["psync interrupt", "libaio interrupt"] {
        assert!(
            counted.iter().any(|of| of.starts_with(engine)),
            "{counted:?}"
        );
    }
}

/// Returns true for the call that registered a ring's descriptor; a strace that does not know it writes its number.
fn registers_ring(line: &str) -> bool {
    let operation = ["IORING_REGISTER_RING_FDS", "0x14"];
    line.starts_with("io_uring_register(")
        && operation.iter().any(|name| line.contains(name))
        && line.ends_with("= 1")
}

/// Returns true for a call by the number of a registered ring.
fn enters_by_number(line: &str) -> bool {
    line.contains("IORING_ENTER_REGISTERED_RING") || line.contains("0x10")
}

/// Returns the system calls of the thread that made the marks.
fn engines_thread(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap();
    let mut texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let engines = texts.find(|text| text.contains(BEGIN));
    engines.expect("a thread that counted")
}
