//! Runs a command and counts its use of the machine, as `perf stat` does.

use joulio_energy::{About, Source};
use joulio_workload::Stop;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, PidfdFlags, Signal, getpgid, pidfd_open, pidfd_send_signal};
use rustix::termios::tcgetpgrp;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes in a block of `ru_inblock` and `ru_oublock` (getrusage(2)).
const BLOCK: u64 = 512;
/// Time between two checks for the signal that ends joulio.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Use of the machine by a command and the processes that it has waited for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandUse {
    /// Seconds from its start to its end.
    pub seconds: f64,
    /// CPU time in user space, in seconds.
    pub user_seconds: f64,
    /// CPU time in the kernel, in seconds.
    pub system_seconds: f64,
    /// Times that it gave its CPU away: it waited, and was woken.
    pub voluntary_switches: u64,
    /// Times that its CPU was taken away.
    pub involuntary_switches: u64,
    /// Bytes that it had read from block devices.
    pub read_bytes: u64,
    /// Bytes that it had written to block devices; those of the page cache count when they are dirtied.
    pub write_bytes: u64,
    /// Exit status, or 128 plus the number of the signal that ended it, as in shells.
    pub status: u8,
}

/// Runs `command`, waits until it ends, and returns its use of resources. A `stop` ends it with SIGTERM, unless
/// `by_keyboard` returns true, which means that the stop came from a key: then the terminal has sent its signal to the
/// command too, and another one would interrupt the command's own cleanup. `by_keyboard` is called again until it
/// returns false, because a process may send a signal later, or it may only later be known that a signal came from a
/// process.
///
/// # Errors
/// The command cannot be started.
pub fn run_command(
    command: &[OsString],
    stop: &Stop,
    by_keyboard: impl Fn() -> bool,
) -> io::Result<CommandUse> {
    let (program, words) = command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
    let before = children()?;
    let begun = Instant::now();
    let mut child = Command::new(program).args(words).spawn()?;
    // The descriptor refers to this process even after its number is reused.
    let pid = Pid::from_child(&child);
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let (sender, ended) = channel();
    let waiting = thread::spawn(move || {
        let status = child.wait();
        // The receiver is gone only if the function has returned.
        let _ = sender.send((status, Instant::now()));
    });
    let (mut signalled, mut foreground) = (false, None);
    let (status, end) = loop {
        match ended.recv_timeout(CHECK_INTERVAL) {
            Ok(ended) => break ended,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that waits for it has died"));
            }
        }
        if stop.stopped() && !signalled {
            // Checked once, because the terminal may be gone later.
            let foreground = *foreground.get_or_insert_with(|| in_foreground(pid));
            if !(foreground && by_keyboard()) {
                signalled = true;
                // The process may have ended already.
                let _ = pidfd_send_signal(&process, Signal::TERM);
            }
        }
    };
    let _ = waiting.join();
    let after = children()?;
    let between = |of: fn(&Usage) -> i64| u64::try_from(of(&after) - of(&before)).unwrap_or(0);
    let micros = |of: fn(&Usage) -> i64| between(of) as f64 / 1e6;
    Ok(CommandUse {
        seconds: (end - begun).as_secs_f64(),
        user_seconds: micros(|usage| usage.user_time().num_microseconds()),
        system_seconds: micros(|usage| usage.system_time().num_microseconds()),
        voluntary_switches: between(Usage::voluntary_context_switches),
        involuntary_switches: between(Usage::involuntary_context_switches),
        read_bytes: between(Usage::block_reads).saturating_mul(BLOCK),
        write_bytes: between(Usage::block_writes).saturating_mul(BLOCK),
        status: status_of(status?),
    })
}

/// Returns a note if one of the meters `about` is read by a program: the system counts it with the command.
pub fn counted_with_command(about: &[About]) -> Option<String> {
    let by_program = about.iter().find(|about| about.source == Source::Ipmi)?;
    Some(format!(
        "{}: ipmitool reads it, and is counted in the command's CPU time, switches and MiB: leave it out by --meter",
        by_program.name
    ))
}

/// Returns true if the process `pid` receives the signals of the terminal's keys.
fn in_foreground(pid: Pid) -> bool {
    let foreground = File::open("/dev/tty").ok().map(tcgetpgrp);
    let foreground = foreground.and_then(Result::ok);
    foreground.is_some() && foreground == getpgid(Some(pid)).ok()
}

fn children() -> io::Result<Usage> {
    Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?)
}

fn status_of(status: ExitStatus) -> u8 {
    let of_signal = || 128 + status.signal().unwrap_or(0);
    u8::try_from(status.code().unwrap_or_else(of_signal)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> CommandUse {
        let words = ["sh", "-c", line].map(OsString::from);
        run_command(&words, &Stop::default(), || false).unwrap()
    }

    #[test]
    fn the_status_is_passed_on_and_a_signals_as_shells_have_it() {
        assert_eq!(run("exit 7").status, 7);
        assert_eq!(run("kill -9 $$").status, 137);
    }

    #[test]
    fn what_a_command_waits_for_is_counted() {
        let used = run("for i in 1 2 3 4 5; do sleep 0.01; done");
        assert!(used.voluntary_switches >= 5, "{used:?}");
        assert!(used.seconds > 0.05, "{used:?}");
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = Stop::default();
        stop.stop();
        let words = ["sleep", "1000"].map(OsString::from);
        let used = run_command(&words, &stop, || false).unwrap();
        assert_eq!(used.status, 143);
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        let error = run_command(&["/nowhere/at/all".into()], &Stop::default(), || false);
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_meter_that_a_program_reads_is_named() {
        use joulio_energy::{Boundary, MeterKind, Zone};
        use joulio_units::{Nanos, Watts};
        let about = |source| About {
            name: "m".into(),
            source,
            zone: Zone::machine(Boundary::Wall),
            kind: MeterKind::Power {
                step: Watts(1.0),
                update: Nanos::from_millis(1_000),
            },
            slow: true,
            modelled: false,
            notes: Vec::new(),
        };
        assert!(counted_with_command(&[about(Source::Redfish)]).is_none());
        assert!(counted_with_command(&[about(Source::Ipmi)]).is_some());
    }
}
