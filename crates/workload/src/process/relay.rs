//! The run's side of a job's process: one thread per job listens to the process, another passes orders to it.

use super::wire::{Ending, Line, Order, Part, hear, say};
use super::{COMMAND, ProcessError};
use crate::Stop;
use crate::protocol::{JobMessage, JobOrder};
use crate::target::ProcessTarget;
use crate::worker::Worker;
use crate::worker_error::WorkerError;
use joulio_job::Method;
use nix::sys::signal::{SigSet, Signal};
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time between two checks whether the run should end.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the job of `worker` in a process of its own, which opens `target` itself.
pub(crate) fn relay(
    worker: Worker<'_>,
    method: Method,
    target: ProcessTarget,
) -> Result<(), WorkerError> {
    let started = start();
    let child = started.map_err(|source| ProcessError::Start {
        job: worker.index,
        source,
    })?;
    attend(child, worker, method, target)
}

/// Starts this program again. Signals that request an end, such as SIGINT, are for the run's process, which then
/// ends all jobs together: this thread blocks them, and the new process inherits the mask from its first
/// instruction.
fn start() -> io::Result<Child> {
    let signals = [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ];
    signals.into_iter().collect::<SigSet>().thread_block()?;
    Command::new("/proc/self/exe")
        .arg0("joulio")
        .arg(COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
}

/// Passes the job to `child`, and waits for the end of that process.
fn attend(
    mut child: Child,
    worker: Worker<'_>,
    method: Method,
    target: ProcessTarget,
) -> Result<(), WorkerError> {
    let job = worker.index;
    let failed = |source| ProcessError::Start { job, source };
    // The kernel's engines have one device per job.
    let share = &worker.shares[0];
    let part = Part {
        job: worker.job.clone(),
        index: job,
        turn: worker.turn,
        bs: worker.bs,
        assignment: share.assignment,
        blocks: share.blocks.clone(),
        name: share.name.clone(),
        method,
        wait_costs: worker.wait_costs.cloned(),
        ring: worker.ring,
        target,
    };
    let ending = converse(&mut child, &part, worker);
    if ending.is_err() {
        // The process has ended, or has sent an invalid line.
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

/// Passes the job to the process, then messages both ways until the process has sent its last line; `None`: it
/// ended without one.
fn converse(child: &mut Child, part: &Part, worker: Worker<'_>) -> io::Result<Option<Ending>> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Ok(None);
    };
    // The process may have ended before it read its part, and sent the reason: a failure to write is ignored.
    let _ = say(&mut input, part);
    let over = AtomicBool::new(false);
    let Worker {
        orders: job_orders,
        stop,
        messages,
        progress,
        member,
        ..
    } = worker;
    let over = &over;
    thread::scope(|scope| {
        let orders = thread::Builder::new().name("joulio-orders".into());
        orders.spawn_scoped(scope, move || pass_on(&job_orders, stop, over, input))?;
        let mut output = BufReader::new(output);
        let ending = loop {
            match hear(&mut output) {
                Ok(Some(Line::Message(message))) => {
                    if matches!(message, JobMessage::Began) {
                        // The last report was of the ramp.
                        progress.set((0, 0));
                    }
                    // If the conductor has ended, the process learns that from the end of its input.
                    let _ = messages.send((member, message));
                }
                Ok(Some(Line::Progress(ios, bytes))) => progress.set((ios, bytes)),
                Ok(Some(Line::Ended(ending))) => break Ok(Some(ending)),
                Ok(None) => break Ok(None),
                Err(error) => break Err(error),
            }
        };
        over.store(true, Ordering::Relaxed);
        ending
    })
}

/// Passes orders to the process until there are no more; its input ends with them. If the process has ended, that
/// is noticed from its output, not here.
fn pass_on(job_orders: &Receiver<JobOrder>, stop: &Stop, over: &AtomicBool, mut input: ChildStdin) {
    let mut stopping = false;
    while !over.load(Ordering::Relaxed) {
        let order = match job_orders.recv_timeout(CHECK_INTERVAL) {
            Ok(order) => Order::Job(order),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) if stopping || !stop.stopped() => continue,
            Err(RecvTimeoutError::Timeout) => {
                stopping = true;
                Order::Stop
            }
        };
        if say(&mut input, &order).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::JobProgress;
    use crate::share::Share;
    use joulio_job::{Availability, CompletionMode, EngineName, Job};
    use joulio_kernel_io::RingOptions;
    use joulio_nvme::wait::WaitCosts;
    use std::sync::mpsc::channel;

    /// Outcome of a job in a process.
    struct Attended {
        ended: Result<(), WorkerError>,
        messages: Vec<JobMessage>,
        /// I/Os and bytes that the run counts in the end.
        done: (u64, u64),
    }

    /// Returns the outcome of a job whose process is a shell with `script`.
    fn attended(script: &str) -> Attended {
        let ((messages, inbox), (start, go)) = (channel(), channel());
        let (job, stop) = (Job::random_reads(100), Stop::default());
        let costs = WaitCosts::generic();
        let (progress, enough) = (JobProgress::default(), AtomicBool::new(false));
        let worker = Worker {
            member: 0,
            job: &job,
            index: 3,
            turn: 3,
            bs: 4096,
            shares: vec![Share {
                assignment: job.assignments(0, 1)[0],
                blocks: 0..10,
                may_write: false,
                name: None,
            }],
            stop: &stop,
            wait_costs: Some(&costs),
            ring: RingOptions::default(),
            trace: None,
            progress: &progress,
            enough: &enough,
            messages,
            orders: go,
        };
        let child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let method = Method {
            engine: EngineName::Psync,
            mode: CompletionMode::Interrupt,
        };
        let target = serde_json::from_value(serde_json::json!({
            "path": "/nowhere",
            "may_write": false,
        }));
        let ended = attend(child, worker, method, target.expect("a target"));
        drop(start);
        Attended {
            ended,
            messages: inbox.iter().map(|(_, message)| message).collect(),
            done: progress.get(),
        }
    }

    #[test]
    fn a_process_is_heard_to_its_last_word() {
        let said = r#"read part; echo '{"Message":{"Ready":{"Effective":"poll"}}}'; echo '{"Ended":"Done"}'"#;
        let ready = attended(said);
        assert!(ready.ended.is_ok());
        let [JobMessage::Ready(Availability::Effective(mode))] = ready.messages.as_slice() else {
            panic!("{} messages", ready.messages.len());
        };
        assert_eq!(mode, "poll");
        let failed = attended(r#"echo '{"Ended":{"Failed":"no such disk"}}'"#);
        assert_eq!(failed.ended.unwrap_err().to_string(), "no such disk");
        let not_started = attended(r#"echo '{"Ended":"NotStarted"}'"#);
        assert!(matches!(not_started.ended, Err(WorkerError::NotStarted)));
    }

    #[test]
    fn the_ios_of_the_ramp_are_not_those_of_the_measured_part() {
        let said = r#"read part; echo '{"Progress":[900,1]}'; echo '{"Message":"Began"}'"#;
        let end = r#"echo '{"Ended":"Done"}'"#;
        let began = attended(&format!("{said}; {end}"));
        assert!(began.ended.is_ok());
        assert!(matches!(began.messages.as_slice(), [JobMessage::Began]));
        assert_eq!(began.done, (0, 0));
        let measured = attended(&format!("{said}; echo '{{\"Progress\":[70,2]}}'; {end}"));
        assert_eq!(measured.done, (70, 2));
    }

    #[test]
    fn a_process_is_told_the_costs_of_this_machine() {
        let told = r#"read part; case "$part" in *'"wait_costs":{"poll":'*) echo '{"Ended":"Done"}';; esac"#;
        assert!(attended(told).ended.is_ok());
    }

    #[test]
    fn a_process_that_ends_without_a_word_is_reported_with_how() {
        for (script, how) in [
            ("exit 3", "exit status: 3"),
            ("kill -9 $$", "signal: 9 (SIGKILL)"),
            // Cut off in the middle of a line.
            ("printf '{\"Ended\":'", "exit status: 0"),
        ] {
            let error = attended(script).ended.unwrap_err().to_string();
            assert!(error.starts_with("job 3: its process "), "{error}");
            assert!(error.ends_with(how), "{script}: {error}");
        }
    }

    #[test]
    fn what_is_no_message_is_an_error_and_ends_the_process() {
        for line in [
            "hello",
            r#"{"Message":"Ended"}"#,
            r#"{"Message":{"Ready":{"Maybe":1}}}"#,
            r#"{"Progress":-1}"#,
            "{}",
        ] {
            // The process would go on for a long time.
            let script = format!("echo '{line}'; exec sleep 1000");
            let error = attended(&script).ended.unwrap_err();
            assert!(
                matches!(
                    error,
                    WorkerError::Process(ProcessError::Garbled { job: 3, .. })
                ),
                "{line}: {error}"
            );
        }
    }
}
