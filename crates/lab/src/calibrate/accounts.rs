//! CPU time of a job and of the threads that share its CPU, as the kernel accounts for it.

use super::error::CalibrateError;
use crate::experiment::Neighbours;
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use joulio_workload::thread_usage;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The kernel's counts for the calling thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// Number of times that the kernel took the CPU from the thread to run another one.
    pub preemptions: u64,
    /// Time that the thread was runnable but had no CPU.
    pub run_delay: Nanos,
}

/// The calling thread's `/proc/thread-self/schedstat`, kept open because it is read after each I/O.
pub struct Account {
    schedstat: File,
}

impl Account {
    pub fn open() -> Result<Account, CalibrateError> {
        let schedstat = File::open("/proc/thread-self/schedstat");
        let schedstat = schedstat.map_err(CalibrateError::NoRunDelay)?;
        let account = Account { schedstat };
        account.read()?;
        Ok(account)
    }

    /// Returns the counts so far.
    pub fn read(&self) -> Result<Scheduled, CalibrateError> {
        let mut text = [0_u8; 96];
        let read = self.schedstat.read_at(&mut text, 0);
        let length = read.map_err(CalibrateError::NoRunDelay)?;
        let run_delay = run_delay(&text[..length]).ok_or_else(|| {
            CalibrateError::NoRunDelay(io::Error::other("no second number in it"))
        })?;
        Ok(Scheduled {
            preemptions: thread_usage().involuntary_switches,
            run_delay,
        })
    }
}

/// Returns the second number of a schedstat file, the run delay (Documentation/scheduler/sched-stats.rst).
fn run_delay(text: &[u8]) -> Option<Nanos> {
    let text = str::from_utf8(text).ok()?;
    let delay = text.split_ascii_whitespace().nth(1)?;
    delay.parse().ok().map(Nanos)
}

/// CPU times in a window in which the job's CPU was never idle, because its neighbours always had work.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuShares {
    pub window: Nanos,
    /// CPU time of the job.
    pub job: Nanos,
    /// CPU time of its neighbours.
    pub neighbours: Nanos,
}

impl CpuShares {
    /// Returns the times so far; the difference of two readings is a window's.
    pub fn now(neighbours: &Neighbours) -> CpuShares {
        let own = clock_gettime(ClockId::ThreadCPUTime);
        let part = |time: i64| u64::try_from(time).unwrap_or(0);
        CpuShares {
            window: now(),
            job: Nanos(part(own.tv_sec) * 1_000_000_000 + part(own.tv_nsec)),
            neighbours: neighbours.cpu_time(),
        }
    }

    pub fn since(self, earlier: CpuShares) -> CpuShares {
        CpuShares {
            window: self.window.since(earlier.window),
            job: self.job.since(earlier.job),
            neighbours: self.neighbours.since(earlier.neighbours),
        }
    }

    /// Returns `time` as a percentage of the window.
    fn percent(&self, time: Nanos) -> f64 {
        time.0 as f64 / self.window.0.max(1) as f64 * 100.0
    }

    /// Returns the percentage of the CPU that the neighbours used.
    pub fn neighbour_percent(&self) -> f64 {
        self.percent(self.neighbours)
    }

    /// Returns the percentage of the CPU that neither the job nor its neighbours used: other programs, the kernel's own
    /// threads or, in a guest, its host used it.
    pub fn others_percent(&self) -> f64 {
        self.percent(self.window.since(self.job + self.neighbours))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_account_only_ever_grows() {
        let account = Account::open().unwrap();
        let before = account.read().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let after = account.read().unwrap();
        assert!(after.run_delay >= before.run_delay, "{before:?} {after:?}");
        assert!(after.preemptions >= before.preemptions);
        assert_eq!(run_delay(b"12 34 5\n"), Some(Nanos(34)));
        for bad in [&b"12"[..], b"12 x 5", b"\xff 1 2", b""] {
            assert_eq!(run_delay(bad), None);
        }
    }

    #[test]
    fn what_neither_the_job_nor_its_neighbours_had_is_others() {
        let shares = CpuShares {
            window: Nanos(200),
            job: Nanos(50),
            neighbours: Nanos(100),
        };
        assert_eq!(shares.neighbour_percent(), 50.0);
        assert_eq!(shares.others_percent(), 25.0);
        // The clocks are not read at the same moment, so the sum may exceed the window.
        let over = CpuShares {
            neighbours: Nanos(151),
            ..shares
        };
        assert_eq!(over.others_percent(), 0.0);
    }
}
