//! Binding a thread to a CPU, and two threads that wake each other, to time what the kernel takes for it.

use super::error::CalibrateError;
use joulio_nvme::wait::{now, poll_until};
use joulio_units::Nanos;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::num::NonZero;
use std::thread;

/// Binds the calling thread to `cpu` and sets its timer slack to 1 ns, as a run does for its jobs.
pub fn settle(cpu: usize) -> Result<(), CalibrateError> {
    let _ = set_current_timer_slack(NonZero::new(1));
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| CalibrateError::Pin { cpu, errno })
}

pub fn event() -> Result<OwnedFd, CalibrateError> {
    eventfd(0, EventfdFlags::CLOEXEC).map_err(CalibrateError::System)
}

/// Signals the eventfd.
pub fn raise(fd: &OwnedFd) -> Result<(), CalibrateError> {
    write(fd, &1_u64.to_ne_bytes())
        .map(drop)
        .map_err(CalibrateError::System)
}

/// Waits for the eventfd as a queue that blocks does: poll(2), then read(2).
pub fn wait(fd: &OwnedFd) -> Result<(), CalibrateError> {
    poll_until(&mut [PollFd::new(fd, PollFlags::IN)], Nanos::MAX)
        .map_err(CalibrateError::System)?;
    read(fd, &mut [0; 8])
        .map(drop)
        .map_err(CalibrateError::System)
}

/// Returns the times of `rounds` round trips between two threads on `cpu`; each is two writes, two blocks and two
/// context switches.
pub fn there_and_back(cpu: usize, rounds: u32) -> Result<Vec<u64>, CalibrateError> {
    let (there, back) = (event()?, event()?);
    thread::scope(|scope| {
        let echo = scope.spawn(|| {
            settle(cpu)?;
            for _ in 0..rounds {
                wait(&there)?;
                raise(&back)?;
            }
            Ok(())
        });
        settle(cpu)?;
        let mut times = Vec::new();
        for _ in 0..rounds {
            let start = now();
            raise(&there)?;
            wait(&back)?;
            times.push((now() - start).0);
        }
        joined(echo.join())?;
        Ok(times)
    })
}

fn joined(result: thread::Result<Result<(), CalibrateError>>) -> Result<(), CalibrateError> {
    result.unwrap_or_else(|_| Err(CalibrateError::Panicked))
}
