//! Power of the idle machine without the device under test, and then with one device after the other (HotStorage 2020,
//! figure 1), so that a device's own power is a difference at the wall.

use super::error::PowerLogError;
use super::figures::{LoggedDevicePower, figures};
use super::gauge::Gauge;
use super::person::Person;
use super::state::{SwapPlan, SwapState, SwapWindow};
use super::wall_time::{now, utc};
use joulio_energy::MIN_WINDOW;
use joulio_energy::alignment::Shape;
use joulio_units::Nanos;
use joulio_workload::Stop;
use std::path::{Path, PathBuf};
use std::time::Instant;

const WINDOW: Nanos = Nanos::from_millis(600_000);
/// Difference between the clocks from which on the wall clock counts as changed: NTP may only slew it.
const SET: Nanos = Nanos::from_millis(500);

/// Options of the steps that a person has to do.
#[derive(Clone, Debug)]
pub struct SwapOptions {
    /// Devices to install, one after the other.
    pub devices: Vec<String>,
    /// Time for which the machine idles with each device; `None`: 10 minutes, or the time in the file.
    pub window: Option<Nanos>,
    /// File in which completed steps are saved.
    pub file: PathBuf,
    /// True to continue with the first device of the file that is not done.
    pub resume: bool,
    /// True for a marker before and after each window.
    pub markers: bool,
}

impl SwapOptions {
    /// Creates and saves a new state, or loads the one to continue. With `needs_markers`, no meter of this machine can
    /// be read.
    ///
    /// # Errors
    /// The file belongs to another plan, already exists or cannot be written, or a name is not valid.
    pub fn state(&self, needs_markers: bool) -> Result<SwapState, PowerLogError> {
        if self.resume {
            return self.resumed();
        }
        if self.file.exists() {
            return Err(PowerLogError::Exists(self.file.clone()));
        }
        SwapState::check(&self.file)?;
        let window = self.window.unwrap_or(WINDOW);
        if window < MIN_WINDOW {
            return Err(PowerLogError::TooShort);
        }
        let state = SwapState::of(SwapPlan {
            devices: names(&self.devices)?,
            window_ns: window.0,
            markers: self.markers || needs_markers,
        });
        state.save(&self.file)?;
        Ok(state)
    }

    fn resumed(&self) -> Result<SwapState, PowerLogError> {
        let state = SwapState::load(&self.file)?;
        let Some(plan) = &state.plan else {
            return Err(PowerLogError::File {
                path: self.file.clone(),
                why: "it has markers, but no plan of joulio power swap".into(),
            });
        };
        let same = self.devices.is_empty() || names(&self.devices)? == plan.devices;
        let same = same && self.window.is_none_or(|time| time.0 == plan.window_ns);
        let same = same && (plan.markers || !self.markers);
        match same {
            true => Ok(state),
            false => Err(PowerLogError::AnotherPlan {
                path: self.file.clone(),
                devices: plan.devices.join(","),
                seconds: Nanos(plan.window_ns).seconds(),
            }),
        }
    }
}

/// Returns the devices' names after checking that they differ.
fn names(devices: &[String]) -> Result<Vec<String>, PowerLogError> {
    let names: Vec<_> = devices.iter().map(|name| name.trim().to_string()).collect();
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() || name.contains(char::is_control) {
            return Err(PowerLogError::NoName(name.clone()));
        }
        if names[..at].contains(name) {
            return Err(PowerLogError::SameName(name.clone()));
        }
    }
    Ok(names)
}

/// Steps of a person at the machine, one device after the other.
pub struct SwapSteps<'a> {
    /// State of the steps: what has been done so far.
    pub state: SwapState,
    /// File of the state.
    pub file: &'a Path,
    /// Shape of the markers.
    pub shape: Shape,
    /// Stops the steps early.
    pub stop: &'a Stop,
}

/// Outcome of a step.
#[derive(PartialEq)]
enum Step {
    Done,
    /// The person has left, or a signal came.
    Left,
}

