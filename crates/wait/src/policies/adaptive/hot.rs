//! State that is used for each I/O and each wait: a cache line.

use super::promise::SAMPLE;
use joulio_units::Nanos;

/// Times, counts and flags that a closed loop of spins needs.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Hot {
    /// Time of the last submission.
    pub(super) newest: Nanos,
    /// Time when the completions of the last poll were seen.
    pub(super) polled: Nanos,
    /// Time when the completions of the poll before the last were seen.
    pub(super) before: Nanos,
    /// I/Os submitted at this time or before may be late by more than is known here.
    pub(super) late: Nanos,
    /// Sum of the I/Os out at each spin since the last summary.
    counts: u64,
    /// Number of waits until plans are made again, and its value at the last summary; below zero: plans are to be
    /// made.
    waits: i32,
    summed: i32,
    /// Number of I/Os that were submitted and are not reported complete.
    pub(super) out: u32,
    /// I/Os like most others until the next of them is sampled.
    unseen: i16,
    /// Index of the class of the I/O that was submitted last, and flags for deviations from a closed loop of spins.
    place: u8,
}

/// Flag in [`Hot::place`]: no completion was seen since the last wait.
const UNSEEN: u8 = 0x20;
/// Flag: the next I/O may have waited before its submission.
const WAITED: u8 = 0x40;
/// Flag: the policy may have delayed the I/Os that are seen next, or the load comes by itself.
const UNUSUAL: u8 = 0x80;
/// Mask of the class's place.
const CLASS: u8 = 0x1f;

impl Hot {
    pub(super) fn new() -> Hot {
        Hot {
            newest: Nanos::ZERO,
            polled: Nanos::ZERO,
            before: Nanos::ZERO,
            late: Nanos::MAX,
            counts: 0,
            waits: 0,
            summed: 0,
            out: 0,
            unseen: SAMPLE as i16 - 1,
            place: UNUSUAL,
        }
    }

    /// Returns true if a completion was seen since the last wait.
    pub(super) fn is_seen(&self) -> bool {
        self.place & UNSEEN == 0
    }

    /// A completion was seen at `at`.
    #[inline]
    pub(super) fn seen(&mut self, at: Nanos) {
        self.polled = at;
        self.place &= !UNSEEN;
    }

    /// Notes that an I/O of the class at `place` is submitted at `at`. Returns false if it needs more than in a
    /// closed loop of spins: then `newest` still holds the submission before it.
    #[inline]
    pub(super) fn submitted(&mut self, place: usize, at: Nanos) -> bool {
        self.out = self.out.wrapping_add(1);
        if self.place > CLASS {
            return false;
        }
        self.place = place as u8;
        if at == self.newest {
            return false;
        }
        self.newest = at;
        true
    }

    /// Notes an I/O that differs from those in a closed loop of spins. Returns the submission of the one before it.
    pub(super) fn submitted_late(&mut self, place: usize, at: Nanos) -> Nanos {
        self.place = self.place & !CLASS | place as u8;
        std::mem::replace(&mut self.newest, at)
    }

    /// Returns the index of the class of the I/O that was submitted last.
    pub(super) fn class(&self) -> usize {
        usize::from(self.place & CLASS)
    }

    /// Returns the index of the class of the I/O that was submitted last; a number beyond all classes if something
    /// deviates from a closed loop of spins.
    #[inline]
    pub(super) fn spun_for(&self) -> usize {
        usize::from(self.place & !UNSEEN)
    }

    /// Sets whether the next I/O may have waited before its submission.
    pub(super) fn set_waited(&mut self, waited: bool) {
        match waited {
            true => self.place |= WAITED,
            false => self.place &= !WAITED,
        }
    }

    /// Counts an I/O that is like most. Returns true if it is to be sampled.
    #[inline]
    pub(super) fn samples(&mut self) -> bool {
        self.unseen -= 1;
        self.unseen < 0
    }

    /// Notes that an I/O was sampled.
    pub(super) fn sampled(&mut self) {
        self.unseen = SAMPLE as i16 - 1;
    }

    /// Notes that the next I/Os are seen as by polling in a closed loop, except those that were submitted at the time
    /// `late`, or before it.
    pub(super) fn set_usual(&mut self, late: Option<Nanos>) {
        self.late = late.unwrap_or(Nanos::MAX);
        match late {
            Some(_) => self.place &= !UNUSUAL,
            None => self.place |= UNUSUAL,
        }
    }

    /// Notes the beginning of a wait. Returns false if plans are to be made again, or no I/O is out.
    #[inline]
    pub(super) fn waits(&mut self) -> bool {
        self.waits -= 1;
        if self.waits < 0 {
            return false;
        }
        self.counts += u64::from(self.out);
        self.out > 0
    }

    /// Notes that the wait is a spin, as the last one was.
    #[inline]
    pub(super) fn spins(&mut self) {
        self.place |= UNSEEN;
        self.before = self.polled;
    }

    /// Notes that a wait with `count` out is more than such a spin. Returns false if plans are to be made again.
    pub(super) fn waits_more(&mut self, count: usize) -> bool {
        let planned = self.waits >= 0;
        if planned {
            self.counts -= u64::from(self.out);
        }
        // While no I/O is out no plan is used.
        match planned && count > 0 {
            true => self.summed -= 1,
            false => self.waits += 1,
        }
        self.out = count as u32;
        planned
    }

    /// Notes the beginning of a wait. Returns true if it is the first after a completion.
    pub(super) fn waits_first(&mut self) -> bool {
        let seen = self.is_seen();
        self.spins();
        seen
    }

    /// Sets the number of waits until plans are made again; the spins so far are summed up.
    pub(super) fn set_waits(&mut self, waits: u32) {
        (self.waits, self.summed) = (waits as i32, waits as i32);
    }

    /// Lets plans be made again at the next wait.
    pub(super) fn plan_soon(&mut self) {
        self.summed -= std::mem::take(&mut self.waits);
    }

    /// Takes the spins since the last summary, if there were any.
    pub(super) fn take_spins(&mut self) -> Option<Spins> {
        let waits = self.summed - self.waits;
        self.summed = self.waits;
        let counts = std::mem::take(&mut self.counts);
        let waits = f64::from(waits);
        (waits > 0.0).then(|| Spins {
            waits,
            depth: counts as f64 / waits,
        })
    }
}

/// Waits that were spins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spins {
    /// Number of them.
    pub(super) waits: f64,
    /// I/Os out, in the mean.
    pub(super) depth: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_are_summed_up_and_other_waits_are_not() {
        let mut hot = Hot::new();
        assert_eq!(size_of::<Hot>(), 64);
        hot.set_usual(Some(Nanos::ZERO));
        hot.set_waits(10);
        for out in [1, 3] {
            hot.out = out;
            hot.seen(Nanos(90));
            assert!(hot.waits());
            hot.spins();
            assert_eq!(hot.before, Nanos(90));
        }
        assert!(hot.waits() && hot.waits_more(7));
        assert!(hot.waits() && hot.waits_more(0));
        hot.plan_soon();
        assert!(!hot.waits() && !hot.waits_more(7), "plans are to be made");
        let spins = Spins {
            waits: 2.0,
            depth: 2.0,
        };
        assert_eq!(hot.take_spins(), Some(spins));
        assert_eq!(hot.take_spins(), None);
    }
}
