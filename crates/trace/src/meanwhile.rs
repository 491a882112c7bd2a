//! Activity of a core while an I/O was in flight.

use crate::{Wait, WaitKind};
use joulio_units::Nanos;

/// Time of a core during one I/O, by kind of wait; in the rest of it the core ran other code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meanwhile {
    /// Time asleep with a kernel timer.
    pub slept: Nanos,
    /// Time blocked for an interrupt.
    pub blocked: Nanos,
    /// Time spinning on the completion queues.
    pub polled: Nanos,
    /// Time in user-level waits.
    pub paused: Nanos,
    /// Number of polls in all waits that overlap with the I/O; each wait counts as a whole.
    pub polls: u64,
    /// Last wake-up before the completion.
    pub wake: Option<Wake>,
}

/// The end of a sleep or of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Time of the wake-up.
    pub at: Nanos,
    /// Cause of the wake-up.
    pub by: WokenBy,
}

/// Cause of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WokenBy {
    /// The deadline of the sleep or block, or a signal.
    Timer,
    /// An interrupt.
    Interrupt,
}

impl Meanwhile {
    /// Sums up the parts of `waits`, which are in the order of time, between two times.
    pub(crate) fn between(waits: &[Wait], from: Nanos, to: Nanos) -> Meanwhile {
        let mut meanwhile = Meanwhile::default();
        // For a wait with a missing half, the last known time is good enough to find the first wait.
        let first = waits.partition_point(|wait| wait.end.or(wait.begin) <= Some(from));
        for wait in &waits[first..] {
            let Some((begin, end)) = wait.span() else {
                continue;
            };
            if begin > to {
                break;
            }
            meanwhile.add(wait, end.min(to) - begin.max(from));
            if matches!(wait.kind, WaitKind::Sleep | WaitKind::Block) && end <= to {
                let by = if wait.interrupted {
                    WokenBy::Interrupt
                } else {
                    WokenBy::Timer
                };
                meanwhile.wake = Some(Wake { at: end, by });
            }
        }
        meanwhile
    }

    fn add(&mut self, wait: &Wait, time: Nanos) {
        match wait.kind {
            WaitKind::Sleep => self.slept += time,
            WaitKind::Block => self.blocked += time,
            WaitKind::Spin => {
                self.polled += time;
                self.polls += u64::from(wait.polls);
            }
            WaitKind::Pause | WaitKind::Monitor => {
                self.paused += time;
                self.polls += u64::from(wait.polls);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(kind: WaitKind, begin: u64, end: u64) -> Wait {
        Wait {
            kind,
            begin: Some(Nanos(begin)),
            end: Some(Nanos(end)),
            polls: 7,
            interrupted: kind == WaitKind::Block,
        }
    }

    #[test]
    fn only_the_time_of_the_io_counts() {
        let waits = [
            wait(WaitKind::Sleep, 0, 10),
            wait(WaitKind::Sleep, 20, 40),
            wait(WaitKind::Spin, 40, 50),
            wait(WaitKind::Block, 60, 70),
            wait(WaitKind::Pause, 72, 76),
            wait(WaitKind::Monitor, 76, 78),
            wait(WaitKind::Spin, 80, 100),
            wait(WaitKind::Sleep, 200, 210),
        ];
        let meanwhile = Meanwhile::between(&waits, Nanos(30), Nanos(90));
        assert_eq!(
            meanwhile,
            Meanwhile {
                slept: Nanos(10),
                blocked: Nanos(10),
                polled: Nanos(20),
                paused: Nanos(6),
                polls: 28,
                wake: Some(Wake {
                    at: Nanos(70),
                    by: WokenBy::Interrupt
                }),
            }
        );
    }

    #[test]
    fn a_wait_with_a_half_missing_counts_nowhere() {
        let half = Wait {
            end: None,
            ..wait(WaitKind::Sleep, 20, 0)
        };
        let meanwhile = Meanwhile::between(&[half], Nanos(10), Nanos(90));
        assert_eq!(meanwhile, Meanwhile::default());
    }

    #[test]
    fn a_core_that_still_sleeps_at_the_completion_has_not_woken() {
        let waits = [wait(WaitKind::Sleep, 20, 100)];
        let meanwhile = Meanwhile::between(&waits, Nanos(10), Nanos(90));
        assert_eq!((meanwhile.slept, meanwhile.wake), (Nanos(70), None));
    }
}
