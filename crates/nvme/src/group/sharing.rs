//! Detection of other threads that want the core that a group waits on.

use joulio_units::Nanos;
use joulio_wait::run_delay;

/// Share of its time, as one part in so many, that a thread may be ready and not run before its core counts as
/// shared. The kernel's own threads take less.
const PART: u64 = 64;

/// Readings of the time that a thread was ready and did not run, several times a second.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// Time of the last reading, and its value.
    last: Option<(Nanos, Nanos)>,
    wanted: bool,
}

impl Sharing {
    /// Reads the calling thread's time.
    #[cold]
    pub(super) fn sample(&mut self, at: Nanos) {
        self.note(at, run_delay(None));
    }

    /// Takes in the reading `lost`, which the kernel may not provide.
    fn note(&mut self, at: Nanos, lost: Option<Nanos>) {
        let before = self.last;
        self.last = lost.map(|lost| (at, lost));
        if let (Some((then, had)), Some(lost)) = (before, lost) {
            self.wanted = lost.since(had).0.saturating_mul(PART) > at.since(then).0;
        }
    }

    /// Reports whether another thread wanted the core in the last interval.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_shared_as_long_as_its_thread_loses_a_part_of_its_time() {
        let ms = Nanos::from_millis;
        let mut sharing = Sharing::default();
        sharing.note(ms(100), Some(ms(900)));
        assert!(!sharing.is_wanted(), "the first reading is the base");
        sharing.note(ms(200), Some(ms(901)));
        assert!(!sharing.is_wanted(), "a hundredth");
        sharing.note(ms(300), Some(ms(941)));
        assert!(sharing.is_wanted());
        sharing.note(ms(400), Some(ms(941)));
        assert!(!sharing.is_wanted());
        sharing.note(ms(500), None);
        assert!(!sharing.is_wanted(), "a kernel that does not count");
    }
}
