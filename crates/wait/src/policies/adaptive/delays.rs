//! I/Os that had to wait before they were submitted, and how much of that the policy caused.

use joulio_units::Nanos;

/// Number of I/Os whose wait before the submission is remembered.
const KEPT: usize = 256;

/// Factor on the time of I/Os that find the device idle from which on an I/O has waited in the device for others.
const QUEUED: f64 = 1.1;

/// Delays that an I/O passes on to those that wait for it.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// I/Os that are out and had to wait.
    out: Vec<Waited>,
    /// Delay that the completion seen last hands on to the I/Os that waited for it.
    left: Left,
    /// Nanoseconds that the next I/O has waited.
    next: u64,
    /// Means over the slowest I/Os: number of I/Os that each waited for in a row, and the share that came by
    /// themselves.
    chain: f64,
    alone: f64,
    /// Share of the slowest I/Os that waited in the device for others.
    queued: f64,
    /// Certainty that the device works on one I/O at a time.
    serial: f64,
    /// Recent nanoseconds of the device for I/Os that found it idle: few took more than the first, few less than the
    /// second.
    first: f64,
    quickest: f64,
    /// Share of recent I/Os that came by themselves while others were out.
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

/// Delay of an I/O that the policy caused, and how many I/Os in a row before it passed it on.
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

    /// Notes that an I/O was submitted, and whether it came by itself while others were out.
    #[inline]
    pub(super) fn came_between(&mut self, so: bool) {
        self.between += (f64::from(u8::from(so)) - self.between) / 256.0;
    }

    /// Returns the share of the I/Os that come by themselves while others are out, and are late because of that.
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

    /// Notes an I/O that came by itself and is submitted at `at`: the policy caused its wait, up to the `woken`
    /// nanoseconds that the core took to go on.
    pub(super) fn arrived(&mut self, at: Nanos, woken: u64) {
        self.left = Left {
            own: self.next.min(woken),
            chain: 0,
        };
        self.push(at, 0);
    }

    /// Notes that the I/O that waited is submitted at `at`.
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
            // Commands that a reset ended are still in the list.
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

    /// Makes the next I/Os that are seen pass nothing on.
    #[inline]
    pub(super) fn leave_nothing(&mut self) {
        self.left = Left::default();
    }

    /// Notes that an I/O that waited `before` was seen, late by `own` in all.
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
            // The device worked on it before the other completed.
            Some(behind) if behind < self.quickest / 2.0 => self.serial = 0.0,
            Some(_) => self.serial += (1.0 - self.serial) / 16.0,
            None => {}
        }
        let queued = f64::from(u8::from(self.is_queued(time)));
        self.queued += (queued - self.queued) / 16.0;
        self.chain += (f64::from(before.chain) - self.chain) / 16.0;
        self.alone += (f64::from(u8::from(open)) - self.alone) / 16.0;
    }

    /// Notes that the device took `time` for an I/O that found it idle.
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

    /// Returns the share of the slowest I/Os that are no later for a delay passed on to them: the device had others
    /// to work on.
    fn spared(&self) -> f64 {
        self.queued.max(self.serial)
    }

    /// Returns true if an I/O of this `time` waited in the device for others.
    fn is_queued(&self, time: f64) -> bool {
        self.first > 0.0 && time > self.first * QUEUED
    }

    /// Returns the longest time in nanoseconds that one of the I/Os that are out waited.
    #[inline]
    pub(super) fn longest(&self) -> u64 {
        match self.out.is_empty() {
            true => 0,
            false => self.out.iter().map(|one| one.time).max().unwrap_or(0),
        }
    }

    /// Returns how many I/Os in a row one of the slowest waited for.
    pub(super) fn chain(&self) -> f64 {
        self.chain * (1.0 - self.spared())
    }

    /// Returns the share of the slowest I/Os that came by themselves.
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

    /// Returns the chain after a hundred slow I/Os, each `behind` the one that was out with it.
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
