//! Changing what can be put back.

use super::apst;
use super::feature::{Feature, FeatureError, Old};
use super::port::Port;
use super::report::Report;
use crate::changes::{ChangeError, Changes, Undo};
use crate::failure::Failure;
use crate::journal::{PutBackError, What};
use crate::meters::nvme::meter;
use crate::signals::stop_on_signals;
use joulio_energy::{Clock, MeterError, Meters, Monotonic};
use joulio_nvme::NvmeError;
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_units::Nanos;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How soon a signal is noticed.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// What is to be changed.
pub enum Change {
    /// To this power state.
    PowerState(u8),
    /// Interrupts for several completions at once.
    Coalescing(InterruptCoalescing),
    /// Transitions by idle time on or off.
    Apst(bool),
}

impl Change {
    /// What it replaces.
    fn old(&self, port: &Port) -> Result<Old, NvmeError> {
        match self {
            Change::PowerState(_) => Old::power_state(port),
            Change::Coalescing(_) => Old::interrupt_coalescing(port),
            Change::Apst(_) => Old::apst(port),
        }
    }

    fn make(&self, port: &Port) -> Result<(), NvmeError> {
        let control = &*port.control;
        match self {
            Change::PowerState(ps) => control.set_power_state(*ps),
            Change::Coalescing(value) => control.set_interrupt_coalescing(*value),
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

/// A change of `port`, and what it replaces.
struct Setting<'a> {
    change: &'a Change,
    port: &'a Port,
    old: Old,
}

impl Undo for Setting<'_> {
    fn what(&self) -> Option<What> {
        // One that is emulated ends with this command.
        let lives = !self.port.is_mortal();
        lives.then(|| What::Feature(Feature::new(self.port, self.old.clone())))
    }

    fn make(&self) -> Result<(), ChangeError> {
        Ok(self.change.make(self.port)?)
    }

    fn put_back(&self) -> Result<Vec<String>, PutBackError> {
        let back = self.old.put_back(self.port);
        back.map_err(FeatureError::from)?;
        Ok(Vec::new())
    }

    /// A command that fails changes nothing.
    fn put_back_failed(&self) -> Result<Vec<String>, PutBackError> {
        Ok(Vec::new())
    }
}

/// Makes the changes and leaves them; what the device says then.
pub fn leave(changes: &[Change], port: &Port) -> Result<Report, Failure> {
    make_all(changes, port)?.leave();
    Report::of(port)
}

/// Makes the changes, waits so long or until a signal, while the device measures its power if it
/// can; what it says then. Puts the old values back.
pub fn hold(changes: &[Change], port: &Port, time: Nanos) -> Result<Report, Failure> {
    // Before there is anything that a signal would leave behind.
    let stop = stop_on_signals()?;
    let made = make_all(changes, port)?;
    let time = Duration::from_nanos(time.0);
    let result = measure(port, time, || stop.stopped());
    let back = made.finish();
    let report = result?;
    back?;
    Ok(report)
}

/// All or none.
fn make_all<'a>(changes: &'a [Change], port: &'a Port) -> Result<Changes<'a>, ChangeError> {
    let mut made = Changes::new();
    let make = |made: &mut Changes<'a>| {
        changes.iter().try_for_each(|change| {
            let old = change.old(port)?;
            made.set(Setting { change, port, old })
        })
    };
    match port.is_mortal() {
        true => make(&mut made)?,
        // Nobody puts back in between what is the old value here.
        false => made.locked(make)?,
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
