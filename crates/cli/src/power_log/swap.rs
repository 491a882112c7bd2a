//! `joulio power swap`: the idle machine without the device under test, then with one after the
//! other (HotStorage 2020, figure 1), so that a device's own power is a difference at the wall.

use super::ShapeArgs;
use super::figures::{Figure, figures, table};
use super::gauge::Gauge;
use super::person::{Person, Terminal};
use super::state::{Plan, State, Window};
use super::wall_time::{now, utc};
use crate::Outcome;
use crate::failure::Failure;
use crate::meters;
use crate::output::{Format, Output, print, print_json};
use crate::signals::stop_on_signals;
use crate::work::seconds;
use joulio_energy::alignment::Shape;
use joulio_energy::{MIN_WINDOW, Meters, Root};
use joulio_units::Nanos;
use joulio_workload::Stop;
use std::path::{Path, PathBuf};
use std::time::Instant;

const FILE: &str = "joulio-swap.json";
const WINDOW: Nanos = Nanos::from_millis(600_000);
/// The clock may be slewed by NTP within a window, not set.
const SET: Nanos = Nanos::from_millis(500);

/// Guide a person through idle windows with one device after the other, and measure each
///
/// "no device" among them is what the others are compared with. What is done is kept in a file
/// after each step, so that it goes on after a reboot. Where no meter can be read, the windows are
/// kept for the file of a logger at the plug: joulio power import.
#[derive(clap::Args)]
pub struct SwapArgs {
    /// What to put in, one after the other, as in "no device,hdd,850evo"
    #[arg(long, required_unless_present = "resume", value_delimiter = ',')]
    devices: Vec<String>,
    /// How long the machine idles with each. Default: 10m
    #[arg(long, value_parser = seconds)]
    time: Option<Nanos>,
    /// Where to keep what is done
    #[arg(long, default_value = FILE)]
    file: PathBuf,
    /// Go on with the first device of the file that is not done
    #[arg(long)]
    resume: bool,
    /// Read these meters, as joulio power has them
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// Make a marker before and after each window, for a logger at the plug. Default: where no
    /// meter of the machine can be read
    #[arg(long)]
    marker: bool,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    output: Output,
}

/// `joulio power swap`.
pub fn swap(args: &SwapArgs) -> Outcome {
    let shape = args.shape.shape()?;
    let mut meters = args.meters()?;
    let state = args.state(!meters.measures())?;
    let stop = stop_on_signals()?;
    let mut person = Terminal::new(&stop)?;
    let mut steps = Steps {
        state,
        file: &args.file,
        shape,
        stop: &stop,
    };
    steps.run(&mut person, &mut meters)?;
    let figures = steps.figures();
    match args.output.format {
        Format::Json => print_json(&figures),
        Format::Normal if figures.is_empty() => Ok(()),
        Format::Normal => print(&table(&figures)),
    }
}

impl SwapArgs {
    fn meters(&self) -> Result<Meters, Failure> {
        let discovery = meters::discover(&Root::system(), &self.meter)?;
        Ok(discovery.meters)
    }

    /// A new state, which is saved, or the one to go on with.
    fn state(&self, needs_markers: bool) -> Result<State, Failure> {
        let file = self.file.display();
        if self.resume {
            let state = State::load(&self.file)?;
            let Some(plan) = &state.plan else {
                let what = "it has markers, but no plan of joulio power swap";
                return Err(Failure::input(format!("{file}: {what}")));
            };
            let same = self.devices.is_empty() || names(&self.devices)? == plan.devices;
            let same = same && self.time.is_none_or(|time| time.0 == plan.window_ns);
            let same = same && (plan.markers || !self.marker);
            return match same {
                true => Ok(state),
                false => Err(Failure::input(format!(
                    "{file} is of another plan ({} for {} s each): leave --devices, --time and \
                     --marker out to go on with it, or name another --file",
                    plan.devices.join(","),
                    Nanos(plan.window_ns).seconds()
                ))),
            };
        }
        if self.file.exists() {
            return Err(Failure::input(format!(
                "--file: {file} is there already: go on with it by --resume, or name another"
            )));
        }
        State::check(&self.file)?;
        let window = self.time.unwrap_or(WINDOW);
        if window < MIN_WINDOW {
            return Err(Failure::input(
                "--time: meters say nothing of less than a second",
            ));
        }
        let state = State::of(Plan {
            devices: names(&self.devices)?,
            window_ns: window.0,
            markers: self.marker || needs_markers,
        });
        state.save(&self.file)?;
        Ok(state)
    }
}

