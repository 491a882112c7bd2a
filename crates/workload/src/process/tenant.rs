//! The side of a job's process.

use super::wire::{Ending, Line, Order, Part, hear, say};
use crate::Stop;
use crate::looped::{Go, Message, Worker, WorkerError};
use crate::place::place;
use crate::target::Target;
use nix::sys::signal::{SigSet, Signal};
use rustix::process::set_parent_process_death_signal;
use std::ffi::CString;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How often the I/Os done are told.
const LOOK: Duration = Duration::from_secs(1);

/// A process that cannot be a job's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TenantError {
    /// There is no job on its standard input.
    #[error("no job on standard input: this command is what joulio bench --process starts")]
    NoPart,
    /// The system refuses what such a process needs.
    #[error("a job's process: {0}")]
    System(#[from] io::Error),
}

/// Runs the job that `input` holds and says on `output` what comes of it. It is for a process of
/// its own, which ends afterwards: signals to end are left to the process that started it, and
/// should that die, this one does as well.
pub fn tenant(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send,
) -> Result<(), TenantError> {
    let part: Part = match hear(&mut input) {
        Ok(Some(part)) => part,
        _ => return Err(TenantError::NoPart),
    };
    depend()?;
    // For ps and top.
    if let Ok(name) = CString::new(format!("joulio-job-{}", part.index)) {
        let _ = rustix::thread::set_name(&name);
    }
    let stop = Stop::default();
    let progress = AtomicU64::new(0);
    let ((start, go), (messages, inbox)) = (channel(), channel());
    let orders = thread::Builder::new().name("joulio-orders".into());
    let stopped = stop.clone();
    // It is not waited for: the input ends when the other side likes.
    orders.spawn(move || take_orders(input, &start, &stopped))?;
    thread::scope(|scope| {
        let words = thread::Builder::new().name("joulio-words".into());
        let (stop, progress) = (&stop, &progress);
        let words = words.spawn_scoped(scope, move || speak(&inbox, progress, stop, output))?;
        let ending = work(part, stop, progress, messages, go);
        let Ok(mut output) = words.join() else {
            return Err(io::Error::other("the thread that speaks panicked").into());
        };
        // Nobody to tell is nobody to mind.
        let _ = say(&mut output, &Line::Ended(ending));
        Ok(())
    })
}

/// Lives and ends with the process that started this one.
fn depend() -> io::Result<()> {
    // Should that be gone already, the input has ended.
    set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect();
    Ok(signals.thread_block()?)
}

fn work(
    part: Part,
    stop: &Stop,
    progress: &AtomicU64,
    messages: Sender<Message>,
    go: Receiver<Go>,
) -> Ending {
    let Part {
        job,
        index,
        bs,
        share,
        method,
        target,
    } = part;
    let worked = place(&job, index).and_then(|()| {
        let target = target.open()?;
        let worker = Worker {
            job: &job,
            index,
            bs,
            share,
            may_write: target.may_write(),
            stop,
            trace: None,
            progress,
            messages,
            go,
        };
        target.work(method, worker)
    });
    match worked {
        Ok(()) => Ending::Done,
        Err(WorkerError::NotStarted) => Ending::NotStarted,
        Err(error) => Ending::Failed(error.to_string()),
    }
}

/// Takes orders until the input ends. That ends the job: with nobody to tell, it is for nothing.
fn take_orders(mut input: impl BufRead, start: &Sender<Go>, stop: &Stop) {
    while let Ok(Some(order)) = hear(&mut input) {
        match order {
            Order::Go(go) => {
                // The job may have ended by itself.
                let _ = start.send(go);
            }
            Order::Stop => stop.stop(),
        }
    }
    stop.stop();
}

/// Says what the job tells until it has ended, and gives `output` back.
fn speak<W: Write>(
    inbox: &Receiver<Message>,
    progress: &AtomicU64,
    stop: &Stop,
    mut output: W,
) -> W {
    let mut told = 0;
    loop {
        let line = match inbox.recv_timeout(LOOK) {
            Ok(message) => Line::Message(message),
            Err(RecvTimeoutError::Disconnected) => return output,
            Err(RecvTimeoutError::Timeout) => {
                let ios = progress.load(Ordering::Relaxed);
                if ios == told {
                    continue;
                }
                told = ios;
                Line::Progress(ios)
            }
        };
        if say(&mut output, &line).is_err() {
            stop.stop();
            return output;
        }
    }
}
