//! io_uring's hybrid polling: sleep for half of the least time ever seen, then poll.

use super::once::Once;
use crate::{Class, Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// The rule of `IORING_SETUP_HYBRID_IOPOLL` (Linux 6.13, commit 01ee194d1aba; io_uring/rw.c), for a queue in place of
/// a ring: the time of an I/O, less the sleep that was requested for it, is compared with the least so far, of any
/// size and direction; each I/O sleeps once for half of the least time. That time never rises.
///
/// The sleep counts from the submission, as [`crate::Hybrid`]'s does; the kernel's counts from the first poll. The
/// kernel measures only the I/O that it polls for; here each I/O is measured.
#[derive(Clone, Debug, Default)]
pub struct UringHybrid {
    /// Least time so far: `hybrid_poll_time`.
    least: Option<Nanos>,
    /// Submission of the last I/O that the core slept for, and the length of the sleep.
    slept: Option<(Nanos, Nanos)>,
    once: Once,
}

impl UringHybrid {
    /// Creates a policy that does not sleep before it has seen an I/O.
    pub fn new() -> UringHybrid {
        UringHybrid::default()
    }
}

impl Policy for UringHybrid {
    fn name(&self) -> Cow<'static, str> {
        "uring-hybrid".into()
    }

    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Sleep)
    }

    fn timed(&self) -> bool {
        true
    }

    fn completed(&mut self, _: Class, submitted: Nanos, at: Nanos) {
        let mut time = at - submitted;
        if let Some((_, sleep)) = self.slept.filter(|&(of, _)| of == submitted) {
            time = time - sleep;
            self.slept = None;
        }
        self.least = Some(self.least.map_or(time, |least| least.min(time)));
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        let Some(least) = self.least else {
            return Step::SPIN;
        };
        let sleep = Nanos(least.0 / 2);
        let until = |_, submitted| Step::sleep_until(submitted + sleep);
        let step = self.once.plan(outstanding, now, until);
        let step = step.unwrap_or(Step::SPIN);
        if step.kind == StepKind::Sleep {
            self.slept = Some((step.until - sleep, sleep));
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, READ, WRITE};
    use super::*;

    fn plan(policy: &mut UringHybrid, submitted: u64) -> Step {
        let steps = policy.steps();
        let commands = Commands(vec![(READ, submitted)]);
        policy.plan(&commands, steps, Nanos(submitted + 10))
    }

    fn sleep_until(until: u64) -> Step {
        Step::sleep_until(Nanos(until))
    }

    /// On a device that takes 10 us at depth 1 the first sleep is subtracted from the time that contains it, so that
    /// the least time falls to a half, and the sleep to a quarter, for good.
    #[test]
    fn the_sleep_of_a_steady_device_halves_once() {
        let mut policy = UringHybrid::new();
        assert_eq!(plan(&mut policy, 1_000), Step::SPIN);
        policy.completed(READ, Nanos(1_000), Nanos(11_000));
        assert_eq!(plan(&mut policy, 20_000), sleep_until(25_000));
        policy.completed(READ, Nanos(20_000), Nanos(30_000));
        for i in 2..10 {
            let at = i * 20_000;
            assert_eq!(plan(&mut policy, at), sleep_until(at + 2_500));
            policy.completed(READ, Nanos(at), Nanos(at + 10_000));
        }
    }

    #[test]
    fn one_quick_io_of_any_class_shortens_the_sleep_of_all_for_good() {
        let mut policy = UringHybrid::new();
        policy.completed(READ, Nanos(0), Nanos(80_000));
        policy.completed(WRITE, Nanos(80_000), Nanos(82_000));
        for i in 1..10 {
            policy.completed(READ, Nanos(i * MS), Nanos(i * MS + 80_000));
        }
        let at = 10 * MS;
        assert_eq!(plan(&mut policy, at), sleep_until(at + 1_000));
    }

    const MS: u64 = super::super::testing::MS;

    #[test]
    fn only_the_io_slept_for_has_its_sleep_taken_off() {
        let mut policy = UringHybrid::new();
        policy.completed(READ, Nanos(0), Nanos(10_000));
        let both = Commands(vec![(READ, 20_000), (WRITE, 21_000)]);
        let steps = policy.steps();
        let step = policy.plan(&both, steps, Nanos(22_000));
        assert_eq!(step, sleep_until(25_000));
        policy.completed(WRITE, Nanos(21_000), Nanos(30_000));
        assert_eq!(plan(&mut policy, 40_000), sleep_until(44_500));
    }
}
