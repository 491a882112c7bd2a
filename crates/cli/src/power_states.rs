//! `joulio power-states`: shows, sets and measures a controller's power states.

mod measured;
mod report;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{Format, Output, print, print_json};
use crate::signals::{cancel, stop_on_signals};
use crate::times::duration;
use clap::ValueEnum;
use joulio_host::power_states::{FeatureRequest, coalescing};
use joulio_lab::ControllerName;
use joulio_lab::power_states::{MeasureOptions, PowerReport, hold, leave, measure_states};
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_units::Nanos;

/// Time in each state over which --measure reads the meters, which are updated every second.
const WATTS_TIME: Nanos = Nanos::from_millis(3_000);

/// Shows a controller's power states, its transitions by idle time and what it says it draws.
/// A change is written to a journal before it is made; what the journal has is restored by
/// `joulio restore`.
#[derive(clap::Args)]
pub struct PowerStatesArgs {
    /// /dev/nvme0 (as root), pcie:0000:01:00.0, vfio-user:SOCKET or emulated:PROFILE
    device: ControllerName,
    /// Set this power state
    #[arg(long, value_name = "PS", value_parser = clap::value_parser!(u8).range(0..=31))]
    set: Option<u8>,
    /// Autonomous power state transitions (APST). If the drive has no table, Linux's default table is used
    #[arg(long, value_enum)]
    apst: Option<Switch>,
    /// Interrupt coalescing: an interrupt after COUNT completions or US microseconds, such as 8,200; or off
    #[arg(long, value_name = "COUNT,US", value_parser = coalescing::parse)]
    coalescing: Option<InterruptCoalescing>,
    /// Show the device after this time, or Ctrl-C, and then restore what was changed. The device's own meter, if it
    /// has one, is read meanwhile; that takes at least 2s
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    duration: Option<Nanos>,
    /// Measure each power state: microseconds to enter and to leave it, with reads, and watts in it, for --for each
    /// (3s). The drive is put into every state and back; its data is only read
    #[arg(long, conflicts_with_all = ["set", "apst", "coalescing"])]
    measure: bool,
    /// Rounds of --measure; the lowest latency counts
    #[arg(long, value_name = "N", default_value_t = 10, requires = "measure", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    rounds: u32,
    /// Meters of the machine for --measure, in addition to the drive's own; a list as for joulio power: wall
    #[arg(
        long,
        value_name = "METER",
        value_delimiter = ',',
        requires = "measure"
    )]
    meter: Vec<String>,
    #[command(flatten)]
    output: Output,
}

/// `--apst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    /// Returns true for `on`.
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

impl PowerStatesArgs {
    fn changes(&self) -> Vec<FeatureRequest> {
        let apst = self.apst.map(|switch| FeatureRequest::Apst(switch.is_on()));
        // The power state is set last: the earlier autonomous transitions might make the device leave it.
        let set = self.set.map(FeatureRequest::PowerState);
        let coalescing = self.coalescing.map(FeatureRequest::Coalescing);
        apst.into_iter().chain(coalescing).chain(set).collect()
    }
}

/// Runs `joulio power-states`.
pub fn run(args: &PowerStatesArgs) -> Outcome {
    if args.measure {
        return measure(args);
    }
    let changes = args.changes();
    if args.duration.is_none() && !changes.is_empty() {
        refuse_useless_change(&args.device)?;
    }
    let controller = args.device.open(cancel())?;
    let report = match args.duration {
        Some(time) => {
            // Signals are handled before there is anything to restore.
            let stop = stop_on_signals()?;
            hold(&changes, &controller, time, &stop, say)?
        }
        None if changes.is_empty() => PowerReport::read(&controller)?,
        None => leave(&changes, &controller, say)?,
    };
    match args.output.format() {
        Format::Normal => print(&report::text(&report)),
        Format::Json => print_json(&report),
    }
}

/// Executes `--measure`.
fn measure(args: &PowerStatesArgs) -> Outcome {
    let options = MeasureOptions {
        rounds: args.rounds,
        time: args.duration.unwrap_or(WATTS_TIME),
        meters: args.meter.clone(),
    };
    let mut drive = args.device.open_to_read(cancel())?;
    // Signals are handled before there is anything to restore.
    let stop = stop_on_signals()?;
    let found = measure_states(&mut drive, &options, &stop, say)?;
    match args.output.format() {
        Format::Normal => print(&measured::text(&found)),
        Format::Json => print_json(&found),
    }
}

/// Returns an error for a lasting change of a controller that joulio drives, which is reset when the command ends.
fn refuse_useless_change(name: &ControllerName) -> Outcome {
    match name {
        ControllerName::Kernel(_) => Ok(()),
        ControllerName::Own(name) => Err(Failure::input(format!(
            "{}: a change would end with this command, which switches the controller off: say how long, as --for 10s",
            name.text
        ))),
    }
}