impl SwapSteps<'_> {
    /// Continues until every device has been installed or the person has left; neither is an error.
    ///
    /// # Errors
    /// The meters or the file failed, or the clock was changed.
    pub fn run(
        &mut self,
        person: &mut dyn Person,
        gauge: &mut dyn Gauge,
    ) -> Result<(), PowerLogError> {
        while let Some((at, device)) = self.state.next() {
            let device = device.to_string();
            person.report(&self.request(at, &device));
            let step = match person.done()? {
                true => self.step(&device, person, gauge)?,
                false => Step::Left,
            };
            if step == Step::Left {
                person.report(&format!(
                    "\nStopped before '{device}' was done. Go on with: joulio power swap --resume \
                     --file {}\n",
                    self.file.display()
                ));
                return Ok(());
            }
        }
        let file = self.file.display();
        person.report(&format!("All done; {file} has the windows"));
        person.report(&match self.state.markers().is_empty() {
            true => ".\n".into(),
            false => format!(
                ". With the file of a logger at the plug:\n  joulio power import FILE.csv \
                 --windows {file}\n"
            ),
        });
        Ok(())
    }

    /// Returns the text that asks the person to install `device`.
    fn request(&self, at: usize, device: &str) -> String {
        let all = self
            .state
            .plan
            .as_ref()
            .map_or(0, |plan| plan.devices.len());
        format!(
            "\n[{}/{all}] Now: {device}\n  Put it in the place of what was there before (switch \
             the machine off for that if it\n  must be; {} has what is done, and --resume goes \
             on).\n  When the machine is idle again, press Enter here (Ctrl-D to stop). ",
            at + 1,
            self.file.display()
        )
    }

    /// Measures a window with `device`, between markers if the plan has them.
    fn step(
        &mut self,
        device: &str,
        person: &mut dyn Person,
        gauge: &mut dyn Gauge,
    ) -> Result<Step, PowerLogError> {
        let (length, markers) = match &self.state.plan {
            Some(plan) => (Nanos(plan.window_ns), plan.markers),
            None => return Ok(Step::Left),
        };
        if markers && self.marker(person)? == Step::Left {
            return Ok(Step::Left);
        }
        let start = now();
        person.report(&format!(
            "  Idle, {} s, until {}: leave it alone.\n",
            length.seconds(),
            utc(start + length)
        ));
        let watch = Instant::now();
        let Some(watched) = gauge.watch(length, self.stop)? else {
            return Ok(Step::Left);
        };
        let end = now();
        let passed = Nanos(u64::try_from(watch.elapsed().as_nanos()).unwrap_or(u64::MAX));
        check_clock(end.since(start), passed)?;
        for why in &watched.failed {
            person.report(&format!("  No figure of {why}\n"));
        }
        if markers && self.marker(person)? == Step::Left {
            return Ok(Step::Left);
        }
        self.state.windows.push(SwapWindow {
            name: device.into(),
            start_unix_ns: start.0,
            end_unix_ns: end.0,
            measured: watched.measured,
        });
        self.state.save(self.file)?;
        Ok(Step::Done)
    }

    /// Makes a marker and saves it immediately: the logger has recorded it, whatever happens afterwards.
    fn marker(&mut self, person: &mut dyn Person) -> Result<Step, PowerLogError> {
        let length = self.shape.length().seconds();
        person.report(&format!("  Marker, {length} s: leave it alone.\n"));
        let Ok(marker) = self.shape.make(self.stop.flag()) else {
            return Ok(Step::Left);
        };
        self.state.add_marker(&marker);
        self.state.save(self.file)?;
        Ok(Step::Done)
    }

    /// Returns the power of each device so far, by each meter.
    pub fn figures(&self) -> Vec<LoggedDevicePower> {
        let windows = self.state.windows.iter();
        figures(windows.map(|window| (window.name.as_str(), &window.measured[..])))
    }
}

/// Returns an error unless the window took the same time on the wall clock as on the monotonic clock, which is never
/// set.
fn check_clock(wall: Nanos, steady: Nanos) -> Result<(), PowerLogError> {
    let apart = wall.since(steady).max(steady.since(wall));
    match apart > SET {
        true => Err(PowerLogError::ClockSet(apart.seconds())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
