//! Times in the notation of flags.

use joulio_units::Nanos;
use joulio_workload::parse_time;

/// Parses seconds, or a number with a unit.
pub fn seconds(text: &str) -> Result<Nanos, String> {
    let time = parse_time(text, 1_000_000_000).map(Nanos);
    time.map_err(|error| error.to_string())
}

/// Parses a time above zero.
pub fn duration(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        Nanos::ZERO => Err("no time at all: must be above zero".into()),
        time => Ok(time),
    }
}

/// Parses microseconds, or a number with a unit.
pub fn microseconds(text: &str) -> Result<Nanos, String> {
    let time = parse_time(text, 1_000).map(Nanos);
    time.map_err(|error| error.to_string())
}
