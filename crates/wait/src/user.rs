//! User-level waits: those without the kernel.

use crate::step::MAX_PAUSE;
use crate::{Step, WaitCounters, Watched, Woken, now};
use joulio_cpu::uintr::{Once, Receiver, UintrError};
use joulio_cpu::{CacheLine, Ended, Tsc, UserWait};
use joulio_units::Nanos;

impl WaitCounters {
    fn count(&mut self, ended: Ended) {
        self.limited += u64::from(ended == Ended::Limit);
    }
}

/// The instructions, or a test's.
pub(crate) trait Instructions {
    fn pause(&self, time: Nanos) -> Ended;
    fn arm(&self, line: CacheLine<'_>);
    fn wait(&self, time: Nanos) -> Ended;
}

impl Instructions for UserWait {
    #[inline]
    fn pause(&self, time: Nanos) -> Ended {
        UserWait::pause(self, time)
    }
    #[inline]
    fn arm(&self, line: CacheLine<'_>) {
        UserWait::arm(self, line);
    }
    #[inline]
    fn wait(&self, time: Nanos) -> Ended {
        UserWait::wait(self, time)
    }
}

/// Polls, pauses, and polls again, until ready or the time is over; with the system's limit that may take several
/// pauses.
pub(crate) fn pause(
    cpu: &impl Instructions,
    step: Step,
    watched: &mut impl Watched,
    counters: &mut WaitCounters,
) -> Woken {
    loop {
        if watched.ready() {
            return Woken::Ready;
        }
        let at = now();
        let Some(left) = left(at, step.until) else {
            return Woken::TimedOut;
        };
        counters.pauses += 1;
        counters.count(cpu.pause(left.min(step.max_pause)));
        counters.paused += now() - at;
    }
}

/// Waits for a write to the watched cache line. The order that loses no wake-up: arm, then poll, then wait. A
/// completion before the poll is seen by it; one after the poll is a write after the line was armed, which ends the
/// wait or keeps it from beginning.
pub(crate) fn monitor(
    cpu: &impl Instructions,
    step: Step,
    watched: &mut impl Watched,
    counters: &mut WaitCounters,
) -> Woken {
    loop {
        let armed = watched.cache_line().map(|line| cpu.arm(line)).is_some();
        if watched.ready() {
            return Woken::Ready;
        }
        let at = now();
        let Some(left) = left(at, step.until) else {
            return Woken::TimedOut;
        };
        let (ended, time) = if armed {
            counters.monitors += 1;
            let ended = cpu.wait(left.min(step.max_pause));
            (ended, &mut counters.monitored)
        } else {
            counters.pauses += 1;
            let ended = cpu.pause(left.min(MAX_PAUSE));
            (ended, &mut counters.paused)
        };
        *time += now() - at;
        counters.count(ended);
    }
}

/// User interrupts, or a test's.
pub(crate) trait Interrupts {
    fn clear(&self);
    fn wait(&self, time: Nanos) -> Result<Once, UintrError>;
}

impl Interrupts for Receiver {
    #[inline]
    fn clear(&self) {
        Receiver::clear(self);
    }
    #[inline]
    fn wait(&self, time: Nanos) -> Result<Once, UintrError> {
        self.wait_once(Tsc::get().after(time))
    }
}

/// Pauses until the thread was interrupted. The order that loses no wake-up: clear the mark, then poll, then wait. An
/// interrupt before the clear announced a completion that the poll sees; one after it leaves its mark, because of
/// which the wait does not begin, or ends at once if the interrupt was held back until then. The mark may come from a
/// completion that an earlier poll has found: then the core polls once more.
pub(crate) fn interrupted(
    cpu: &impl Interrupts,
    step: Step,
    watched: &mut impl Watched,
    counters: &mut WaitCounters,
) -> Result<Woken, UintrError> {
    loop {
        cpu.clear();
        if watched.ready() {
            return Ok(Woken::Ready);
        }
        let at = now();
        let Some(left) = left(at, step.until) else {
            return Ok(Woken::TimedOut);
        };
        counters.pauses += 1;
        let waited = cpu.wait(left.min(step.max_pause))?;
        counters.paused += now() - at;
        counters.limited += u64::from(waited.limited);
    }
}

/// Returns the time from `at` up to `until`; `None` if it is over.
fn left(at: Nanos, until: Nanos) -> Option<Nanos> {
    if until == Nanos::MAX {
        return Some(until);
    }
    let left = until.since(at);
    (left > Nanos::ZERO).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocked, StepKind};
    use std::cell::Cell;
    use std::error::Error;
    use std::sync::atomic::AtomicU32;

