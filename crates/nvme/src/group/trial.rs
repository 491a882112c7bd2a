//! Trial of redirected interrupts: whether they really write.
//!
//! A machine may accept the write to an MSI-X table entry and ignore it (a hypervisor that emulates the table, for
//! example): then the line would never wake a core. So the first completion of each queue tries its redirection,
//! while the core still polls.

use joulio_units::Nanos;

/// Longest time for which the words of completions may be missing: longer than any coalescing (25.5 ms: NVM Express
/// Base 2.0, 5.27.1.6), and longer than a software device is kept from its CPU.
const LIMIT: Nanos = Nanos::from_millis(1_000);
/// Number of times that a completion has to be seen without its word. Once is not enough: a controller that coalesces
/// need not interrupt for completions that the host has taken by then, and a reset loses interrupts.
const TIMES: u32 = 100;

/// Trial of one queue's redirection, until its word is written.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Time when a completion was first seen without its word.
    since: Option<Nanos>,
    times: u32,
    /// Another queue has written the word while this queue had a completion.
    overwritten: bool,
}

impl Trial {
    /// Counts a completion that was seen at `at` without its word; returns whether the redirection has failed.
    pub(super) fn unwritten(&mut self, at: Nanos) -> bool {
        if self.overwritten {
            return false;
        }
        let since = *self.since.get_or_insert(at);
        self.times = self.times.saturating_add(1);
        self.times >= TIMES && at.since(since) >= LIMIT
    }

    /// Notes that another queue has written the word, so that words that are missing for the completions now there
    /// prove nothing.
    pub(super) fn overwritten(&mut self) {
        self.overwritten = true;
    }

    /// Forgets the write of another queue: no completion is left.
    pub(super) fn is_over(&mut self) {
        self.overwritten = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stay_away_for_long_and_often_are_a_failure() {
        let mut trial = Trial::default();
        let start = Nanos(5);
        assert!(!(0..2 * TIMES).any(|_| trial.unwritten(start)));
        assert!(!trial.unwritten(LIMIT));
        assert!(trial.unwritten(LIMIT + start));
    }

    #[test]
    fn words_that_another_queue_has_overwritten_are_no_failure() {
        let mut trial = Trial::default();
        let late = |index: u32| Nanos(5 + u64::from(index) * LIMIT.0);
        trial.overwritten();
        assert!(!(0..2 * TIMES).any(|index| trial.unwritten(late(index))));
        trial.is_over();
        assert!((0..2 * TIMES).any(|index| trial.unwritten(late(index))));
    }

    #[test]
    fn a_process_that_was_stopped_polls_again_before_it_judges() {
        let mut trial = Trial::default();
        assert!(!trial.unwritten(Nanos(5)));
        let late = LIMIT + LIMIT;
        assert!(!(2..TIMES).any(|_| trial.unwritten(late)));
        assert!(trial.unwritten(late));
    }
}
