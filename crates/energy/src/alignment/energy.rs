//! The energy of a run, from the aligned trace.

use super::Alignment;
use crate::logger::PowerLog;
use crate::{Boundary, Energy, How, Place};
use joulio_units::{Nanos, Watts};

/// Samples at each edge that are not used: one may cover a second that is half outside, and an alignment is good to
/// half a sample.
const DISCARDED: u64 = 2;
/// Shortest window that has a figure.
const MIN_LOGGED_WINDOW: Nanos = Nanos::from_millis(1_000);
/// Samples of which one may be missing.
const MISSING: u64 = 10;

/// Reason why a window has no energy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoggedEnergyError {
    /// Too little of the window is left without the edges.
    #[error(
        "the window is {} s long: without {DISCARDED} samples at each edge less than 1 s and two samples are left",
        .0.seconds()
    )]
    Short(Nanos),
    /// The trace does not cover the window.
    #[error("the log does not cover the window: it begins {:.1} s after and ends {:.1} s before it", .0, .1)]
    Outside(f64, f64),
    /// Too many samples are missing.
    #[error("{missing} of {slots} samples of the window are missing: at most a tenth may be")]
    Gaps {
        /// Number of missing samples.
        missing: u64,
        /// Number of samples that should be there.
        slots: u64,
    },
}

impl Alignment {
    /// Returns the energy at the wall of the window from `start` to `end` by the machine's clock, since the epoch,
    /// without two samples at each edge: [`Energy::window`] is the rest. A few missing samples are assumed to be like
    /// the others.
    ///
    /// # Errors
    ///
    /// [`LoggedEnergyError`]: the window is too short, not in the trace, or full of gaps.
    pub fn energy(
        &self,
        log: &PowerLog,
        start: Nanos,
        end: Nanos,
    ) -> Result<Energy, LoggedEnergyError> {
        let (from, to) = (self.logger_time(start), self.logger_time(end));
        let late = log.start.since(from).seconds();
        let early = to.since(log.end()).seconds();
        if late > log.interval.seconds() || early > log.interval.seconds() {
            return Err(LoggedEnergyError::Outside(late, early));
        }
        let edge = Nanos(log.interval.0.saturating_mul(DISCARDED));
        let (from, to) = (from + edge, to - edge);
        let window = to.since(from);
        if window < MIN_LOGGED_WINDOW || window.0 < log.interval.0.saturating_mul(2) {
            return Err(LoggedEnergyError::Short(end.since(start)));
        }
        // A mean is of the interval before its time: without the edge, all of that is inside.
        let first = log.samples.partition_point(|(at, _)| *at < from);
        let rest = &log.samples[first..];
        let inside = &rest[..rest.partition_point(|(at, _)| *at < to)];
        let length = window.0.saturating_add(log.interval.0 / 2);
        let slots = length / log.interval.0.max(1);
        let missing = slots.saturating_sub(inside.len() as u64);
        if inside.is_empty() || missing * MISSING > slots {
            return Err(LoggedEnergyError::Gaps { missing, slots });
        }
        let sum: f64 = inside.iter().map(|(_, watts)| watts.0).sum();
        let steps = inside.windows(2).map(|pair| pair[1].0.since(pair[0].0));
        Ok(Energy {
            boundary: Boundary::Wall,
            place: Place::Machine,
            source: source(log),
            modelled: false,
            idle_subtracted: false,
            joules: Watts(sum / inside.len() as f64) * window,
            error: None,
            band: None,
            window,
            how: How::Sampled {
                samples: inside.len() as u64,
                missed: missing,
                longest_gap: steps.max().unwrap_or_default(),
            },
        })
    }
}

fn source(log: &PowerLog) -> String {
    match log.serials.first() {
        Some(serial) => format!("logger {serial}"),
        None => "logger".into(),
    }
}
