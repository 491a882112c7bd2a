//! Consumer of the test source's interrupts, which waits like the owner of a queue.

use super::super::error::SelftestError;
use super::setup::UintrSetup;
use joulio_cpu::Tsc;
use joulio_cpu::uintr::ReceiverWoken;
use joulio_units::Nanos;

/// Longest time to wait, longer than anything here takes. On a slow emulated machine the counter is slow as well.
const PATIENCE: Nanos = Nanos::from_millis(1_000);

/// Consumer of a test source's interrupts. The source counts before it raises an interrupt, as a device writes its
/// completion before it sends one.
#[derive(Debug)]
pub struct Consumer {
    /// Count of the source that was last seen.
    at: u64,
    /// Number of marks after which the source's count had risen.
    pub seen: u64,
    /// Number of raises beyond the first that one mark stood for.
    pub doubled: u64,
    /// Number of raises without a mark.
    pub lost: u64,
    /// Number of marks without a raise.
    pub spurious: u64,
}

impl Consumer {
    /// Returns a consumer that has seen everything so far.
    pub fn new(setup: &UintrSetup) -> Result<Consumer, SelftestError> {
        Ok(Consumer {
            at: setup.source.raised()?,
            seen: 0,
            doubled: 0,
            lost: 0,
            spurious: 0,
        })
    }

    /// Waits for the next raise by clearing, checking and waiting. The caller has cleared the mark, and no raise was
    /// pending.
    pub fn next(&mut self, setup: &UintrSetup) -> Result<(), SelftestError> {
        let until = || Tsc::get().after(PATIENCE);
        let wait = || setup.receiver.wait(until());
        let peek = || setup.source.raised();
        loop {
            match wait()? {
                ReceiverWoken::Marked => {
                    setup.receiver.clear();
                    if self.take(peek()?) {
                        return Ok(());
                    }
                    self.spurious += 1;
                }
                ReceiverWoken::TimedOut if peek()? == self.at => {
                    return Err(SelftestError::NotRaised);
                }
                // The interrupt may have come after the wait was over; then there is a mark now.
                ReceiverWoken::TimedOut => {
                    if wait()? == ReceiverWoken::TimedOut {
                        self.lost += 1;
                        self.at = peek()?;
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Compares the source's count `raised` with the last one; returns true if it has risen.
    fn take(&mut self, raised: u64) -> bool {
        let new = raised.saturating_sub(self.at);
        if new > 0 {
            self.at = raised;
            self.seen += 1;
            self.doubled += new - 1;
        }
        new > 0
    }
}

#[cfg(test)]
impl Consumer {
    /// Returns a consumer that has seen `seen`.
    pub fn seen(seen: u64) -> Consumer {
        Consumer {
            at: seen,
            seen,
            doubled: 0,
            lost: 0,
            spurious: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_at_once_are_one_raise_and_one_more() {
        let mut consumer = Consumer::seen(0);
        assert!(!consumer.take(0));
        assert!(consumer.take(1));
        assert!(!consumer.take(1));
        assert!(consumer.take(3));
        assert_eq!((consumer.seen, consumer.doubled), (2, 1));
    }
}
