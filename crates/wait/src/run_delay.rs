//! The time that a thread was ready and did not run.

use joulio_units::Nanos;
use rustix::fs::{Mode, OFlags};
use std::ffi::{CStr, CString};

/// Time between two readings.
const INTERVAL: Nanos = Nanos::from_millis(10);

/// The thread's time on run queues, read now and then.
#[derive(Debug, Default)]
pub struct RunDelay {
    next: Nanos,
    last: Option<u64>,
    reads: u64,
}

impl RunDelay {
    /// Returns the time that was lost since the last reading, if one is due at `at`.
    #[inline]
    pub fn lost(&mut self, at: Nanos) -> Option<Nanos> {
        if at < self.next {
            return None;
        }
        self.read(at)
    }

    /// Number of readings, of three system calls each.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    #[cold]
    fn read(&mut self, at: Nanos) -> Option<Nanos> {
        // What a thread lost over a long time, in blocks say, is little of each moment of it.
        let elapsed = (at + INTERVAL).since(self.next);
        let stale = elapsed > Nanos(3 * INTERVAL.0);
        self.next = at + INTERVAL;
        self.reads += 1;
        // Without the kernel's CONFIG_SCHED_INFO nothing is known.
        let now = run_delay(None)?.0;
        let last = self.last.replace(now)?;
        let lost = now.checked_sub(last)?;
        // More than the time itself is another thread's, whose group this was.
        let usable = lost > 0 && lost <= elapsed.0 && !stale;
        usable.then_some(Nanos(lost))
    }
}

/// Returns the time that a thread of this process, or the calling one, has waited on run queues: the
/// second number of its schedstat (Documentation/scheduler/sched-stats.rst), where the kernel counts it.
/// That is opened each time, as whoever asks may change its thread, and the calling thread's is read
/// without an allocation.
pub fn run_delay(thread: Option<i32>) -> Option<Nanos> {
    let open =
        |path: &CStr| rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
    let file = match thread {
        None => open(c"/proc/thread-self/schedstat")?,
        Some(id) => open(&CString::new(format!("/proc/self/task/{id}/schedstat")).ok()?)?,
    };
    let mut text = [0_u8; 96];
    let len = rustix::io::read(&file, &mut text[..]).ok()?;
    let text = str::from_utf8(text.get(..len)?).ok()?;
    let delay = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Nanos(delay))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_has_a_run_delay_and_it_is_read_once_an_interval() {
        let mut delay = RunDelay::default();
        assert!(run_delay(None).is_some());
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        assert!(run_delay(Some(own)).is_some());
        assert_eq!(run_delay(Some(-1)), None);
        assert_eq!(delay.lost(Nanos(1)), None, "the first reading is the base");
        assert_eq!(delay.lost(Nanos(2)), None, "it is too soon");
        // As if it had waited for a microsecond less.
        delay.last = delay.last.map(|last| last - last.min(1_000));
        let was = delay.last.unwrap();
        let lost = delay.lost(Nanos(1) + INTERVAL);
        assert_eq!(lost.map_or(0, |lost| lost.0), delay.last.unwrap() - was);
    }
}
