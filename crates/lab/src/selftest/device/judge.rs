//! Checks of reads with a completion mode.

use super::super::check::SelftestCheck;
use super::super::latency::quantile;
use super::reads::ReadsDone;
use joulio_workload::CompletionMode;

/// Largest number of interrupts, context switches and the like that the test does not cause, such as a page fault.
const FEW: u64 = 3;

/// Checks the reads `done` with `mode`, of which up to `depth` were in flight.
pub fn judge(mode: CompletionMode, depth: usize, done: &ReadsDone) -> SelftestCheck {
    let mut check = SelftestCheck::new(format!("{mode}, {depth} outstanding"));
    count(&mut check, done);
    every_read(&mut check, done);
    by_its_mode(&mut check, mode, depth, done);
    if depth == 1 {
        one_by_one(&mut check, mode, done);
    }
    check
}

fn count(check: &mut SelftestCheck, done: &ReadsDone) {
    check.count("reads", done.ios);
    check.count("places", done.places);
    check.count("contents", done.contents);
    let wait = &done.wait;
    for (name, count) in [
        ("user_interrupts", wait.user_interrupts),
        ("pauses", wait.pauses),
        ("monitors", wait.monitors),
        ("blocks", wait.blocks),
        ("interrupts", wait.interrupts),
    ] {
        if count > 0 {
            check.count(name, count);
        }
    }
    if let Some(kernel) = done.kernel {
        check.count("kernel", kernel);
    }
    check.count("switches", away(done));
}

/// Returns how often the thread left its CPU. Interrupts in the meantime go to the kernel.
fn away(done: &ReadsDone) -> u64 {
    done.usage.voluntary_switches + done.usage.involuntary_switches
}

/// Checks that all reads completed once, with the device's data.
fn every_read(check: &mut SelftestCheck, done: &ReadsDone) {
    let (ios, requested) = (done.ios, done.requested);
    check.demand(ios == requested && done.errors == 0, || {
        format!("{ios} of {requested} reads, {} with an error", done.errors)
    });
    check.demand(done.wrong == 0, || {
        format!("{} reads had other data than a read by polling", done.wrong)
    });
    let faults = &done.faults;
    let twice = faults.stale + faults.doubled + faults.unknown;
    check.demand(twice == 0, || format!("{twice} completions too many"));
    let ended = faults.timeouts + faults.resets;
    check.demand(ended == 0, || {
        format!("{ended} timeouts and resets of the controller")
    });
    let lost = done.wait.lost_interrupts;
    check.demand(lost == 0, || format!("{lost} interrupts lost"));
}

/// Checks that the thread waited as requested, and kept its CPU unless the mode blocks.
fn by_its_mode(check: &mut SelftestCheck, mode: CompletionMode, depth: usize, done: &ReadsDone) {
    let wait = &done.wait;
    let blocks = matches!(mode, CompletionMode::UintrBlock(_));
    let gave = wait.blocks.max(done.usage.voluntary_switches);
    check.demand(blocks || gave <= FEW, || {
        format!("the thread gave its CPU away {gave} times")
    });
    let (name, waits) = match mode {
        CompletionMode::Tpause(_) | CompletionMode::HybridTpause => ("pause", wait.pauses),
        CompletionMode::Umwait => ("wait for a store", wait.monitors),
        _ => ("user interrupt", wait.user_interrupts),
    };
    // With several reads in flight, the next one may have completed each time the thread polls. The same is true for a
    // single read of an emulated controller whose doorbell traps. Then no wait is required. Interrupts of completions
    // that were found without waiting are held back until the next wait.
    let may_not = match mode {
        CompletionMode::Uintr | CompletionMode::UintrBlock(_) if done.waited > 0 => false,
        _ => depth > 1 || sent_as_slowly_as_read(done),
    };
    check.demand(waits > 0 || may_not, || format!("there was no {name}"));
    let taken = wait.lost_bindings;
    check.demand(taken == 0, || {
        format!("the interrupt was taken away from the thread {taken} times")
    });
}

/// Returns true if for half of the reads, sending took at least half as long as the fastest read took in total.
fn sent_as_slowly_as_read(done: &ReadsDone) -> bool {
    let mut sending = done.sending.clone();
    sending.sort_unstable();
    let median = quantile(&sending, 0.50);
    let least = done.took.iter().min();
    median
        .zip(least)
        .is_some_and(|(median, &least)| median >= least / 2)
}

