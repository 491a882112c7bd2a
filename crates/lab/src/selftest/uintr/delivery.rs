//! Interrupts at any moment: each has to be seen once.

use super::super::check::SelftestCheck;
use super::super::error::SelftestError;
use super::super::latency::Latency;
use super::super::report::Parts;
use super::super::spread::spread;
use super::consumer::Consumer;
use super::setup::{UintrCounts, UintrSetup};
use joulio_cpu::Tsc;
use joulio_cpu::uintr::ReceiverState;
use joulio_units::Nanos;

/// Number of lost interrupts after which a trial ends: more would show nothing new.
const ENOUGH_LOST: u64 = 5;

/// Trial with one kind of interrupts, one at a time.
pub struct Trial {
    pub name: String,
    pub rounds: u32,
    pub how: RaisedWhen,
    /// True if some interrupts have to arrive while the thread is off its CPU.
    pub away: bool,
}

/// Way in which the interrupts of a trial are raised.
#[derive(Clone, Copy)]
pub enum RaisedWhen {
    /// System call of the thread itself.
    Now,
    /// Timer that ends within this time: before, during or at the edges of the wait.
    Within(Nanos),
}

/// Runs the trial and adds its check.
pub fn test(setup: &mut UintrSetup, trial: &Trial, parts: &mut Parts) -> Result<(), SelftestError> {
    let before = setup.counts()?;
    setup.signals();
    let mut consumer = Consumer::new(setup)?;
    let mut took = Vec::new();
    for n in 0..trial.rounds {
        setup.receiver.clear();
        let begun = Tsc::now();
        match trial.how {
            RaisedWhen::Now => setup.source.raise(),
            RaisedWhen::Within(time) => setup.source.raise_after(spread(n, time)),
        }?;
        consumer.next(setup)?;
        took.push(Tsc::now().wrapping_sub(begun));
        if consumer.lost >= ENOUGH_LOST {
            break;
        }
    }
    let after = setup.counts()?;
    let since = Since::new(&before, &after, setup.signals());
    parts.checks.push(judge(trial, &consumer, &since));
    if let RaisedWhen::Now = trial.how {
        let what = format!("{}: from before write(2) to after the check", trial.name);
        parts.latency.push(Latency::of(what, took));
    }
    Ok(())
}

/// Differences between the counts at the start and at the end of a trial.
struct Since {
    raised: u64,
    handled: u64,
    kernel: u64,
    signals: u64,
    switches: u64,
    injected: u64,
    rescued: u64,
    bound: bool,
}

impl Since {
    fn new(before: &UintrCounts, after: &UintrCounts, signals: u64) -> Since {
        let (then, now) = (&before.status, &after.status);
        Since {
            raised: after.raised.wrapping_sub(before.raised),
            handled: after.handled.wrapping_sub(before.handled),
            // The kernel's counter has 32 bits.
            kernel: u64::from(after.kernel.wrapping_sub(before.kernel) as u32),
            signals,
            switches: now.switches_out.wrapping_sub(then.switches_out),
            injected: now.injected.wrapping_sub(then.injected),
            rescued: now.rescued.wrapping_sub(then.rescued),
            bound: now.state == ReceiverState::Bound,
        }
    }

    /// Returns the number of interrupts that were seen although neither the handler ran for them nor the kernel took
    /// them. The handler runs once for each raised interrupt that the kernel does not take, and once for each injected
    /// one. An interrupt that was pending when the thread left its CPU, and is injected when it is back, gives only one
    /// run. Fewer runs mean that an interrupt was swallowed and an injected one replaced it. An interrupt that arrives
    /// just between the injection and the return to user space also merges with it, so a few are allowed.
    fn made_good(&self, consumer: &Consumer) -> u64 {
        let runs = self.handled + self.kernel + self.rescued + consumer.lost;
        (self.raised + self.injected).saturating_sub(runs)
    }
}

fn judge(trial: &Trial, consumer: &Consumer, since: &Since) -> SelftestCheck {
    let mut check = SelftestCheck::new(&trial.name);
    for (name, count) in [
        ("raised", since.raised),
        ("seen", consumer.seen),
        ("lost", consumer.lost),
        ("user_interrupts", since.handled),
        ("kernel_interrupts", since.kernel),
        ("eventfd_signals", since.signals),
        ("switches", since.switches),
        ("injected", since.injected),
        ("rescued", since.rescued),
        ("marks_without_one", consumer.spurious),
        ("made_good_by_injected", since.made_good(consumer)),
    ] {
        check.count(name, count);
    }
    let Since {
        raised,
        handled,
        kernel,
        switches,
        injected,
        ..
    } = *since;
    check.demand(consumer.lost == 0, || {
        format!("{} of {raised} lost", consumer.lost)
    });
    check.demand(
        consumer.seen + consumer.lost == raised && consumer.doubled == 0,
        || {
            format!(
                "{raised} were raised one at a time, and {} seen",
                consumer.seen
            )
        },
    );
    check.demand(since.bound, || {
        "the interrupt was taken away meanwhile".into()
    });
    // One interrupt is in flight at a time, so a context switch sends at most one to the kernel.
    check.demand(kernel <= switches, || {
        format!("the kernel took {kernel}, and the thread left its CPU {switches} times only")
    });
    check.demand(handled + kernel >= raised && handled <= raised + injected, || {
        format!("of {raised} the handler took {handled} and the kernel {kernel}, {injected} were injected")
    });
    check.demand(since.made_good(consumer) <= 1 + injected / 8, || {
        let made_good = since.made_good(consumer);
        format!(
            "{made_good} were seen only because another thread ran and one was injected for that"
        )
    });
    check.demand(!trial.away || kernel > 0, || {
        "none came while the thread was away from its CPU: not tested; take more --rounds".into()
    });
    check
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(away: bool) -> Trial {
        Trial {
            name: "x".into(),
            rounds: 10,
            how: RaisedWhen::Now,
            away,
        }
    }

    fn good() -> (Consumer, Since) {
        let consumer = Consumer::seen(10);
        let since = Since {
            raised: 10,
            handled: 11,
            kernel: 1,
            signals: 1,
            switches: 2,
            injected: 2,
            rescued: 0,
            bound: true,
        };
        (consumer, since)
    }

    #[test]
    fn all_that_is_counted_has_to_add_up() {
        let (consumer, since) = good();
        assert!(judge(&trial(true), &consumer, &since).passed);
        type Spoil = fn(&mut Consumer, &mut Since);
        let spoils: [Spoil; 8] = [
            // A handler that does not re-arm, on a machine with many context switches.
            |_, since| (since.injected, since.switches, since.handled) = (11, 11, 11),
            |consumer, _| consumer.lost = 1,
            |consumer, _| consumer.seen = 9,
            |consumer, _| consumer.doubled = 1,
            |_, since| since.bound = false,
            |_, since| (since.kernel, since.switches) = (3, 2),
            |_, since| since.handled = 8,
            |_, since| since.handled = 13,
        ];
        for spoil in spoils {
            let (mut consumer, mut since) = good();
            spoil(&mut consumer, &mut since);
            assert!(!judge(&trial(false), &consumer, &since).passed);
        }
    }

    #[test]
    fn beside_another_some_have_to_come_while_the_thread_is_away() {
        let (consumer, mut since) = good();
        since.kernel = 0;
        assert!(judge(&trial(false), &consumer, &since).passed);
        assert!(!judge(&trial(true), &consumer, &since).passed);
    }
}
