//! Edges at an update of the counter.
//!
//! A register that is updated once a millisecond is up to a millisecond old when it is read. Reading it until it
//! changes puts the edge at a fresh value (Hähnel, Döbel, Völp, Härtig: Measuring Energy Consumption for Short Code
//! Paths Using RAPL, 2012).

use super::edge::{Edge, EdgeResult};
use super::sampler::{Shared, lock};
use super::track::Track;
use crate::{Clock, MeterKind, Reading};
use joulio_units::Nanos;

/// Longest wait for an update of a counter.
const PATIENCE: Nanos = Nanos::from_millis(10);
/// Most readings of a wait, in case the clock stands still.
const MAX_ROUNDS: usize = 1 << 16;

/// Returns the edge of each of `tracks`, which wait for their updates side by side.
pub(super) fn edges(tracks: &[Shared], clock: &dyn Clock) -> Vec<EdgeResult> {
    let begun = clock.now();
    let mut waits: Vec<_> = tracks
        .iter()
        .map(|track| Wait::begin(&mut lock(track), clock))
        .collect();
    for _ in 0..MAX_ROUNDS {
        if clock.now().since(begun) >= PATIENCE {
            break;
        }
        let mut waiting = false;
        for (track, wait) in tracks.iter().zip(&mut waits) {
            waiting |= wait.poll(&mut lock(track), clock);
        }
        if !waiting {
            break;
        }
    }
    waits.into_iter().map(Wait::end).collect()
}

/// A meter's search for the edge of its update.
enum Wait {
    /// Waiting: the first reading and the latest, which have the same value.
    For {
        first: Reading,
        latest: Reading,
        update: Nanos,
    },
    Done(EdgeResult),
}

impl Wait {
    fn begin(track: &mut Track, clock: &dyn Clock) -> Wait {
        track.hold();
        // A reading that failed once may have been lost in transit.
        let read = match track.read(clock) {
            Err(error) if error.is_passing() => track.read(clock),
            other => other,
        };
        let reading = match read {
            Ok(reading) => reading,
            Err(error) => return Wait::Done(Err(error.into())),
        };
        match track.kind() {
            MeterKind::Counter { update, .. } => Wait::For {
                first: reading,
                latest: reading,
                update,
            },
            MeterKind::Power { update, .. } => Wait::Done(Ok(Edge {
                reading,
                within: update,
                aligned: false,
            })),
        }
    }

    /// Reads once more if the edge has not come; returns true if it still has not.
    fn poll(&mut self, track: &mut Track, clock: &dyn Clock) -> bool {
        let Wait::For { first, latest, .. } = self else {
            return false;
        };
        let done = match track.read(clock) {
            Ok(reading) if reading.value == first.value => {
                *latest = reading;
                return true;
            }
            Ok(reading) => Ok(Edge {
                reading,
                within: reading.at.since(latest.at),
                aligned: true,
            }),
            Err(error) if error.is_passing() => return true,
            Err(error) => Err(error.into()),
        };
        *self = Wait::Done(done);
        false
    }

    fn end(self) -> EdgeResult {
        match self {
            Wait::Done(edge) => edge,
            // No update came: the counter is at least as old as this wait.
            Wait::For {
                first,
                latest,
                update,
            } => Ok(Edge {
                reading: latest,
                within: update.max(latest.at.since(first.at)),
                aligned: false,
            }),
        }
    }
}
