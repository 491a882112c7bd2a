//! Errors of a window.

use crate::MeterError;
use joulio_units::Nanos;

/// Reason why a window has no figure of a meter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// The window is too short: RAPL's registers are updated about every millisecond, a BMC's readings every second.
    #[error("{}", too_short(*.window, *.needed))]
    TooShort {
        /// Time from the meter's reading at the beginning to the one at the end: zero when it has none of its own in
        /// the window.
        window: Nanos,
        /// Shortest window with a figure.
        needed: Nanos,
    },
    /// The meter failed.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The clock went back.
    #[error("the clock went back from {} to {} ns", .from.0, .to.0)]
    ClockWentBack {
        /// Beginning of the interval.
        from: Nanos,
        /// End of the interval.
        to: Nanos,
    },
    /// The meter was not read for too long: its counter may have wrapped twice, or its power may have been anything.
    #[error("not read for {:.1} s, and it has to be every {:.1} s", .gap.seconds(), .limit.seconds())]
    Unread {
        /// Time without a reading.
        gap: Nanos,
        /// Longest time allowed between two readings.
        limit: Nanos,
    },
    /// The machine was suspended.
    #[error("the machine was suspended for {:.1} s", .slept.seconds())]
    Suspended {
        /// Time that the machine was suspended.
        slept: Nanos,
    },
}

fn too_short(window: Nanos, needed: Nanos) -> String {
    let needed = needed.seconds();
    match window {
        Nanos::ZERO => format!(
            "this meter had no new reading in the window, and its readings have to be {needed} s apart: measure for longer"
        ),
        window => format!(
            "this meter's readings are {:.3} s apart, and have to be {needed} s: measure for longer",
            window.seconds()
        ),
    }
}
