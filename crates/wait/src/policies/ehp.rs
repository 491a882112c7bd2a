//! Efficient hybrid polling: sleep until just before the least time of the last epoch.

use super::once::Once;
use crate::{Class, Outstanding, Policy, Step, StepKind, StepSet};
use joulio_units::Nanos;
use std::borrow::Cow;

/// The rule of G. Lee, S. Shin and J. Jeong, "Efficient hybrid polling for ultra-low latency storage devices"
/// (Journal of Systems Architecture 122, 2022), as its authors' kernel has it (github.com/skkucsl/ehp,
/// block/blk-mq.c). At the end of each epoch of 10 ms every class of I/O gets its rule for the next epoch, from the
/// least time of its I/Os: interrupts if that is at least ten times the cost of a sleep, which that kernel calls a
/// busy device; otherwise a sleep that ends earlier by that cost, or polling if there is no time for a sleep. The
/// first epoch polls.
#[derive(Clone, Debug, Default)]
pub struct Ehp {
    epochs: Box<Epochs>,
    once: Once,
}

#[derive(Clone, Debug, Default)]
struct Epochs {
    start: Option<Nanos>,
    /// An epoch has ended.
    learnt: bool,
    /// The least time of each class in this epoch; `None`: no I/O yet.
    running: [Option<Nanos>; Class::KEPT],
    rules: [Rule; Class::KEPT],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rule {
    /// Polls: nothing is known, or the device is quicker than a sleep.
    #[default]
    Poll,
    Sleep(Nanos),
    Interrupt,
}

impl Ehp {
    /// Length of an epoch.
    pub const EPOCH: Nanos = Nanos::from_millis(10);
    /// Time of a context switch, as the paper measured it.
    pub const SWITCH: Nanos = Nanos(1_487);
    /// Time of an interrupt's service, as the paper measured it.
    pub const SERVICE: Nanos = Nanos(1_076);
    /// Overhead of a sleep: to another context and back, and the timer's interrupt.
    pub const OVERHEAD: Nanos = Nanos(2 * Ehp::SWITCH.0 + Ehp::SERVICE.0);
    /// Ratio of device time to overhead from which on a device is waited for by interrupts.
    pub const BENEFIT: u64 = 10;

    /// Creates a policy that polls for an epoch first.
    pub fn new() -> Ehp {
        Ehp::default()
    }
}

impl Rule {
    /// Returns the rule after an epoch whose least time was `least`.
    fn after(least: Nanos) -> Rule {
        if least.0 >= Ehp::BENEFIT * Ehp::OVERHEAD.0 {
            Rule::Interrupt
        } else if least > Ehp::OVERHEAD {
            Rule::Sleep(least - Ehp::OVERHEAD)
        } else {
            Rule::Poll
        }
    }
}

impl Epochs {
    /// Classes without an I/O keep their rule.
    fn turn(&mut self, at: Nanos) {
        self.start = Some(at);
        self.learnt = true;
        for (least, rule) in self.running.iter_mut().zip(&mut self.rules) {
            *rule = least.take().map_or(*rule, Rule::after);
        }
    }

    fn rule(&self, class: Class) -> Rule {
        class.kept().map_or(Rule::Poll, |index| self.rules[index])
    }
}

impl Policy for Ehp {
    fn name(&self) -> Cow<'static, str> {
        "ehp".into()
    }

    fn steps(&self) -> StepSet {
        let steps = StepSet::NONE.with(StepKind::Spin).with(StepKind::Sleep);
        steps.with(StepKind::Block)
    }

    fn timed(&self) -> bool {
        true
    }

    fn learning(&self) -> Nanos {
        match self.epochs.learnt {
            true => Nanos::ZERO,
            false => Ehp::EPOCH,
        }
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        // Before the turn: the I/O was waited for by the rules of the epoch that ends.
        if let Some(index) = class.kept() {
            let least = self.epochs.running[index].get_or_insert(Nanos::MAX);
            *least = (*least).min(at - submitted);
        }
        let start = *self.epochs.start.get_or_insert(at);
        if at.since(start) >= Ehp::EPOCH {
            self.epochs.turn(at);
        }
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, now: Nanos) -> Step {
        let Ehp { epochs, once } = self;
        let wish = |class, submitted| match epochs.rule(class) {
            Rule::Poll => Step::SPIN,
            Rule::Sleep(sleep) => Step::sleep_until(submitted + sleep),
            Rule::Interrupt => Step::BLOCK,
        };
        let step = once.plan(outstanding, now, wish);
        step.unwrap_or(Step::SPIN)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Commands, MS, READ, WRITE};
    use super::*;
    use joulio_units::Direction;

