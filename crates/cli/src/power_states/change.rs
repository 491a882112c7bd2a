//! Changing what can be put back.

use super::apst;
use super::entry::{Entry, Old};
use super::journal::{Held, Journal};
use super::port::Port;
use super::report::Report;
use crate::failure::Failure;
use crate::meters::nvme::meter;
use crate::stop::stop_on_signals;
use joulio_energy::{Clock, MeterError, Meters, Monotonic};
use joulio_nvme::NvmeError;
use joulio_units::Nanos;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(20);

/// What is to be changed.
pub enum Change {
    /// To this power state.
    PowerState(u8),
    /// Transitions by idle time on or off.
    Apst(bool),
}

impl Change {
    /// What it replaces.
    fn old(&self, port: &Port) -> Result<Old, NvmeError> {
        match self {
            Change::PowerState(_) => Old::power_state(port),
            Change::Apst(_) => Old::apst(port),
        }
    }

    fn make(&self, port: &Port) -> Result<(), NvmeError> {
        let control = &*port.control;
        match self {
            Change::PowerState(ps) => control.set_power_state(*ps),
            Change::Apst(on) => {
                let (_, mut table) = control.apst()?;
                let states = control.identify_controller().power_states();
                if *on && apst::transitions(&table, states.len()).is_empty() {
                    *table = apst::as_linux_has_it(states);
                }
                control.set_apst(*on, &table)
            }
        }
    }
}

/// A change that was made.
struct Made {
    old: Old,
    /// Where it is written down; not for a device that ends with this command.
    held: Option<Held>,
}

impl Made {
    /// Writes down what was, and then changes it.
    fn make(change: &Change, port: &Port) -> Result<Made, Failure> {
        let old = change.old(port).map_err(Failure::input)?;
        let held = if port.is_mortal() {
            None
        } else {
            Some(Journal::place()?.begin(&Entry::new(port, old.clone()))?)
        };
        let made = Made { old, held };
        match change.make(port) {
            Ok(()) => Ok(made),
            Err(error) => {
                // Nothing was changed: there is nothing to put back.
                made.forget()?;
                Err(Failure::input(error))
            }
        }
    }

    fn put_back(self, port: &Port) -> Result<(), Failure> {
        self.old.put_back(port).map_err(|error| {
            Failure::run(format!(
                "{error}; `joulio restore` tries again to put it back"
            ))
        })?;
        self.forget()
    }

    fn forget(self) -> Result<(), Failure> {
        match self.held {
            // An older one is not ours to forget: it has a value from before.
            Some(held) if held.fresh => held.done(),
            _ => Ok(()),
        }
    }
}

/// Makes the changes and leaves them; what the device says then.
pub fn leave(changes: &[Change], port: &Port) -> Result<Report, Failure> {
    make_all(changes, port)?;
    Report::of(port)
}

/// Makes the changes, waits so long or until a signal, while the device measures its power if it
/// can; what it says then. Puts the old values back.
pub fn hold(changes: &[Change], port: &Port, time: Nanos) -> Result<Report, Failure> {
    // Before there is anything that a signal would leave behind.
    let stop = stop_on_signals()?;
    let mut made = make_all(changes, port)?;
    let time = Duration::from_nanos(time.0);
    let mut result = measure(port, time, || stop.stopped());
    // The last first.
    while let Some(one) = made.pop() {
        let back = one.put_back(port);
        result = result.and_then(|report| back.map(|()| report));
    }
    result
}

/// All or none.
fn make_all(changes: &[Change], port: &Port) -> Result<Vec<Made>, Failure> {
    let mut made: Vec<Made> = Vec::new();
    for change in changes {
        match Made::make(change, port) {
            Ok(one) => made.push(one),
            Err(failure) => {
                while let Some(one) = made.pop() {
                    one.put_back(port)?;
                }
                return Err(failure);
            }
        }
    }
    Ok(made)
}

/// Waits for so long, or until it is stopped; what the device says and its meter shows then.
fn measure(port: &Port, time: Duration, stopped: impl Fn() -> bool) -> Result<Report, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    let control = Arc::clone(&port.control);
    let meter = meter(&port.name.text(), control, port.is_mortal(), &*clock);
    let refused = meter.as_ref().err().map(MeterError::to_string);
    let mut meters = Meters::new(meter.into_iter().collect(), clock);
    let window = meters.open().map_err(Failure::run)?;
    let start = Instant::now();
    while !stopped() {
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            break;
        }
        sleep(left.min(LOOK));
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
