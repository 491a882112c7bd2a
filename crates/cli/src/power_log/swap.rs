//! `joulio power swap`: a person installs one device after the other.

use super::ShapeArgs;
use super::figures::of_devices;
use super::person::Terminal;
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use crate::signals::stop_on_signals;
use crate::times::seconds;
use joulio_energy::{Meters, Root};
use joulio_lab::meters;
use joulio_lab::power_log::{Gauge, SwapOptions, SwapSteps};
use joulio_units::Nanos;
use std::path::PathBuf;

const FILE: &str = "joulio-swap.json";

/// Guide a person through idle windows with one device after the other, and measure each
///
/// "no device" among them is what the others are compared with. What is done is kept in a file
/// after each step, so that it goes on after a reboot. Where no meter can be read, the windows are
/// kept for the file of a logger at the plug: joulio power import.
#[derive(clap::Args)]
pub struct SwapArgs {
    /// Devices to insert, one after the other, as in "no device,hdd,850evo"
    #[arg(long, required_unless_present = "resume", value_delimiter = ',')]
    devices: Vec<String>,
    /// Idle time with each device. Default: 10m
    #[arg(long, value_parser = seconds)]
    time: Option<Nanos>,
    /// File in which finished windows are saved
    #[arg(long, default_value = FILE)]
    file: PathBuf,
    /// Continue with the first device of the file that is not done
    #[arg(long)]
    resume: bool,
    /// Meters to read, as for joulio power
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// Make a marker before and after each window, for a logger at the plug. Default: if no meter of the machine can
    /// be read
    #[arg(long)]
    marker: bool,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    output: Output,
}

/// Runs `joulio power swap`.
pub fn swap(args: &SwapArgs) -> Outcome {
    let shape = args.shape.shape()?;
    let mut meters = args.meters()?;
    let options = SwapOptions {
        devices: args.devices.clone(),
        window: args.time,
        file: args.file.clone(),
        resume: args.resume,
        markers: args.marker,
    };
    let state = options.state(!meters.measures())?;
    let stop = stop_on_signals()?;
    let mut person = Terminal::new(&stop)?;
    let mut steps = SwapSteps {
        state,
        file: &args.file,
        shape,
        stop: &stop,
    };
    steps.run(&mut person, &mut meters)?;
    let figures = steps.figures();
    match args.output.format() {
        Format::Json => print_json(&figures),
        Format::Normal if figures.is_empty() => Ok(()),
        Format::Normal => print(&of_devices(&figures)),
    }
}

impl SwapArgs {
    fn meters(&self) -> Result<Meters, Failure> {
        let discovery = meters::discover(&Root::system(), &self.meter)?;
        Ok(discovery.meters)
    }
}
