//! Lateness of a core's wake-ups, as measured.

/// Lateness of timers and interrupts on this machine: as its costs give it, until enough is measured.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    /// Nanoseconds by which recent timers were later than their costs, in the mean, and their mean deviation.
    mean: f64,
    deviation: f64,
    /// Factor by which the thread takes longer than expected to go on after a block.
    slow: f64,
    /// Share of the timers' lateness that is forgotten with each plan without a measured timer.
    forgotten: f64,
    /// Number of plans made since a timer was measured; 1 before the first plan.
    untimed: u32,
    /// True if a block was measured since the last plan.
    blocked: bool,
}

/// Largest factor by which a wake-up is taken to be slower than expected.
const SLOWEST: f64 = 16.0;
/// Largest lateness of a timer that is learnt from, over what was hardly ever exceeded until then.
const LATEST: f64 = 2.0;
/// Lateness of a timer, over the same, above which others had the core.
const TAKEN: f64 = 8.0;
/// Share of the measured values that is forgotten with each plan without a new measurement: otherwise one long delay
/// would end all sleeps.
const FORGOTTEN: f64 = 1.0 / 256.0;
/// Share of the timers' lateness that is forgotten with each plan without a measured timer, unless a sleep that was
/// tried since found timers late still.
const SOON_FORGOTTEN: f64 = 1.0 / 32.0;

impl Lateness {
    pub(super) fn new() -> Lateness {
        Lateness {
            mean: 0.0,
            deviation: 0.0,
            slow: 1.0,
            forgotten: SOON_FORGOTTEN,
            untimed: 1,
            blocked: false,
        }
    }

    /// Returns nanoseconds beyond the costs that a timer hardly ever exceeds: the mean and some mean deviations, as
    /// TCP computes its timeout (RFC 6298). Below zero if timers are earlier.
    pub(super) fn timer(&self) -> f64 {
        self.mean + 3.0 * self.deviation
    }

    /// Returns the factor by which the thread takes longer than expected to go on after a block; at least 1.
    pub(super) fn slow(&self) -> f64 {
        self.slow.max(1.0)
    }

    /// Notes that a timer was `late` nanoseconds late, where the costs gave `expected`. Returns the nanoseconds of it
    /// for which others had the core.
    pub(super) fn timer_was(&mut self, late: f64, expected: f64) -> f64 {
        let most = expected + self.timer().max(0.0);
        // Where timers stay late, each sleep that is tried makes an I/O late. After a burst it does not.
        if std::mem::take(&mut self.untimed) > 1 {
            self.forgotten = match late > most {
                true => (self.forgotten / 2.0).max(FORGOTTEN),
                false => SOON_FORGOTTEN,
            };
        }
        // A delay by a preemption or a host's pause says little about the next one, and must not end all sleeps: without
        // one nothing more is measured. Timers that stay late are known after a few.
        let over = late.min(LATEST * most) - expected - self.mean;
        self.mean += over / 8.0;
        self.deviation += (over.abs() - self.deviation) / 8.0;
        (late - TAKEN * most).max(0.0)
    }

    /// Notes that a block took `times` times as long to end as expected.
    pub(super) fn block_was(&mut self, times: f64) {
        self.slow += (times.clamp(0.0, SLOWEST) - self.slow) / 64.0;
        self.blocked = true;
    }

    /// Forgets a little of the values that were not measured since the last plan.
    pub(super) fn forget(&mut self) {
        if self.untimed > 0 {
            self.mean -= self.mean * self.forgotten;
            self.deviation -= self.deviation * self.forgotten;
        }
        self.untimed = self.untimed.saturating_add(1);
        if !std::mem::take(&mut self.blocked) {
            self.slow += (1.0 - self.slow) * FORGOTTEN;
        }
    }
}