/// Checks that there was an interrupt for each completion that was waited for singly. Interrupts of completions that
/// arrived before the thread waited are held back, and become one.
fn one_by_one(check: &mut SelftestCheck, mode: CompletionMode, done: &ReadsDone) {
    let few = FEW + away(done);
    let wait = &done.wait;
    let came = match mode {
        CompletionMode::Uintr => wait.user_interrupts,
        CompletionMode::UintrBlock(_) => wait.user_interrupts + wait.interrupts,
        _ => return,
    };
    check.demand(came + few >= done.waited, || {
        format!("{came} interrupts for {} waits for a read", done.waited)
    });
    if let (CompletionMode::Uintr, Some(kernel)) = (mode, done.kernel) {
        check.demand(kernel <= few, || {
            format!(
                "the kernel took {kernel} interrupts, and the thread left its CPU {} times",
                away(done)
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_nvme::Faults;
    use joulio_nvme::wait::{Tpause, WaitCounters};

    const UINTR: CompletionMode = CompletionMode::Uintr;

    fn good() -> ReadsDone {
        ReadsDone {
            requested: 100,
            ios: 100,
            waited: 100,
            wait: WaitCounters {
                user_interrupts: 100,
                ..WaitCounters::default()
            },
            kernel: Some(1),
            ..ReadsDone::default()
        }
    }

    fn passes(change: impl FnOnce(&mut ReadsDone)) -> bool {
        let mut done = good();
        change(&mut done);
        judge(UINTR, 1, &done).passed
    }

    #[test]
    fn reads_that_are_lost_wrong_or_doubled_fail() {
        assert!(passes(|_| ()));
        assert!(!passes(|done| done.ios = 99));
        assert!(!passes(|done| done.errors = 1));
        assert!(!passes(|done| done.wrong = 1));
        assert!(!passes(|done| done.faults = Faults {
            doubled: 1,
            ..Faults::default()
        }));
        assert!(!passes(|done| done.wait.lost_interrupts = 1));
    }

    #[test]
    fn interrupts_that_took_another_way_fail() {
        assert!(!passes(|done| done.wait.user_interrupts = 90));
        assert!(!passes(|done| done.kernel = Some(50)));
        assert!(!passes(|done| done.usage.voluntary_switches = 50));
        assert!(!passes(|done| done.wait.lost_bindings = 1));
        // Interrupts go to the kernel while the thread is off its CPU.
        assert!(passes(|done| {
            done.wait.user_interrupts = 90;
            done.kernel = Some(10);
            done.usage.involuntary_switches = 10;
        }));
    }

    #[test]
    fn a_mode_that_never_waited_its_way_fails() {
        let done = good();
        let says = |mode, depth| {
            let failures = judge(mode, depth, &done).failures;
            failures
                .iter()
                .any(|failure| failure.starts_with("there was no "))
        };
        assert!(says(CompletionMode::Umwait, 1));
        assert!(!says(CompletionMode::Umwait, 32), "its polls may find all");
        assert!(says(CompletionMode::HybridTpause, 1));
        assert!(!says(CompletionMode::HybridTpause, 32));
        assert!(says(CompletionMode::Tpause(Tpause::PAUSE), 1));
        assert!(!says(CompletionMode::Tpause(Tpause::PAUSE), 32));
        // Each read may have completed before the thread waited for it.
        let mut slow = ReadsDone {
            took: vec![900, 1000, 5000],
            sending: vec![100, 500, 700],
            ..good()
        };
        let passes = |done: &ReadsDone| {
            let modes = [CompletionMode::HybridTpause, CompletionMode::Umwait];
            modes.map(|mode| judge(mode, 1, done).passed)
        };
        assert_eq!(passes(&slow), [true, true]);
        slow.sending = vec![100, 200, 700];
        assert_eq!(passes(&slow), [false, false]);
        let mut quiet = ReadsDone {
            waited: 0,
            wait: WaitCounters::default(),
            ..good()
        };
        assert!(judge(UINTR, 32, &quiet).passed, "its polls may find all");
        quiet.waited = 1;
        assert!(!judge(UINTR, 32, &quiet).passed, "an interrupt is owed");
        slow.wait.user_interrupts = 50;
        assert!(!judge(UINTR, 1, &slow).passed, "each has its own");
        slow.waited = 50;
        assert!(judge(UINTR, 1, &slow).passed, "the others were there");
    }
}
