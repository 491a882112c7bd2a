//! The threads of this process that each need a CPU.
//!
//! A thread that spins until another thread of its process has done something delays that thread if both share a CPU.
//! Each such thread registers while it lives, with the CPUs that it may run on; spinning threads check whether there
//! are enough CPUs, rarely and never between two polls.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Registered {
    id: u64,
    cpus: CpuSet,
}

static THREADS: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

fn threads() -> MutexGuard<'static, Vec<Registered>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registration of a thread that needs a CPU to itself, until this is dropped.
#[derive(Debug)]
pub struct BusyThread {
    id: u64,
}

impl BusyThread {
    /// Registers the calling thread with the CPUs that it may run on now.
    pub fn register() -> BusyThread {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        // If the system does not answer, the thread counts as one without a CPU: it may share one.
        let cpus = sched_getaffinity(None).unwrap_or_default();
        threads().push(Registered { id, cpus });
        BusyThread { id }
    }

    /// Returns whether the registered threads outnumber the CPUs that they may run on, so that some of them share one.
    pub fn are_too_many() -> bool {
        let threads = threads();
        let is_allowed = |&cpu: &usize| threads.iter().any(|thread| thread.cpus.is_set(cpu));
        threads.len() > (0..CpuSet::MAX_CPU).filter(is_allowed).count()
    }
}

impl Drop for BusyThread {
    fn drop(&mut self) {
        threads().retain(|thread| thread.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_setaffinity;

    /// The only test of this binary that registers threads.
    #[test]
    fn two_threads_on_one_cpu_are_too_many() {
        let allowed = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu));
        let mut one = CpuSet::new();
        one.set(first.unwrap());
        sched_setaffinity(None, &one).unwrap();
        assert!(!BusyThread::are_too_many());
        let here = BusyThread::register();
        assert!(!BusyThread::are_too_many());
        let too = BusyThread::register();
        assert!(BusyThread::are_too_many());
        drop(here);
        assert!(!BusyThread::are_too_many());
        drop(too);
    }
}
