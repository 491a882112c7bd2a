//! The side of the process that runs the whole: one thread a job listens, another passes orders on.

use super::wire::{Ending, Line, Order, Part, hear, say};
use super::{COMMAND, ProcessError};
use crate::Stop;
use crate::looped::{Go, Worker, WorkerError};
use crate::method::Method;
use crate::target::Elsewhere;
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often to look up whether the run is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the job of `worker` in a process of its own, which opens `target` itself.
pub(crate) fn relay(
    worker: Worker<'_>,
    method: Method,
    target: Elsewhere,
) -> Result<(), WorkerError> {
    let job = worker.index;
    let failed = |source| ProcessError::Start { job, source };
    let mut child = start().map_err(failed)?;
    let part = Part {
        job: worker.job.clone(),
        index: job,
        bs: worker.bs,
        share: worker.share.clone(),
        method,
        target,
    };
    let ending = converse(&mut child, &part, worker);
    if ending.is_err() {
        // It has ended, or nothing that it says would be believed.
        let _ = child.kill();
    }
    let pid = child.id();
    let status = child.wait().map_err(failed)?;
    let reason = |error: io::Error| match error.kind() {
        ErrorKind::InvalidData => ProcessError::Garbled {
            job,
            pid,
            reason: error.to_string(),
        },
        _ => failed(error),
    };
    match ending.map_err(reason)? {
        Some(Ending::Done) => Ok(()),
        Some(Ending::NotStarted) => Err(WorkerError::NotStarted),
        Some(Ending::Failed(reason)) => Err(ProcessError::Failed(reason).into()),
        None => Err(ProcessError::Ended { job, pid, status }.into()),
    }
}

/// This program once more. It is in a process group of its own: Ctrl-C at a terminal is for the
/// process that runs the whole, which then ends the jobs together.
fn start() -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0("joulio")
        .arg(COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Hands the job over and passes messages both ways, until the process has said its last; None: it
/// ended without.
fn converse(child: &mut Child, part: &Part, worker: Worker<'_>) -> io::Result<Option<Ending>> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Ok(None);
    };
    if say(&mut input, part).is_err() {
        return Ok(None);
    }
    let over = AtomicBool::new(false);
    let Worker {
        go,
        stop,
        messages,
        progress,
        ..
    } = worker;
    let over = &over;
    thread::scope(|scope| {
        let orders = thread::Builder::new().name("joulio-orders".into());
        orders.spawn_scoped(scope, move || pass_on(&go, stop, over, input))?;
        let mut output = BufReader::new(output);
        let ending = loop {
            match hear(&mut output) {
                Ok(Some(Line::Message(message))) => {
                    // Nobody listens any more: the process is told by the end of its input.
                    let _ = messages.send(message);
                }
                Ok(Some(Line::Progress(ios))) => progress.store(ios, Ordering::Relaxed),
                Ok(Some(Line::Ended(ending))) => break Ok(Some(ending)),
                Ok(None) => break Ok(None),
                Err(error) => break Err(error),
            }
        };
        over.store(true, Ordering::Relaxed);
        ending
    })
}

/// Passes the orders on until there are no more; the process's input ends with them. A process
/// that has ended is noticed by its silence, not here.
fn pass_on(go: &Receiver<Go>, stop: &Stop, over: &AtomicBool, mut input: ChildStdin) {
    let mut told = false;
    while !over.load(Ordering::Relaxed) {
        let order = match go.recv_timeout(LOOK) {
            Ok(go) => Order::Go(go),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) if told || !stop.stopped() => continue,
            Err(RecvTimeoutError::Timeout) => {
                told = true;
                Order::Stop
            }
        };
        if say(&mut input, &order).is_err() {
            return;
        }
    }
}
