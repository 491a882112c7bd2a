//! Spinning.

use crate::{Step, Watched, Woken, now};
use joulio_units::Nanos;

/// Polls between two readings of the clock in a spin with a deadline: near the deadline, and far from it; fewer where
/// a poll has several PAUSE instructions. The fuzzer's clock advances when it is read.
const POLLS_PER_CLOCK: (u64, u64) = if cfg!(fuzzing) { (1, 1) } else { (16, 4_096) };

/// Number of empty polls after which a core that shares its CPU with the device's thread yields it: some
/// microseconds, less than a switch to another thread and back. Fewer where a poll has several PAUSE instructions.
const POLLS_PER_YIELD: u64 = 256;

/// Spins until ready or the step's end. The clock is read only for a deadline, and the CPU yielded only if there is a
/// counter for it.
#[inline]
pub(crate) fn spin(step: Step, watched: &mut impl Watched, yields: Option<&mut u64>) -> Woken {
    if let Some(yields) = yields {
        return spin_and_yield(step, watched, yields);
    }
    match step.pauses {
        1 => spin_with(step.until, watched, 1, std::hint::spin_loop),
        pauses => spin_with(step.until, watched, length(pauses), || relax(pauses)),
    }
}

/// Returns the length of a poll with `pauses` PAUSE instructions, in polls with one: on most processors two PAUSE
/// instructions take at least as long as the poll itself.
fn length(pauses: u32) -> u64 {
    1 + u64::from(pauses) / 2
}

/// Executes `pauses` PAUSE instructions.
#[inline]
fn relax(pauses: u32) {
    for _ in 0..pauses {
        std::hint::spin_loop();
    }
}

/// Spins until ready or `until`, with polls that are `length` times as long as usual.
#[inline]
fn spin_with(until: Nanos, watched: &mut impl Watched, length: u64, relax: impl Fn()) -> Woken {
    if until == Nanos::MAX {
        while !watched.ready() {
            relax();
        }
        return Woken::Ready;
    }
    let (near, far) = POLLS_PER_CLOCK;
    let (near, far) = ((near / length).max(1), (far / length).max(1));
    let mut polls = near;
    loop {
        if is_ready_within(polls, watched, &relax) {
            return Woken::Ready;
        }
        let at = now();
        if at >= until {
            return Woken::TimedOut;
        }
        // As long as a usual poll takes less than a microsecond, the deadline is exceeded by little.
        polls = ((until - at).0 / 1_024 / length).clamp(near, far);
    }
}

#[inline]
fn is_ready_within(polls: u64, watched: &mut impl Watched, relax: &impl Fn()) -> bool {
    for _ in 0..polls {
        if watched.ready() {
            return true;
        }
        relax();
    }
    false
}

#[cold]
fn spin_and_yield(step: Step, watched: &mut impl Watched, yields: &mut u64) -> Woken {
    let Step { until, pauses, .. } = step;
    let polls = (POLLS_PER_YIELD / length(pauses)).max(1);
    while !is_ready_within(polls, watched, &|| relax(pauses)) {
        if until != Nanos::MAX && now() >= until {
            return Woken::TimedOut;
        }
        *yields += 1;
        std::thread::yield_now();
    }
    Woken::Ready
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocked, StepKind};
    use std::error::Error;

    /// Becomes ready at the nth poll.
    struct After(u64);

    impl Watched for After {
        fn ready(&mut self) -> bool {
            self.0 = self.0.saturating_sub(1);
            self.0 == 0
        }
        fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
            unreachable!()
        }
        fn block(&mut self, _: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
            unreachable!()
        }
    }

    #[test]
    fn a_spin_yields_after_so_many_vain_polls_and_not_before() {
        let mut yields = 0;
        let mut run = |polls, until| {
            yields = 0;
            let step = Step::new(StepKind::Spin, until);
            let woken = spin(step, &mut After(polls), Some(&mut yields));
            (woken, yields)
        };
        assert_eq!(run(POLLS_PER_YIELD, Nanos::MAX), (Woken::Ready, 0));
        assert_eq!(run(POLLS_PER_YIELD + 1, Nanos::MAX), (Woken::Ready, 1));
        assert_eq!(run(4 * POLLS_PER_YIELD, Nanos::MAX), (Woken::Ready, 3));
        assert_eq!(run(u64::MAX, Nanos(1)), (Woken::TimedOut, 0));
    }

    #[test]
    fn a_spin_ends_alike_with_any_number_of_pauses() {
        for pauses in [0, 1, 8] {
            let step = Step {
                pauses,
                ..Step::SPIN
            };
            assert_eq!(spin(step, &mut After(9), None), Woken::Ready);
            let over = step.bounded(Nanos(1));
            assert_eq!(spin(over, &mut After(u64::MAX), None), Woken::TimedOut);
        }
    }

    /// Counts its polls, and never becomes ready.
    struct Never(u64);

    impl Watched for Never {
        fn ready(&mut self) -> bool {
            self.0 += 1;
            false
        }
        fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
            unreachable!()
        }
        fn block(&mut self, _: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
            unreachable!()
        }
    }

    #[test]
    fn a_spin_with_long_polls_ends_after_fewer_of_them() {
        let polls = |pauses, mut yields: Option<u64>| {
            let mut never = Never(0);
            let step = Step {
                pauses,
                ..Step::new(StepKind::Spin, Nanos(1))
            };
            let woken = spin(step, &mut never, yields.as_mut());
            assert_eq!(woken, Woken::TimedOut);
            never.0
        };
        let none = [0, 1, 8, 100, 1_000].map(|pauses| polls(pauses, None));
        assert_eq!(none, [16, 16, 3, 1, 1]);
        let yields = [0, 1, 8, 100, 1_000].map(|pauses| polls(pauses, Some(0)));
        assert_eq!(yields, [256, 256, 51, 5, 1]);
    }
}
