//! Handling of signals that end a command: SIGINT (Ctrl-C), SIGTERM, SIGHUP (the terminal is gone) and SIGQUIT.
//!
//! The first signal ends a run in good order: I/Os in flight are awaited, results so far are printed, settings are
//! restored. A second signal, or a command that does not end, must not leave the machine changed: after a moment, a
//! thread that does nothing else restores the settings in place of the run, removes sockets, and ends the process.

mod last_resort;

pub use last_resort::at_last;

use crate::failure::Failure;
use crate::signal::{Signal, number, signal};
use joulio_nvme::Cancel;
use joulio_workload::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::{register, register_usize};
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use signal_hook::iterator::{Signals, SignalsInfo};
use signal_hook::low_level::pipe;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// Time that a command has to end by itself after two signals: terminals and service managers send two at once.
const GRACE: Duration = Duration::from_millis(500);

/// Returns the stop that signals set after a call of [`stop_on_signals`]; before, they end the process.
fn stop() -> &'static Stop {
    static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);
    &STOP
}

/// Returns a cancellation of waits for a controller, by the same signals.
pub fn cancel() -> Cancel {
    Cancel::on(Arc::clone(stop().flag()))
}

/// Returns the stop that the first signal sets. A later signal ends the process if it does not end by itself.
///
/// # Errors
/// The system cannot install a handler, or start a thread.
pub fn stop_on_signals() -> Result<Stop, Failure> {
    let stop = stop().clone();
    let all = heeded();
    for &signal in &all {
        let which = register_usize(signal, Arc::clone(number()), signal as usize);
        which
            .and_then(|_| register(signal, Arc::clone(stop.flag())))
            .map_err(Failure::run)?;
    }
    watch(&all)?;
    Ok(stop)
}

/// Returns a stop for code that waits for file descriptors: it is readable from the first signal on.
///
/// # Errors
/// The same as of [`stop_on_signals`].
pub fn ring_on_signals() -> Result<UnixStream, Failure> {
    let (stop, ring) = UnixStream::pair().map_err(Failure::run)?;
    let all = heeded();
    for &signal in &all {
        let ring = ring.try_clone().map_err(Failure::run)?;
        let which = register_usize(signal, Arc::clone(number()), signal as usize);
        which
            .and_then(|_| pipe::register(signal, ring))
            .map_err(Failure::run)?;
    }
    watch(&all)?;
    Ok(stop)
}

/// Returns a function that tells whether all signals so far may have come from a key of the terminal, which also sends
/// them to its other processes: no process has sent one, as kill(1) does.
///
/// # Errors
/// The same as of [`stop_on_signals`].
pub fn of_terminal() -> Result<impl Fn() -> bool, Failure> {
    let is_of_key = |number: &i32| Signal::new(*number).is_of_keyboard();
    let keys = heeded().into_iter().filter(is_of_key);
    let mut signals = SignalsInfo::<WithRawSiginfo>::new(keys).map_err(Failure::run)?;
    let sent = Arc::new(AtomicBool::new(false));
    let by_process = Arc::clone(&sent);
    let thread = Builder::new().name("joulio-senders".into());
    let spawned = thread.spawn(move || {
        for signal in signals.forever() {
            // Positive codes are the kernel's (sigaction(2)).
            by_process.fetch_or(signal.si_code <= 0, Ordering::Relaxed);
        }
    });
    spawned.map_err(Failure::run)?;
    Ok(move || signal().is_some_and(Signal::is_of_keyboard) && !sent.load(Ordering::Relaxed))
}

/// Starts the thread that ends the process after the second signal.
fn watch(all: &[i32]) -> Result<(), Failure> {
    let mut signals = Signals::new(all).map_err(Failure::run)?;
    let thread = Builder::new().name("joulio-signals".into());
    let spawned = thread.spawn(move || {
        if let Some(signal) = signals.forever().nth(1) {
            sleep(GRACE);
            last_resort::end(Signal::new(signal));
        }
    });
    spawned.map(|_| ()).map_err(Failure::run)
}

/// Returns the signals that end a command. If a signal of the terminal was ignored before, it stays ignored: with this,
/// nohup(1) and shells request that a command outlives its terminal.
fn heeded() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let heeds = |signal: &i32| {
        matches!(*signal, SIGINT | SIGTERM) || ignored & 1 << (*signal as u32 - 1) == 0
    };
    let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    all.into_iter().filter(heeds).collect()
}

/// Parses the set of ignored signals in /proc/PID/status (proc(5)).
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_a_bit_of_proc() {
        let status = "SigBlk:\t0000000000000003\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), 1 << (SIGHUP - 1) | 1 << 12);
        assert_eq!(ignored(""), 0);
    }
}
