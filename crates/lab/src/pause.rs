//! Waits that a signal ends.

use joulio_units::Nanos;
use joulio_workload::Stop;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two checks for the signal: short for a person who presses a key, but long enough to leave the machine
/// idle.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Waits for `time`; several times a second, `progress` receives the fraction that has passed. Returns false if the
/// wait was stopped.
pub fn pause(time: Nanos, stop: &Stop, progress: impl Fn(f64)) -> bool {
    let (begun, time) = (Instant::now(), Duration::from_nanos(time.0));
    loop {
        let passed = begun.elapsed();
        if stop.stopped() {
            return false;
        }
        if passed >= time {
            return true;
        }
        progress(passed.as_secs_f64() / time.as_secs_f64());
        sleep(CHECK_INTERVAL.min(time - passed));
    }
}
