//! `joulio power-states`: where a controller idles, how long it takes to wake, what it draws.

mod change;
pub mod port;
mod report;

use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::work::duration;
use clap::ValueEnum;
use joulio_host::power_states::{FeatureRequest, coalescing};
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_units::Nanos;
use port::PortName;
use report::Report;

/// Shows a controller's power states, its transitions by idle time and what it says it draws.
/// A change is written to a journal before it is made; what the journal has is put back by
/// `joulio restore`.
#[derive(clap::Args)]
pub struct Args {
    /// /dev/nvme0 (as root), pcie:0000:01:00.0, vfio-user:SOCKET or emulated:PROFILE
    device: PortName,
    /// Go to this power state
    #[arg(long, value_name = "PS", value_parser = clap::value_parser!(u8).range(0..=31))]
    set: Option<u8>,
    /// Transitions by idle time (APST). Where there is no table of them, Linux's is made
    #[arg(long, value_enum)]
    apst: Option<Switch>,
    /// Interrupt for so many completions at once, or after so many microseconds, as 8,200; or off
    #[arg(long, value_name = "COUNT,US", value_parser = coalescing::parse)]
    coalescing: Option<InterruptCoalescing>,
    /// Show it after so long, or Ctrl-C, and put back what was changed. The device's own meter is
    /// read meanwhile, where it has one; that takes 2s at the least
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    duration: Option<Nanos>,
    #[command(flatten)]
    output: Output,
}

/// `--apst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Args {
    fn changes(&self) -> Vec<FeatureRequest> {
        let apst = self
            .apst
            .map(|switch| FeatureRequest::Apst(switch == Switch::On));
        // The power state last: with the transitions of before it might not stay there.
        let set = self.set.map(FeatureRequest::PowerState);
        let coalescing = self.coalescing.map(FeatureRequest::Coalescing);
        apst.into_iter().chain(coalescing).chain(set).collect()
    }
}

/// `joulio power-states`.
pub fn run(args: &Args) -> Outcome {
    let changes = args.changes();
    if args.duration.is_none() && !changes.is_empty() {
        refuse_in_vain(&args.device)?;
    }
    let port = args.device.open()?;
    let report = match args.duration {
        Some(time) => change::hold(&changes, &port, time)?,
        None if changes.is_empty() => Report::of(&port)?,
        None => change::leave(&changes, &port)?,
    };
    match args.output.format {
        Format::Normal => print(&report.text()),
        Format::Json => print_json(&report.json()),
    }
}

/// A controller that joulio drives is switched off when the command ends.
fn refuse_in_vain(name: &PortName) -> Outcome {
    match name {
        PortName::Kernel(_) => Ok(()),
        PortName::Own(name) => Err(Failure::input(format!(
            "{}: a change would end with this command, which switches the controller off: say how long, as --for 10s",
            name.text
        ))),
    }
}