    /// A policy that has seen an epoch of reads, and of writes, of these times.
    fn after(reads: &[u64], writes: &[u64]) -> Ehp {
        let mut policy = Ehp::new();
        for (class, times) in [(READ, reads), (WRITE, writes)] {
            for time in times {
                policy.completed(class, Nanos(MS), Nanos(MS + time));
            }
        }
        let flush = Class::new(Direction::Other, 0);
        policy.completed(flush, Nanos(12 * MS), Nanos(12 * MS + 1));
        policy
    }

    fn plan(policy: &mut Ehp, commands: &[(Class, u64)], now: u64) -> Step {
        let steps = policy.steps();
        policy.plan(&Commands(commands.to_vec()), steps, Nanos(now))
    }

    const NOW: u64 = 13 * MS;

    #[test]
    fn the_overhead_is_the_papers() {
        assert_eq!(Ehp::OVERHEAD, Nanos(4_050));
    }

    #[test]
    fn a_sleep_ends_the_overhead_before_the_least_time() {
        // An Optane drive with about 9 us: the policy spins for most of it.
        let mut policy = after(&[9_000, 10_000, 9_500], &[]);
        let step = plan(&mut policy, &[(READ, NOW)], NOW + 100);
        assert_eq!(step, Step::sleep_until(Nanos(NOW + 4_950)));
        // One sleep only.
        assert_eq!(plan(&mut policy, &[(READ, NOW)], NOW + 5_000), Step::SPIN);
        // Nothing is known of writes.
        assert_eq!(plan(&mut policy, &[(WRITE, NOW + 1)], NOW + 1), Step::SPIN);
    }

    #[test]
    fn the_first_epoch_polls() {
        let mut policy = Ehp::new();
        policy.completed(READ, Nanos(1), Nanos(20_000));
        assert_eq!(plan(&mut policy, &[(READ, 30_000)], 30_001), Step::SPIN);
    }

    #[test]
    fn ten_times_the_overhead_is_waited_for_by_interrupts() {
        let mut policy = after(&[40_500, 50_000], &[40_499, 50_000]);
        assert_eq!(plan(&mut policy, &[(READ, NOW)], NOW), Step::BLOCK);
        let sleep = Step::sleep_until(Nanos(NOW + 40_499 - 4_050));
        assert_eq!(plan(&mut policy, &[(WRITE, NOW)], NOW), sleep);
        // Both classes: a block that ends when the sleep would.
        let mut policy = after(&[40_500], &[40_499]);
        let both = [(READ, NOW), (WRITE, NOW)];
        let step = plan(&mut policy, &both, NOW);
        assert_eq!((step.kind, step.until), (StepKind::Block, sleep.until));
        assert_eq!(plan(&mut policy, &both, sleep.until.0), Step::SPIN);
    }

    #[test]
    fn a_device_quicker_than_a_sleep_is_polled() {
        let mut policy = after(&[4_050], &[4_051]);
        assert_eq!(plan(&mut policy, &[(READ, NOW)], NOW), Step::SPIN);
        let sleep = Step::sleep_until(Nanos(NOW + 1));
        assert_eq!(plan(&mut policy, &[(WRITE, NOW)], NOW), sleep);
    }

    #[test]
    fn the_least_time_alone_decides_however_long_the_others_took() {
        let mut policy = after(&[9_000, 27_000, 900_000], &[]);
        let sleep = Step::sleep_until(Nanos(NOW + 4_950));
        assert_eq!(plan(&mut policy, &[(READ, NOW)], NOW), sleep);
    }

    #[test]
    fn a_class_without_an_io_keeps_its_rule() {
        let mut policy = after(&[], &[20_000]);
        policy.completed(READ, Nanos(40 * MS), Nanos(40 * MS + 9_000));
        let step = plan(&mut policy, &[(WRITE, 41 * MS)], 41 * MS);
        assert_eq!(step, Step::sleep_until(Nanos(41 * MS + 15_950)));
    }
}
