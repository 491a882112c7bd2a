//! Spinning.

use crate::{Watched, Woken, now};
use joulio_units::Nanos;

/// Polls between two readings of the clock in a spin with a deadline: near it, and far from it. The
/// fuzzer's clock goes on by being read.
const POLLS_PER_CLOCK: (u64, u64) = if cfg!(fuzzing) { (1, 1) } else { (16, 4_096) };

/// Vain polls after which a core that shares its CPU with what it waits for yields it: some
/// microseconds, less than what the switch to another thread and back takes.
const POLLS_PER_YIELD: u64 = 256;

/// Spins until ready or `until`. The clock is read only for a deadline, and the CPU yielded only
/// where there is a counter for it.
#[inline]
pub(crate) fn spin(until: Nanos, watched: &mut impl Watched, yields: Option<&mut u64>) -> Woken {
    if let Some(yields) = yields {
        return spin_and_yield(until, watched, yields);
    }
    if until == Nanos::MAX {
        while !watched.ready() {
            std::hint::spin_loop();
        }
        return Woken::Ready;
    }
    let mut polls = POLLS_PER_CLOCK.0;
    loop {
        if is_ready_within(polls, watched) {
            return Woken::Ready;
        }
        let at = now();
        if at >= until {
            return Woken::TimedOut;
        }
        // As long as a poll takes less than a microsecond the deadline is not passed by much.
        polls = ((until - at).0 / 1_024).clamp(POLLS_PER_CLOCK.0, POLLS_PER_CLOCK.1);
    }
}

#[inline]
fn is_ready_within(polls: u64, watched: &mut impl Watched) -> bool {
    for _ in 0..polls {
        if watched.ready() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}

#[cold]
fn spin_and_yield(until: Nanos, watched: &mut impl Watched, yields: &mut u64) -> Woken {
    while !is_ready_within(POLLS_PER_YIELD, watched) {
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
    use crate::Blocked;
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
            let woken = spin(until, &mut After(polls), Some(&mut yields));
            (woken, yields)
        };
        assert_eq!(run(POLLS_PER_YIELD, Nanos::MAX), (Woken::Ready, 0));
        assert_eq!(run(POLLS_PER_YIELD + 1, Nanos::MAX), (Woken::Ready, 1));
        assert_eq!(run(4 * POLLS_PER_YIELD, Nanos::MAX), (Woken::Ready, 3));
        assert_eq!(run(u64::MAX, Nanos(1)), (Woken::TimedOut, 0));
    }
}
