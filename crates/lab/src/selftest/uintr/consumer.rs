//! Whoever waits for the source, as a queue's owner waits for its device.

use super::super::error::SelftestError;
use super::setup::UintrSetup;
use joulio_cpu::Tsc;
use joulio_cpu::uintr::ReceiverWoken;
use joulio_units::Nanos;

/// Longer than anything here takes. On a machine that is as slow as an emulated one the counter is
/// as slow.
const PATIENCE: Nanos = Nanos::from_millis(1_000);

/// Consumer of a test source's interrupts: what it has seen of the source. The source counts before
/// it raises, as a device writes its completion before it sends its interrupt.
#[derive(Debug)]
pub struct Consumer {
    /// The source's count so far.
    at: u64,
    /// Raises seen after a mark, one at a time.
    pub seen: u64,
    /// Raises beyond the first, of those seen at once.
    pub doubled: u64,
    /// Raises that no mark came for.
    pub lost: u64,
    /// Marks without a raise.
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

    /// Waits for the next: clear, check, wait, where the caller has cleared, and nothing was to be
    /// seen yet.
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
                // It may have come after the wait was over, and then a mark comes now.
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

    /// Takes in the source's count `raised`; returns true if there is something new.
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
