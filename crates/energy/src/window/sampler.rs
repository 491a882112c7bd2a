//! The threads that read meters during a window.

use super::track::Track;
use crate::Clock;
use joulio_units::Nanos;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A meter that two threads read.
pub(super) type Shared = Arc<Mutex<Track>>;

/// Locks a meter; one whose thread panicked can still be read.
pub(super) fn lock(track: &Shared) -> MutexGuard<'_, Track> {
    track.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads that end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    ended: Arc<Ended>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Ended {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl Sampler {
    /// Starts one thread for all meters that are read quickly and one for each of the others; none for counters that do
    /// not wrap.
    pub(super) fn start(tracks: &[Shared], clock: &Arc<dyn Clock>) -> io::Result<Sampler> {
        let due = tracks.iter().filter(|track| lock(track).due().is_some());
        let (slow, fast): (Vec<_>, Vec<_>) = due.cloned().partition(|track| lock(track).slow());
        let mut lanes: Vec<_> = slow.into_iter().map(|track| vec![track]).collect();
        if !fast.is_empty() {
            lanes.push(fast);
        }
        let mut sampler = Sampler::default();
        for lane in lanes {
            let (clock, ended) = (Arc::clone(clock), Arc::clone(&sampler.ended));
            let thread = Builder::new().name("joulio-meters".into());
            let thread = thread.spawn(move || run(&lane, &*clock, &ended))?;
            sampler.threads.push(thread);
        }
        Ok(sampler)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        *self
            .ended
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A meter whose thread panicked has no result.
            let _ = thread.join();
        }
    }
}

/// Reads each meter when it is due, until the end.
fn run(lane: &[Shared], clock: &dyn Clock, ended: &Ended) {
    /// Time until the next round when no meter is due: all have failed, and may work again.
    const RETRY_INTERVAL: Nanos = Nanos::from_millis(1_000);
    loop {
        let due = lane.iter().filter_map(|track| tick(track, clock)).min();
        let wait = due.map_or(RETRY_INTERVAL, |due| due.since(clock.now()));
        if ended.within(wait) {
            return;
        }
    }
}

/// Reads a meter if it is due; returns the time at which it is due next, if ever.
fn tick(track: &Shared, clock: &dyn Clock) -> Option<Nanos> {
    let mut track = lock(track);
    if track.due()? <= clock.now() {
        track.tick(clock);
    }
    track.due()
}

impl Ended {
    /// Waits for `time`, or for the end; returns whether the end came.
    fn within(&self, time: Nanos) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.changed
                .wait_timeout_while(ended, Duration::from_nanos(time.0), |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
