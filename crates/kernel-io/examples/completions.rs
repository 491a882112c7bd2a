//! The cost of each of the kernel's completion modes on a device, in counts per I/O.
//!
//!     completions /dev/nvme0n1 [IOS]
//!
//! Reads 4 KiB at queue depth 1, with every engine and mode, and prints the effective mode.

use joulio_engine::Request;
use joulio_job::{CompletionMode, EngineName};
use joulio_kernel_io::{
    Access, Calls, DirectFile, DirectFileError, Effective, Interrupts, IoUring, KernelEngine,
    KernelEngineError, Libaio, Psync, Release, RingOptions, expect, judge,
};
use joulio_units::{Nanos, Operation};
use joulio_wait::now;
use std::process::ExitCode;
use std::sync::Arc;

const BLOCK: u32 = 4096;
const RUNS: [(EngineName, CompletionMode); 11] = [
    (EngineName::Psync, CompletionMode::Interrupt),
    (EngineName::Psync, CompletionMode::Poll),
    (EngineName::Psync, CompletionMode::Hybrid),
    (
        EngineName::Psync,
        CompletionMode::HybridFixed(Nanos::from_micros(4)),
    ),
    (EngineName::Libaio, CompletionMode::Interrupt),
    (EngineName::IoUring, CompletionMode::Interrupt),
    (EngineName::IoUring, CompletionMode::Poll),
    (EngineName::IoUring, CompletionMode::Hybrid),
    (EngineName::IoUring, CompletionMode::SqPoll),
    (EngineName::IoUring, CompletionMode::SqPollPoll),
    (EngineName::Libaio, CompletionMode::Poll),
];

#[allow(dead_code, reason = "a test runs this file too, by `compare`")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(device) = arguments.next() else {
        eprintln!("usage: completions DEVICE [IOS]");
        return ExitCode::from(2);
    };
    let ios = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1000);
    match compare(&device, ios) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("completions: {error}");
            ExitCode::from(2)
        }
    }
}

/// Reads `ios` blocks of `device` with every engine and mode, and prints a line for each.
pub fn compare(device: &str, ios: u64) -> Result<(), DirectFileError> {
    let file = Arc::new(DirectFile::open(device, Access::Read)?);
    println!(
        "{device}: {:?}, {} bytes, blocks of {}, {:?}",
        file.kind(),
        file.size(),
        file.logical_block(),
        file.disk()
    );
    println!(
        "engine    mode          effective     interrupts  system calls  switches  blocks  polls"
    );
    for (engine, mode) in RUNS {
        match run(engine, mode, &file, ios) {
            Ok(line) => println!("{line}"),
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}

fn run(
    engine: EngineName,
    mode: CompletionMode,
    file: &Arc<DirectFile>,
    ios: u64,
) -> Result<String, KernelEngineError> {
    let queue = file.disk().map(|disk| disk.queue).unwrap_or_default();
    let expected = expect(engine, mode, Release::running(), &queue);
    let before = interrupts();
    let one = Arc::clone(file);
    let switched = switches("thread-self");
    let (calls, poller) = match engine {
        EngineName::Psync => read(Psync::new(one, 1, mode)?, file, ios)?,
        EngineName::Libaio => read(Libaio::new(one, 1, mode)?, file, ios)?,
        EngineName::IoUring => read(
            IoUring::new(one, 1, mode, RingOptions::default())?,
            file,
            ios,
        )?,
        _ => unreachable!("no engine of the kernel's"),
    };
    let switched = switches("thread-self").zip(switched);
    let switched = switched.map(|(after, before)| after - before + poller);
    let after = interrupts().zip(before);
    let came = after.and_then(|(after, before)| after.since(&before).of_disk(file.disk()?));
    let effective = if expected.is_requested() {
        judge(mode, ios, came)
    } else {
        expected
    };
    Ok(line(
        engine,
        mode,
        &effective,
        ios,
        [came, switched],
        &calls,
    ))
}

fn line(
    engine: EngineName,
    mode: CompletionMode,
    effective: &Effective,
    ios: u64,
    [interrupts, switches]: [Option<u64>; 2],
    calls: &Calls,
) -> String {
    let per_io = |n: u64| format!("{:.3}", n as f64 / ios as f64);
    let reason = effective.reason.map_or(String::new(), |r| format!("  {r}"));
    format!(
        "{:<9} {:<13} {:<13} {:>10}  {:>12}  {:>8}  {:>6}  {:>5}{reason}",
        engine.to_string(),
        mode.to_string(),
        effective.name,
        interrupts.map_or("-".into(), per_io),
        per_io(calls.system_calls),
        switches.map_or("-".into(), per_io),
        per_io(calls.waiting.blocks),
        per_io(calls.waiting.polls),
    )
}

fn interrupts() -> Option<Interrupts> {
    Interrupts::read("/").ok()
}

/// Returns how often a thread gave up its core to wait.
fn switches(thread: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

/// Reads `ios` blocks, one after the other. Returns the time that took, and how often the kernel's thread gave up
/// its core.
fn read(
    mut engine: impl KernelEngine,
    file: &DirectFile,
    ios: u64,
) -> Result<(Calls, u64), KernelEngineError> {
    let poller = engine.kernel_thread();
    let poller = || switches(&format!("self/task/{}", poller?));
    let before = poller();
    let blocks = (file.size() / u64::from(BLOCK)).max(1);
    let mut buffers = engine.buffers(0, 1, BLOCK as usize)?;
    for n in 0..ios {
        let Some(buffer) = buffers.pop() else { break };
        let request = Request {
            device: 0,
            operation: Operation::Read,
            offset: n * 7919 % blocks * u64::from(BLOCK),
            len: BLOCK,
            tag: n,
        };
        engine.prepare(request, buffer)?;
        engine.submit()?;
        let mut failure = None;
        engine.reap(1, now() + Nanos::from_millis(10_000), |done| {
            failure = done.outcome.err();
            buffers.push(done.buffer);
        })?;
        if let Some(failure) = failure {
            println!("I/O {n}: {failure}; no more are sent");
            break;
        }
    }
    let switched = poller().zip(before).map(|(after, before)| after - before);
    Ok((engine.calls(), switched.unwrap_or(0)))
}
