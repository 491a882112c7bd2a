//! I/Os that are submitted together: each waits until all of them are prepared.

use joulio_units::Nanos;

/// Batches that are remembered.
const KEPT: usize = 64;

/// I/Os that were submitted at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    at: Nanos,
    /// Number of the other I/Os in the batch.
    pub(super) others: u32,
    /// True if polling would not have submitted these I/Os together.
    pub(super) own: bool,
}

/// Recent batches of two or more I/Os, each at an index that follows from its time.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    kept: [Batch; KEPT],
    /// Submission of the newest batch that is kept.
    newest: Nanos,
    latest: Batch,
}

/// The batch of an I/O that is alone.
const ALONE: Batch = Batch {
    at: Nanos::MAX,
    others: 0,
    own: false,
};

#[inline]
fn place(at: Nanos) -> usize {
    (at.0 ^ at.0 >> 6 ^ at.0 >> 12) as usize % KEPT
}

impl Batches {
    pub(super) fn new() -> Batches {
        Batches {
            kept: [ALONE; KEPT],
            newest: Nanos::ZERO,
            latest: ALONE,
        }
    }

    /// Notes that the last I/O was submitted at `at`, when polling would have submitted it.
    pub(super) fn last_was(&mut self, at: Nanos) {
        if at != self.latest.at {
            self.latest = Batch {
                at,
                others: 0,
                own: false,
            };
        }
    }

    /// Returns when the newest batch that is kept was submitted.
    pub(super) fn newest(&self) -> Nanos {
        self.newest
    }

    /// Adds an I/O submitted at `at`; `own`: polling would have submitted it at another time.
    pub(super) fn submitted(&mut self, at: Nanos, own: bool) {
        if at != self.latest.at {
            self.latest = Batch { at, others: 0, own };
            return;
        }
        self.latest.others += 1;
        self.kept[place(at)] = self.latest;
        self.newest = at;
    }

    /// Returns true if no remembered batch was submitted at `at`.
    pub(super) fn is_alone(&self, at: Nanos) -> bool {
        at > self.newest || self.kept[place(at)].at != at
    }

    /// Returns the batch that was submitted at `at`.
    pub(super) fn of(&self, at: Nanos) -> Batch {
        let batch = self.kept[place(at)];
        if batch.at == at { batch } else { ALONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_a_batch_knows_how_many_others_there_are() {
        let mut batches = Batches::new();
        for at in [10, 20, 20, 20, 30] {
            batches.submitted(Nanos(at), at == 20);
        }
        let others = [10, 20, 30].map(|at| batches.of(Nanos(at)).others);
        assert_eq!(others, [0, 2, 0]);
        assert!(batches.of(Nanos(20)).own && !batches.of(Nanos(30)).own);
    }
}
