//! Why a window has no figure.

use crate::MeterError;
use joulio_units::Nanos;

/// Why a window has no figure of a meter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// A shorter window says nothing: RAPL's registers are brought up to date about every
    /// millisecond, a BMC's readings every second.
    #[error("{}", too_short(*.window, *.needed))]
    TooShort {
        /// Time from the meter's reading at the begin to the one at the end: zero when it has none
        /// of its own in the window.
        window: Nanos,
        /// Shortest length with a figure.
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
    /// The meter was not read for too long: its counter may have gone round twice, or its power
    /// may have been anything.
    #[error("not read for {:.1} s, and it has to be every {:.1} s", .gap.seconds(), .limit.seconds())]
    Unread {
        /// Time without a reading.
        gap: Nanos,
        /// Longest time allowed between two readings.
        limit: Nanos,
    },
    /// The machine slept.
    #[error("the machine was suspended for {:.1} s", .slept.seconds())]
    Suspended {
        /// Time that the machine slept.
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
