//! The time that a thread was ready and did not run, since others had its CPU.

use joulio_units::Nanos;
use rustix::fs::{Mode, OFlags};
use std::ffi::{CStr, CString};

/// Time between two readings.
const INTERVAL: Nanos = Nanos::from_millis(10);

/// Weight of a new measurement in the mean time of a wake-up.
const NEW: f64 = 1.0 / 8.0;

/// Time that the thread spent on run queues behind others, read now and then.
#[derive(Debug, Default)]
pub struct RunDelay {
    next: Nanos,
    last: Option<Reading>,
    reads: u64,
    /// Nanoseconds on a run queue for each wake-up, while no other thread had the CPU.
    wake: f64,
}

/// A reading of the thread's schedstat, and how often the thread gave its CPU away by itself.
#[derive(Clone, Copy, Debug)]
struct Reading {
    delay: u64,
    /// Times that it was given a CPU.
    turns: u64,
    gave: u64,
}

impl RunDelay {
    /// Returns the time that was lost to others since the last reading, if one is due at `at`. The thread gave its
    /// CPU away `gave` times by itself up to now, in blocks and sleeps: each wake-up includes a time of being ready
    /// and not running yet, which takes tens of microseconds if the core has to wake first, as in a virtual machine.
    #[inline]
    pub fn lost(&mut self, at: Nanos, gave: u64) -> Option<Nanos> {
        if at < self.next {
            return None;
        }
        self.read(at, gave)
    }

    /// Number of readings, of three system calls each.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    #[cold]
    fn read(&mut self, at: Nanos, gave: u64) -> Option<Nanos> {
        let elapsed = (at + INTERVAL).since(self.next);
        self.next = at + INTERVAL;
        self.reads += 1;
        // Unknown without the kernel's CONFIG_SCHED_INFO.
        let [delay, turns] = schedstat(None)?;
        let now = Reading { delay, turns, gave };
        let last = self.last.replace(now)?;
        let late = now.delay.checked_sub(last.delay)?;
        let turns = now.turns.saturating_sub(last.turns);
        let woken = now.gave.saturating_sub(last.gave);
        match tells(late, elapsed) {
            true => self.behind_others(late, turns, woken),
            false => None,
        }
    }

    /// Returns the part of `late` nanoseconds on a run queue that was lost to others, before `turns` turns on a CPU,
    /// of which `woken` came after the thread had given it away.
    fn behind_others(&mut self, late: u64, turns: u64, woken: u64) -> Option<Nanos> {
        if turns <= woken {
            self.wake += (late as f64 / woken.max(1) as f64 - self.wake) * NEW;
            return None;
        }
        let lost = late.saturating_sub((self.wake * woken as f64) as u64);
        (lost > 0).then_some(Nanos(lost))
    }
}

/// Returns true if `late` nanoseconds on a run queue within `elapsed` say something of each moment of that time.
fn tells(late: u64, elapsed: Nanos) -> bool {
    // A little of a long time, for example of blocks, is next to nothing of each moment. Much of it is not: the
    // thread itself reads, so that a reading is late just when others have the CPU.
    let stale = elapsed > Nanos(3 * INTERVAL.0) && late < elapsed.0 / 10;
    // More than the elapsed time is that of another thread, which had the group before.
    late > 0 && late <= elapsed.0 && !stale
}

/// Returns the time that a thread of this process, or the calling one, has waited on run queues: the second number of
/// its schedstat (Documentation/scheduler/sched-stats.rst), if the kernel counts it. The file is opened each time,
/// since the group may change its thread; the calling thread's is read without an allocation.
pub fn run_delay(thread: Option<i32>) -> Option<Nanos> {
    schedstat(thread).map(|[delay, _]| Nanos(delay))
}

/// Returns the second and third numbers of schedstat: nanoseconds on run queues, and turns on a CPU.
fn schedstat(thread: Option<i32>) -> Option<[u64; 2]> {
    let open =
        |path: &CStr| rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
    let file = match thread {
        None => open(c"/proc/thread-self/schedstat")?,
        Some(id) => open(&CString::new(format!("/proc/self/task/{id}/schedstat")).ok()?)?,
    };
    let mut text = [0_u8; 96];
    let len = rustix::io::read(&file, &mut text[..]).ok()?;
    let text = str::from_utf8(text.get(..len)?).ok()?;
    let mut numbers = text.split_ascii_whitespace().skip(1);
    let mut next = || numbers.next()?.parse().ok();
    Some([next()?, next()?])
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
        assert_eq!(
            delay.lost(Nanos(1), 0),
            None,
            "the first reading is the base"
        );
        assert_eq!(delay.lost(Nanos(2), 0), None, "it is too soon");
        // Changed as if it had waited for a microsecond less, and had had a turn less.
        let last = delay.last.as_mut().unwrap();
        last.delay -= last.delay.min(1_000);
        last.turns -= 1;
        let was = last.delay;
        let lost = delay.lost(Nanos(1) + INTERVAL, 0);
        let now = delay.last.unwrap();
        assert_eq!(lost.map_or(0, |lost| lost.0), now.delay - was);
    }

    #[test]
    fn a_late_reading_counts_if_much_of_its_time_was_lost() {
        let millis = Nanos::from_millis;
        let tells = |late: Nanos, elapsed: Nanos| super::tells(late.0, elapsed);
        assert!(tells(millis(40), millis(50)), "a slice of 40 ms");
        assert!(tells(millis(950), millis(1_000)), "the end of a quota");
        assert!(!tells(millis(3), millis(1_000)), "little of a long time");
        assert!(tells(millis(3), millis(12)), "a usual reading");
        assert!(!tells(Nanos::ZERO, millis(12)) && !tells(millis(13), millis(12)));
        // All of it was lost to others, as the thread never gave its CPU away.
        let lost = RunDelay::default().behind_others(millis(40).0, 1, 0);
        assert_eq!(lost, Some(millis(40)));
    }

    #[test]
    fn what_wake_ups_take_is_not_lost_to_others() {
        let micros = Nanos::from_micros;
        let mut delay = RunDelay::default();
        let mut lost =
            |micros: u64, turns: u64, gave: u64| delay.behind_others(micros * 1_000, turns, gave);
        assert_eq!(lost(3_000, 1, 0), Some(micros(3_000)), "who never waits");
        // 40 us each, and some blocks for which the interrupt was already there.
        for _ in 0..100 {
            assert_eq!(lost(4_000, 100, 110), None);
        }
        let beside = lost(7_000, 101, 100).unwrap();
        assert!(
            (micros(3_000)..micros(3_500)).contains(&beside),
            "{beside:?}"
        );
        assert_eq!(lost(3_000, 101, 100), None, "no more than wake-ups take");
    }
}
