//! Threads beside the jobs that compute all the time, as another program would.

use joulio_units::Nanos;
use joulio_workload::Job;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Number of computations between two checks of the stop flag.
const CHECK_INTERVAL: u64 = 1 << 14;

/// Threads that compute until they are stopped.
pub struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<f64>>>,
    /// CPU time of each thread in nanoseconds, as the thread last wrote it.
    used: Vec<Arc<AtomicU64>>,
}

impl Neighbours {
    /// Starts `each` threads on each CPU that the threads of `job` are pinned to.
    ///
    /// # Errors
    /// The system cannot start another thread.
    pub fn beside(job: &Job, each: usize) -> io::Result<Neighbours> {
        let cpus = job.cpus_allowed.iter().take(job.numjobs);
        let cpus: BTreeSet<usize> = cpus.copied().collect();
        let stop = Arc::new(AtomicBool::new(false));
        let mut neighbours = Neighbours {
            stop: Arc::clone(&stop),
            threads: Vec::new(),
            used: Vec::new(),
        };
        for cpu in cpus {
            for _ in 0..each {
                let stop = Arc::clone(&stop);
                let used = Arc::new(AtomicU64::new(0));
                neighbours.used.push(Arc::clone(&used));
                let thread = thread::Builder::new().name("joulio-beside".into());
                let spawned = thread.spawn(move || compute(cpu, &stop, &used))?;
                neighbours.threads.push(spawned);
            }
        }
        Ok(neighbours)
    }

    /// Returns the CPU time of all threads together; it may lack some tens of microseconds.
    pub fn cpu_time(&self) -> Nanos {
        let used = self.used.iter();
        Nanos(used.map(|used| used.load(Ordering::Relaxed)).sum())
    }

    /// Stops the threads; returns the mean percentage of a CPU that each had, or `None` if there are none.
    ///
    /// # Errors
    /// A thread could not be pinned to its CPU.
    pub fn end(mut self) -> io::Result<Option<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut self.threads);
        let count = threads.len();
        let mut sum = 0.0;
        for thread in threads {
            let ended = thread.join();
            sum += ended.map_err(|_| io::Error::other("a neighbour's thread panicked"))??;
        }
        Ok((count > 0).then(|| sum / count as f64 * 100.0))
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Computes on `cpu` until `stop` is set, and writes the CPU time used to `used`; returns the fraction of the time in
/// which the thread had the CPU.
fn compute(cpu: usize, stop: &AtomicBool, used: &AtomicU64) -> io::Result<f64> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)?;
    let own = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let (started, before) = (Instant::now(), own());
    let mut number = 1_u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..CHECK_INTERVAL {
            number = black_box(
                number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
        used.store(own(), Ordering::Relaxed);
    }
    Ok((own() - before) as f64 / 1e9 / started.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_compute_on_the_jobs_cpus_until_they_are_ended() {
        let pinned = |cpus_allowed| Job {
            cpus_allowed,
            ..Job::random_reads(1)
        };
        let none = Neighbours::beside(&pinned(Vec::new()), 2).unwrap();
        assert_eq!(none.end().unwrap(), None);
        let two = Neighbours::beside(&pinned(vec![0]), 2).unwrap();
        assert_eq!(two.threads.len(), 2);
        while two
            .used
            .iter()
            .any(|used| used.load(Ordering::Relaxed) == 0)
        {
            thread::yield_now();
        }
        let before = two.cpu_time();
        while two.cpu_time() == before {
            thread::yield_now();
        }
        let share = two.end().unwrap().unwrap();
        assert!(share > 0.0 && share <= 101.0, "{share}");
        let nowhere = Neighbours::beside(&pinned(vec![CpuSet::MAX_CPU - 1]), 1).unwrap();
        assert!(nowhere.end().is_err());
    }
}
