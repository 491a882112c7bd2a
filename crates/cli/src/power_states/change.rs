//! Changing what can be put back.

use super::port::Port;
use super::report::Report;
use crate::failure::{Failure, say};
use crate::signals::stop_on_signals;
use joulio_energy::{Clock, MeterError, Meters, Monotonic};
use joulio_host::Changes;
use joulio_host::energy_sources::device_meter;
use joulio_host::power_states::FeatureRequest;
use joulio_units::Nanos;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a signal is checked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Makes the changes and leaves them; what the device says then.
pub fn leave(requests: &[FeatureRequest], port: &Port) -> Result<Report, Failure> {
    let mut made = Changes::new(say);
    made.features(&port.admin, requests)?;
    made.leave();
    Report::of(port)
}

/// Makes the changes, waits so long or until a signal, while the device measures its power if it
/// can; what it says then. Puts the old values back.
pub fn hold(requests: &[FeatureRequest], port: &Port, time: Nanos) -> Result<Report, Failure> {
    // Before there is anything that a signal would leave behind.
    let stop = stop_on_signals()?;
    let mut made = Changes::new(say);
    made.features(&port.admin, requests)?;
    let time = Duration::from_nanos(time.0);
    let result = measure(port, time, || stop.stopped());
    let back = made.finish();
    let report = result?;
    back?;
    Ok(report)
}

/// Waits for so long, or until it is stopped; what the device says and its meter shows then.
fn measure(port: &Port, time: Duration, stopped: impl Fn() -> bool) -> Result<Report, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    let admin = &port.admin;
    let control = Arc::clone(admin.control());
    let meter = device_meter(admin.name(), control, admin.ends_with_process(), &*clock);
    let refused = meter.as_ref().err().map(MeterError::to_string);
    let mut meters = Meters::new(meter.into_iter().collect(), clock);
    let window = meters.open().map_err(Failure::run)?;
    let start = Instant::now();
    while !stopped() {
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            break;
        }
        sleep(left.min(CHECK_INTERVAL));
    }
    // Where it is before anything else is asked: that could wake it.
    let mut report = Report::of(port)?;
    let measured = window.close(None);
    // That ends the measurement of the device.
    drop(meters);
    let again = report.measure_again(port);
    again.map_err(Failure::run)?;
    report.measured = Some(match measured.into_iter().next() {
        Some(one) => {
            let figure = one.figure.map_err(|why| why.to_string());
            figure.map(|figure| (figure.total, one.about.notes))
        }
        None => Err(refused.unwrap_or_default()),
    });
    Ok(report)
}