    /// A core and a device: every action of the core is a moment, and at one of them the device writes its
    /// completion.
    #[derive(Default)]
    struct Machine {
        moments: Cell<u32>,
        /// Moment at which the device writes.
        at: u32,
        /// The line is armed and was not written since.
        armed: Cell<bool>,
        pauses: Cell<u32>,
        /// Longest wait that was requested.
        longest: Cell<Nanos>,
        word: AtomicU32,
    }

    impl Machine {
        fn that_writes(at: u32) -> Machine {
            Machine {
                at,
                ..Machine::default()
            }
        }
        fn moment(&self) {
            self.moments.set(self.moments.get() + 1);
            if self.moments.get() == self.at {
                self.armed.set(false);
            }
        }
        fn is_to_wait(&self, time: Nanos) {
            self.longest.set(self.longest.get().max(time));
        }
        fn written(&self) -> bool {
            self.moments.get() >= self.at
        }
    }

    impl Instructions for &Machine {
        fn pause(&self, time: Nanos) -> Ended {
            self.is_to_wait(time);
            self.moment();
            self.pauses.set(self.pauses.get() + 1);
            Ended::Limit
        }
        fn arm(&self, _: CacheLine<'_>) {
            self.moment();
            self.armed.set(!self.written());
            self.moment();
        }
        fn wait(&self, time: Nanos) -> Ended {
            self.is_to_wait(time);
            self.moment();
            // The line is armed and was written before: nothing would ever wake this core.
            assert!(!(self.armed.get() && self.written()));
            // Otherwise the write comes now, or ended the wait before it began.
            self.moments.set(self.moments.get().max(self.at));
            Ended::Other
        }
    }

