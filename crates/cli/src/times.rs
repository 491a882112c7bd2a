//! Times, as flags have them.

use joulio_units::Nanos;
use joulio_workload::parse_time;

/// Seconds, or a number with a unit.
pub fn seconds(text: &str) -> Result<Nanos, String> {
    parse_time(text, 1_000_000_000).map(Nanos)
}

/// A time for which something is done.
pub fn duration(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        Nanos::ZERO => Err("no time at all: must be above zero".into()),
        time => Ok(time),
    }
}

/// Microseconds, or a number with a unit.
pub fn microseconds(text: &str) -> Result<Nanos, String> {
    parse_time(text, 1_000).map(Nanos)
}
