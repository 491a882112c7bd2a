//! Time of day, for people and for loggers' files.

use jiff::Timestamp;
use joulio_units::Nanos;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time of `CLOCK_REALTIME` since 1970.
pub fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Nanos(since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }))
}

/// Formats `at` according to RFC 3339, in whole seconds.
pub fn utc(at: Nanos) -> String {
    let seconds = i64::try_from(at.0 / 1_000_000_000).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).map_or_else(|_| "?".into(), |at| at.to_string())
}