    struct Queue<'a>(&'a Machine, bool);

    impl Watched for Queue<'_> {
        fn ready(&mut self) -> bool {
            let written = self.0.written();
            self.0.moment();
            written
        }
        fn cache_line(&mut self) -> Option<CacheLine<'_>> {
            self.0.moment();
            self.1.then(|| CacheLine::from(&self.0.word))
        }
        fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
            unreachable!()
        }
        fn block(&mut self, _: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
            unreachable!()
        }
    }

    #[test]
    fn a_write_at_any_moment_ends_the_wait() {
        for at in 0..40 {
            let machine = Machine::that_writes(at);
            let mut counters = WaitCounters::default();
            let step = Step::forever(StepKind::Monitor);
            let woken = monitor(&&machine, step, &mut Queue(&machine, true), &mut counters);
            assert_eq!(woken, Woken::Ready);
            assert!(counters.monitors <= 1 && counters.pauses == 0);
        }
    }

    /// The device interrupts at the moment when it writes.
    impl Interrupts for &Machine {
        fn clear(&self) {
            self.moment();
            self.armed.set(true);
            self.moment();
        }
        fn wait(&self, time: Nanos) -> Result<Once, UintrError> {
            self.is_to_wait(time);
            self.moment();
            // Written, interrupted before the clear, and not seen: the core would sleep for ever.
            assert!(!(self.armed.get() && self.written()));
            self.moments.set(self.moments.get().max(self.at));
            Ok(Once {
                marked: true,
                limited: false,
            })
        }
    }

    #[test]
    fn an_interrupt_at_any_moment_ends_the_wait() {
        for at in 0..40 {
            let machine = Machine::that_writes(at);
            let mut queue = Queue(&machine, false);
            let mut counters = WaitCounters::default();
            let step = Step::forever(StepKind::UserInterrupt);
            let woken = interrupted(&&machine, step, &mut queue, &mut counters);
            assert_eq!(woken, Ok(Woken::Ready));
            assert!(counters.pauses <= 1);
        }
    }

    #[test]
    fn no_wait_is_longer_than_its_longest_pause() {
        let longest = Nanos::from_micros(7);
        let step = |kind| Step {
            max_pause: longest,
            ..Step::forever(kind)
        };
        let mut counters = WaitCounters::default();
        for kind in [StepKind::Pause, StepKind::Monitor, StepKind::UserInterrupt] {
            let machine = Machine::that_writes(20);
            let mut queue = Queue(&machine, true);
            let woken = match kind {
                StepKind::Pause => pause(&&machine, step(kind), &mut queue, &mut counters),
                StepKind::Monitor => monitor(&&machine, step(kind), &mut queue, &mut counters),
                _ => interrupted(&&machine, step(kind), &mut queue, &mut counters).unwrap(),
            };
            assert_eq!((woken, machine.longest.get()), (Woken::Ready, longest));
        }
    }

    /// A core whose waits take five microseconds.
    struct Slow;

    const FIVE: Nanos = Nanos::from_micros(5);

    fn take_five() {
        let end = now() + FIVE;
        while now() < end {}
    }

    impl Instructions for Slow {
        fn pause(&self, _: Nanos) -> Ended {
            take_five();
            Ended::Other
        }
        fn arm(&self, _: CacheLine<'_>) {}
        fn wait(&self, _: Nanos) -> Ended {
            take_five();
            Ended::Other
        }
    }

    impl Interrupts for Slow {
        fn clear(&self) {}
        fn wait(&self, _: Nanos) -> Result<Once, UintrError> {
            take_five();
            Ok(Once {
                marked: true,
                limited: false,
            })
        }
    }

    #[test]
    fn the_time_of_user_level_waits_is_counted() {
        for (kind, line) in [
            (StepKind::Pause, true),
            (StepKind::Monitor, true),
            (StepKind::Monitor, false),
            (StepKind::UserInterrupt, true),
        ] {
            let machine = Machine::that_writes(9);
            let (mut queue, mut counters) = (Queue(&machine, line), WaitCounters::default());
            let (step, start) = (Step::forever(kind), now());
            let woken = match kind {
                StepKind::Pause => pause(&Slow, step, &mut queue, &mut counters),
                StepKind::Monitor => monitor(&Slow, step, &mut queue, &mut counters),
                _ => interrupted(&Slow, step, &mut queue, &mut counters).unwrap(),
            };
            assert_eq!(woken, Woken::Ready);
            let took = now() - start;
            let WaitCounters {
                pauses,
                monitors,
                paused,
                monitored,
                ..
            } = counters;
            assert!(pauses + monitors > 2, "{kind:?}: {counters:?}");
            assert!(paused >= Nanos(pauses * FIVE.0), "{kind:?}: {counters:?}");
            assert!(
                monitored >= Nanos(monitors * FIVE.0),
                "{kind:?}: {counters:?}"
            );
            assert!(
                paused + monitored <= took,
                "{kind:?}: {counters:?} in {took:?}"
            );
        }
    }

    #[test]
    fn without_a_cache_line_the_core_polls_and_that_is_counted() {
        let machine = Machine::that_writes(20);
        let mut counters = WaitCounters::default();
        let step = Step::forever(StepKind::Monitor);
        let woken = monitor(&&machine, step, &mut Queue(&machine, false), &mut counters);
        assert_eq!(woken, Woken::Ready);
        assert_eq!(counters.monitors, 0);
        assert!(counters.pauses > 3 && counters.limited == counters.pauses);
    }

    #[test]
    fn a_pause_that_the_system_cuts_short_goes_on_to_its_time() {
        let machine = Machine::that_writes(30);
        let mut counters = WaitCounters::default();
        let step = Step::forever(StepKind::Pause);
        let woken = pause(&&machine, step, &mut Queue(&machine, false), &mut counters);
        assert_eq!(woken, Woken::Ready);
        assert_eq!(u64::from(machine.pauses.get()), counters.pauses);
        assert!(counters.pauses >= 14);
        let over = Step::new(StepKind::Pause, Nanos(1));
        let late = Machine::that_writes(u32::MAX);
        let woken = pause(&&late, over, &mut Queue(&late, false), &mut counters);
        assert_eq!((woken, late.pauses.get()), (Woken::TimedOut, 0));
    }
}
