//! I/Os that had to wait before they were submitted, and how much of that is the policy's doing.

use joulio_units::Nanos;

/// I/Os of which it is remembered how long they waited to be submitted.
const KEPT: usize = 256;

/// Times as long as I/Os take that find the device idle, from which on the device let one wait for others.
const QUEUED: f64 = 1.1;

/// Delays that are handed from one I/O to those that wait for it.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// I/Os that are out and had to wait.
    out: Vec<Waited>,
    /// Delay that the completion seen last hands on to the I/Os that waited for it.
    left: Left,
    /// Nanoseconds that the next I/O waited.
    next: u64,
    /// Mean over the slowest I/Os: those before each that it waited for, and the share that came by
    /// themselves.
    chain: f64,
    alone: f64,
    /// Share of the slowest I/Os that the device let wait for others.
    queued: f64,
    /// Certainty that the device works on one I/O at a time.
    serial: f64,
    /// Nanoseconds that the device took lately for I/Os that found it idle, of which few took more, and of which few
    /// took less.
    first: f64,
    quickest: f64,
    /// Share of the I/Os of late that came by themselves while others were out.
    between: f64,
}

/// An I/O that waited.
#[derive(Clone, Copy, Debug)]
struct Waited {
    submitted: Nanos,
    time: u64,
    own: u64,
    chain: u32,
}

/// Delay that an I/O had by the policy's doing, and how many before it, one after the other, handed it on.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    own: u64,
    chain: u32,
}

/// Time that an I/O waited before its submission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    /// Nanoseconds.
    pub(super) time: u64,
    /// Nanoseconds of it that the policy caused.
    pub(super) own: u64,
    chain: u32,
}

impl Delays {
    pub(super) fn new() -> Delays {
        Delays {
            out: Vec::with_capacity(KEPT),
            left: Left::default(),
            next: 0,
            // Until the slowest are known: each waited for one that came by itself.
            chain: 1.0,
            alone: 1.0,
            queued: 0.0,
            serial: 0.0,
            first: 0.0,
            quickest: f64::MAX,
            between: 0.0,
        }
    }

    /// An I/O was submitted; whether it came by itself while others were out.
    #[inline]
    pub(super) fn came_between(&mut self, so: bool) {
        self.between += (f64::from(u8::from(so)) - self.between) / 256.0;
    }

    /// Share of the I/Os that come by themselves while others are out, and are late for it.
    pub(super) fn between(&self) -> f64 {
        self.between * (1.0 - self.spared())
    }

    /// The next I/O waited for `time`.
    pub(super) fn waited(&mut self, time: u64) {
        self.next = time;
    }

    /// Returns true if the next I/O waited.
    #[inline]
    pub(super) fn is_next(&self) -> bool {
        self.next > 0
    }

    /// Notes that no I/O is submitted for now.
    #[inline]
    pub(super) fn pause(&mut self) {
        self.next = 0;
    }

