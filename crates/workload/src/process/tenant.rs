//! The side of a job's own process.

use super::REPORT_INTERVAL;
use super::wire::{Ending, Line, Order, Part, hear, say};
use crate::Stop;
use crate::place::place;
use crate::progress::JobProgress;
use crate::protocol::{JobMessage, JobOrder};
use crate::share::Share;
use crate::target::{KernelTarget, Target};
use crate::worker::Worker;
use crate::worker_error::WorkerError;
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::set_name;
use std::ffi::CString;
use std::io::{self, BufRead, Write};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Error: the process was not started by a run.
#[derive(Debug, thiserror::Error)]
#[error("no job on standard input: this command is what joulio bench --process starts")]
pub struct NoJob;

/// Runs the job that `input` contains, and writes its messages and its result to `output`. The caller is a process
/// of the job's own, which ends afterwards, or when the process that started it ends.
///
/// # Errors
/// [`NoJob`]: `input` does not begin with a job.
pub fn tenant(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write + Send,
) -> Result<(), NoJob> {
    let Ok(Some(part)) = hear(&mut input) else {
        return Err(NoJob);
    };
    let ended = serve(part, input, &mut output);
    let ending = ended.unwrap_or_else(|error| Ending::Failed(format!("a job's process: {error}")));
    // If nobody reads the output, losing the message does no harm.
    let _ = say(&mut output, &Line::Ended(ending));
    Ok(())
}

fn serve(
    part: Part,
    input: impl BufRead + Send + 'static,
    output: &mut (impl Write + Send),
) -> io::Result<Ending> {
    // The kernel kills this process when its parent ends. If the parent has ended already, the input has ended too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // For ps and top.
    let _ = set_name(&CString::new(format!("joulio-job-{}", part.index))?);
    let (stop, progress) = (Stop::default(), JobProgress::default());
    let ((start, job_orders), (messages, inbox)) = (channel(), channel());
    let orders = thread::Builder::new().name("joulio-orders".into());
    let stopped = stop.clone();
    // This thread is not joined: the input ends at the other side's discretion.
    orders.spawn(move || take_orders(input, &start, &stopped))?;
    thread::scope(|scope| {
        let words = thread::Builder::new().name("joulio-words".into());
        let (stop, progress) = (&stop, &progress);
        words.spawn_scoped(scope, move || speak(&inbox, progress, stop, output))?;
        Ok(work(part, stop, progress, messages, job_orders))
    })
}

fn work(
    part: Part,
    stop: &Stop,
    progress: &JobProgress,
    messages: Sender<(usize, JobMessage)>,
    orders: Receiver<JobOrder>,
) -> Ending {
    let Part {
        job,
        index,
        turn,
        bs,
        assignment,
        blocks,
        name,
        method,
        wait_costs,
        ring,
        target,
    } = part;
    let worked = place(&job, turn).and_then(|()| {
        let target = KernelTarget::of_process(target)?;
        let worker = Worker {
            // The relay adds the member's number.
            member: 0,
            job: &job,
            index,
            turn,
            bs,
            shares: vec![Share {
                assignment,
                blocks,
                may_write: target.info().lays_out(&job),
                name,
            }],
            stop,
            wait_costs: wait_costs.as_ref(),
            ring,
            trace: None,
            progress,
            enough: &AtomicBool::new(false),
            messages,
            orders,
        };
        target.work(&[&target], method, worker)
    });
    match worked {
        Ok(()) => Ending::Done,
        Err(WorkerError::NotStarted) => Ending::NotStarted,
        Err(error) => Ending::Failed(error.to_string()),
    }
}

/// Takes orders until the input ends, which ends the job too: nobody would read its result.
fn take_orders(mut input: impl BufRead, to_job: &Sender<JobOrder>, stop: &Stop) {
    while let Ok(Some(order)) = hear(&mut input) {
        match order {
            Order::Job(order) => {
                // The job may have ended by itself.
                let _ = to_job.send(order);
            }
            Order::Stop => stop.stop(),
        }
    }
    stop.stop();
}

/// Reports the job's messages and progress until the job has ended.
fn speak(
    inbox: &Receiver<(usize, JobMessage)>,
    progress: &JobProgress,
    stop: &Stop,
    output: &mut impl Write,
) {
    let mut reported = 0;
    loop {
        let line = match inbox.recv_timeout(Duration::from_nanos(REPORT_INTERVAL.0)) {
            Ok((_, message)) => {
                if matches!(message, JobMessage::Began) {
                    // The run counts from zero again.
                    reported = 0;
                }
                Line::Message(message)
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let (ios, bytes) = progress.get();
                if ios == reported {
                    continue;
                }
                reported = ios;
                Line::Progress(ios, bytes)
            }
        };
        if say(output, &line).is_err() {
            stop.stop();
            return;
        }
    }
}
