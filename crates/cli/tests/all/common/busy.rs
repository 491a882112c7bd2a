//! Threads that act as other programs.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};

/// Threads that keep a CPU busy until this is dropped.
pub struct Busy {
    cpu: usize,
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    /// Starts `threads` on the last CPU that this process may use.
    pub fn on_the_last_cpu(threads: usize) -> Busy {
        Busy::on(allowed()[allowed().len() - 1], threads)
    }

    /// Starts `threads` on the first CPU that this process may use.
    pub fn on_the_first_cpu(threads: usize) -> Busy {
        Busy::on(allowed()[0], threads)
    }

    /// Returns the CPU.
    pub fn cpu(&self) -> usize {
        self.cpu
    }

    fn on(cpu: usize, threads: usize) -> Busy {
        let end = Arc::new(AtomicBool::new(false));
        let threads = (0..threads).map(|_| {
            let end = Arc::clone(&end);
            spawn(move || {
                let mut one = CpuSet::new();
                one.set(cpu);
                sched_setaffinity(None, &one).expect("placed");
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        let threads = threads.collect();
        Busy { cpu, end, threads }
    }
}

fn allowed() -> Vec<usize> {
    let allowed = sched_getaffinity(None).expect("known");
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .collect()
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