    /// Returns true if an I/O that is out waited.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        !self.out.is_empty()
    }

    /// An I/O that came by itself is submitted at `at`: what it waited is the policy's doing, as far as
    /// that took `woken` to go on.
    pub(super) fn arrived(&mut self, at: Nanos, woken: u64) {
        self.left = Left {
            own: self.next.min(woken),
            chain: 0,
        };
        self.push(at, 0);
    }

    /// The I/O that waited is submitted at `at`.
    #[cold]
    pub(super) fn submitted(&mut self, at: Nanos) {
        self.push(at, self.left.chain + 1);
    }

    fn push(&mut self, at: Nanos, chain: u32) {
        let time = std::mem::take(&mut self.next);
        if time == 0 {
            return;
        }
        if self.out.len() == KEPT {
            // Commands that a reset ended are still there.
            self.out.clear();
        }
        self.out.push(Waited {
            submitted: at,
            time,
            own: self.left.own.min(time),
            chain,
        });
    }

    /// Takes out what the I/O that was submitted at `submitted`, and has completed, had waited before.
    #[cold]
    pub(super) fn take(&mut self, submitted: Nanos) -> Before {
        let mut out = self.out.iter();
        match out.position(|one| one.submitted == submitted) {
            Some(index) => {
                let one = self.out.swap_remove(index);
                Before {
                    time: one.time,
                    own: one.own,
                    chain: one.chain,
                }
            }
            None => Before::default(),
        }
    }

    /// The next I/Os that are seen leave nothing.
    #[inline]
    pub(super) fn leave_nothing(&mut self) {
        self.left = Left::default();
    }

    /// An I/O that waited so `before` was seen, late by `own` in all.
    #[inline]
    pub(super) fn leave(&mut self, before: Before, own: u64) {
        self.left = Left {
            own,
            chain: before.chain,
        };
    }

    /// Takes in one of the slowest I/Os: it waited `before`, and the device took `time`. `behind` is the time by
    /// which it completed after another that was out with it; `open` is true if the load comes by itself.
    #[cold]
    pub(super) fn slowest(&mut self, before: Before, time: f64, behind: Option<f64>, open: bool) {
        match behind {
            // It was worked on before the other was completed.
            Some(behind) if behind < self.quickest / 2.0 => self.serial = 0.0,
            Some(_) => self.serial += (1.0 - self.serial) / 16.0,
            None => {}
        }
        let queued = f64::from(u8::from(self.is_queued(time)));
        self.queued += (queued - self.queued) / 16.0;
        self.chain += (f64::from(before.chain) - self.chain) / 16.0;
        self.alone += (f64::from(u8::from(open)) - self.alone) / 16.0;
    }

    /// The device took `time` for an I/O that found it idle.
    pub(super) fn took_first(&mut self, time: f64) {
        self.first = match time > self.first {
            true => time,
            false => self.first - (self.first - time) / 64.0,
        };
        self.quickest = match time < self.quickest {
            true => time,
            false => self.quickest + (time - self.quickest) / 64.0,
        };
    }

    /// Share of the slowest I/Os that are no later for what is handed on to them: the device had others to work on.
    fn spared(&self) -> f64 {
        self.queued.max(self.serial)
    }

    /// Returns true if the device let an I/O wait for others that took `time` of it.
    fn is_queued(&self, time: f64) -> bool {
        self.first > 0.0 && time > self.first * QUEUED
    }

    /// Nanoseconds that one of those that are out waited at most.
    #[inline]
    pub(super) fn longest(&self) -> u64 {
        match self.out.is_empty() {
            true => 0,
            false => self.out.iter().map(|one| one.time).max().unwrap_or(0),
        }
    }

    /// I/Os that one of the slowest waited for, one after the other.
    pub(super) fn chain(&self) -> f64 {
        self.chain * (1.0 - self.spared())
    }

    /// Share of the slowest I/Os that came by themselves.
    pub(super) fn alone(&self) -> f64 {
        self.alone
    }

    /// Forgets all I/Os: none is out.
    pub(super) fn clear(&mut self) {
        self.out.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chain after a hundred slow I/Os, each so long after the one that was out with it.
    fn chain(behind: impl Fn(u32) -> Option<f64>) -> f64 {
        let mut delays = Delays::new();
        let before = Before {
            chain: 8,
            ..Before::default()
        };
        for n in 0..100 {
            delays.took_first(10_000.0);
            delays.slowest(before, 10_000.0, behind(n), true);
        }
        delays.chain()
    }

    #[test]
    fn a_device_that_works_on_one_io_at_a_time_hands_no_delay_on() {
        assert!(chain(|_| Some(9_000.0)) < 0.1);
    }

    #[test]
    fn one_that_works_on_several_does() {
        assert!(chain(|_| None) > 7.0, "none was out with another");
        let two = |n| Some(if n % 2 == 0 { 2_000.0 } else { 9_000.0 });
        assert!(chain(two) > 7.0);
    }
}
