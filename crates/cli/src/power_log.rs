//! `joulio power swap`, `import` and `marker`: a logger at the plug, and a person at the machine.

mod figures;
mod import;
mod log_args;
mod person;
mod swap;

pub use import::{ImportArgs, import};
pub use log_args::LogArgs;
pub use swap::{SwapArgs, swap};

use crate::Outcome;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::signals::stop_on_signals;
use crate::times::seconds;
use joulio_energy::alignment::Shape;
use joulio_lab::power_log::SwapState;
use joulio_units::Nanos;
use std::path::PathBuf;

/// Make a marker, by which a logger's clock is compared with this machine's
///
/// All cores spin, then idle, three times: a logger at the plug records that. Make one before and
/// one after the runs, while the machine is otherwise idle.
#[derive(clap::Args)]
pub struct MarkerArgs {
    #[command(flatten)]
    shape: ShapeArgs,
    /// Add it to this file, for joulio power import. Default: print it
    #[arg(long)]
    file: Option<PathBuf>,
}

/// Flags of a marker's pattern.
#[derive(clap::Args)]
struct ShapeArgs {
    /// How long all cores spin: at least twice the logger's interval
    #[arg(long, default_value = "5s", value_parser = seconds)]
    spin: Nanos,
    /// How long they idle before, between and after
    #[arg(long, default_value = "5s", value_parser = seconds)]
    idle: Nanos,
    /// How often
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u32).range(1..=20))]
    repeat: u32,
}

impl ShapeArgs {
    fn shape(&self) -> Result<Shape, Failure> {
        for (flag, length) in [("--spin", self.spin), ("--idle", self.idle)] {
            if !(Nanos::from_millis(1)..=Nanos::from_millis(60_000)).contains(&length) {
                return Err(Failure::input(format!("{flag}: give from 1ms to 1m")));
            }
        }
        Ok(Shape {
            spin: self.spin,
            idle: self.idle,
            times: self.repeat,
        })
    }
}

/// Runs `joulio power marker`.
pub fn marker(args: &MarkerArgs) -> Outcome {
    let shape = args.shape.shape()?;
    let mut state = match &args.file {
        Some(path) if path.exists() => SwapState::load(path)?,
        _ => SwapState::default(),
    };
    if let Some(path) = &args.file {
        // A file that cannot be written is reported before the marker instead of after it.
        SwapState::check(path)?;
    }
    let stop = stop_on_signals()?;
    let marker = shape.make(stop.flag()).map_err(Failure::run)?;
    state.add_marker(&marker);
    match &args.file {
        None => print_json(&state),
        Some(path) => {
            state.save(path)?;
            let count = state.markers().len();
            print(&format!("marker {count} is in {}\n", path.display()))
        }
    }
}