/// The devices' names, which are to differ.
fn names(devices: &[String]) -> Result<Vec<String>, Failure> {
    let names: Vec<_> = devices.iter().map(|name| name.trim().to_string()).collect();
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() || name.contains(char::is_control) {
            return Err(Failure::input(format!("--devices: {name:?} is no name")));
        }
        if names[..at].contains(name) {
            let why = "is there twice: tell them apart, as in 'no device' and 'no device again'";
            return Err(Failure::input(format!("--devices: '{name}' {why}")));
        }
    }
    Ok(names)
}

/// The steps, one after the other.
struct Steps<'a> {
    state: State,
    file: &'a Path,
    shape: Shape,
    stop: &'a Stop,
}

/// How a step ended.
#[derive(PartialEq)]
enum Step {
    Done,
    /// The person has gone, or a signal came.
    Left,
}

impl Steps<'_> {
    /// Until every device was in, or the person has gone; both are a good end.
    fn run(&mut self, person: &mut dyn Person, gauge: &mut dyn Gauge) -> Outcome {
        while let Some((at, device)) = self.state.next() {
            let device = device.to_string();
            person.tell(&self.request(at, &device));
            let step = match person.done()? {
                true => self.step(&device, person, gauge)?,
                false => Step::Left,
            };
            if step == Step::Left {
                person.tell(&format!(
                    "\nStopped before '{device}' was done. Go on with: joulio power swap --resume \
                     --file {}\n",
                    self.file.display()
                ));
                return Ok(());
            }
        }
        let file = self.file.display();
        person.tell(&format!("All done; {file} has the windows"));
        person.tell(&match self.state.markers().is_empty() {
            true => ".\n".into(),
            false => format!(
                ". With the file of a logger at the plug:\n  joulio power import FILE.csv \
                 --windows {file}\n"
            ),
        });
        Ok(())
    }

    /// What a person is asked to do.
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

    /// A window with `device`, between markers if there are any.
    fn step(
        &mut self,
        device: &str,
        person: &mut dyn Person,
        gauge: &mut dyn Gauge,
    ) -> Result<Step, Failure> {
        let (length, markers) = match &self.state.plan {
            Some(plan) => (Nanos(plan.window_ns), plan.markers),
            None => return Ok(Step::Left),
        };
        if markers && self.marker(person)? == Step::Left {
            return Ok(Step::Left);
        }
        let start = now();
        person.tell(&format!(
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
            person.tell(&format!("  No figure of {why}\n"));
        }
        if markers && self.marker(person)? == Step::Left {
            return Ok(Step::Left);
        }
        self.state.windows.push(Window {
            name: device.into(),
            start_unix_ns: start.0,
            end_unix_ns: end.0,
            measured: watched.measured,
        });
        self.state.save(self.file)?;
        Ok(Step::Done)
    }

    /// A marker is kept at once: a logger has recorded it, whatever comes after.
    fn marker(&mut self, person: &mut dyn Person) -> Result<Step, Failure> {
        let length = self.shape.length().seconds();
        person.tell(&format!("  Marker, {length} s: leave it alone.\n"));
        let Ok(marker) = self.shape.make(self.stop.flag()) else {
            return Ok(Step::Left);
        };
        self.state.add_marker(&marker);
        self.state.save(self.file)?;
        Ok(Step::Done)
    }

    fn figures(&self) -> Vec<Figure> {
        let windows = self.state.windows.iter();
        figures(windows.map(|window| (window.name.as_str(), &window.measured[..])))
    }
}

/// The window has to have passed on the wall clock as it has on the one that nobody sets.
fn check_clock(wall: Nanos, steady: Nanos) -> Outcome {
    let apart = wall.since(steady).max(steady.since(wall));
    match apart > SET {
        true => Err(Failure::run(format!(
            "the machine's clock was set by {:.1} s within the window: the step is not done; go on \
             with --resume",
            apart.seconds()
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
