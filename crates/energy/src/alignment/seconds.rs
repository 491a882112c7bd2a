//! Times in seconds from an origin.

use joulio_units::Nanos;

/// Returns the time `seconds` after `origin`.
pub(super) fn moved(origin: Nanos, seconds: f64) -> Nanos {
    let nanos = (seconds * 1e9) as i64;
    Nanos(origin.0.saturating_add_signed(nanos))
}

/// Returns the seconds from `origin` to `at`.
pub(super) fn seconds_between(origin: Nanos, at: Nanos) -> f64 {
    at.since(origin).seconds() - origin.since(at).seconds()
}
