//! Waiting that a signal ends.

use joulio_units::Nanos;
use joulio_workload::Stop;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Short enough for who pressed a key, and long enough to leave the machine idle.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Waits for `time`, telling how much of it is over some times a second; false if it was stopped.
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
