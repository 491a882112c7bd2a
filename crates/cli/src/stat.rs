//! `joulio stat`: iostat with joules.

mod metrics;
mod out;
mod report;
mod table;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::meters;
use crate::output::Format;
use crate::power::pause::pause;
use crate::power::{idle, interval, lines};
use crate::power_states::port::PortName;
use crate::signals::stop_on_signals;
use joulio_energy::{Baseline, MeterResult, Root};
use joulio_kernel_io::Disks;
use joulio_lab::power_log::wall_time;
use joulio_lab::{DiskInterval, IoShare, WatchedDisks};
use joulio_units::Nanos;
use out::Out;
use report::{DeviceRow, MeterRow, Report};
use std::path::{Path, PathBuf};

/// What to watch, and how often to tell.
#[derive(clap::Args)]
#[command(after_help = "\
Joules per I/O are all of a meter's joules over all reads and writes of the devices listed; those \
of a storage device's own meter over its own. The figures since boot, with which iostat begins, \
are left out, as by iostat -y: the first ones come after an interval.")]
pub struct Args {
    /// Block devices: vda or /dev/vda; of a partition, its disk. Default: all
    #[arg(value_name = "DEVICE")]
    disks: Vec<String>,
    /// Seconds (or 1500ms, 1m) between lines; 1 at the least
    #[arg(long, default_value = "1", value_parser = interval)]
    interval: Nanos,
    /// How many lines. Default: until it is interrupted
    #[arg(long, value_parser = lines)]
    count: Option<u64>,
    /// Only these meters, a list, as joulio power takes it: names, sources, boundaries, all or none
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// Ask this storage device for its own power too: /dev/nvme0 (as root), or what else joulio
    /// power takes. Repeatable
    #[arg(long, value_name = "NVME")]
    device: Vec<PortName>,
    /// What the idle machine draws, as joulio power --idle keeps it. Default: where that keeps it
    #[arg(long, value_name = "FILE")]
    idle_baseline: Option<PathBuf>,
    /// normal, or json: an object a line
    #[arg(
        short,
        long,
        alias = "output-format",
        value_enum,
        default_value = "normal"
    )]
    output: Format,
    /// Keep this file up to date for node_exporter's textfile collector: FOLDER/NAME.prom. One of an
    /// earlier joulio stat is replaced, another is not. Its writes are I/Os like others
    #[arg(long, value_name = "FILE", value_parser = metrics::path)]
    openmetrics: Option<PathBuf>,
    /// Read the tree under this folder, captured on another machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true)]
    root: Option<PathBuf>,
}

/// `joulio stat`.
pub fn run(args: &Args) -> Outcome {
    let root = meters::root(args.root.as_deref())?;
    let disks = Disks::at(args.root.as_deref().unwrap_or(Path::new("/")));
    let mut watched = WatchedDisks::new(disks, &args.disks, root.clock().now())?;
    watched.notes().iter().for_each(|note| say(note));
    let mut discovery = meters::discover_with(&root, &args.meter, &args.device)?;
    let (baseline, told) = baseline(args, &root)?;
    let mut out = Out::new(args, told)?;
    let stop = stop_on_signals()?;
    out.begin(args.interval, discovery.meters.is_empty())?;
    let meters = discovery.meters.about().into_iter();
    let mut shares: Vec<_> = meters.map(|_| IoShare::default()).collect();
    let mut window = discovery.meters.open().map_err(Failure::run)?;
    watched.snapshot(root.clock().now()).map_err(Failure::run)?;
    let mut left = args.count;
    while left != Some(0) && pause(args.interval, &stop, |_| {}) {
        let look = watched.snapshot(root.clock().now()).map_err(Failure::run)?;
        let measured = window.lap(baseline.as_ref());
        out.show(report(look, &measured, &mut shares, &watched))?;
        left = left.map(|left| left - 1);
    }
    Ok(())
}

/// What the idle machine draws, if that is known, and what is to be told of it. One that was not
/// asked for and is of no use is no reason to stop.
fn baseline(args: &Args, root: &Root) -> Result<(Option<Baseline>, Vec<String>), Failure> {
    match (
        idle::kept(root, args.idle_baseline.as_deref()),
        &args.idle_baseline,
    ) {
        (Ok(Some((baseline, differences))), _) => {
            let told = differences
                .iter()
                .map(|what| format!("idle baseline: {what}"));
            Ok((Some(baseline), told.collect()))
        }
        (Ok(None), _) => Ok((None, Vec::new())),
        (Err(Failure::Input(why)), None) => {
            Ok((None, vec![format!("idle baseline not used: {why}")]))
        }
        (Err(failure), _) => Err(failure),
    }
}

fn report(
    look: DiskInterval,
    measured: &[MeterResult],
    shares: &mut [IoShare],
    watched: &WatchedDisks,
) -> Report {
    let is_of = |name: &str, controller: &str| watched.is_of(name, controller);
    let meters = measured.iter().zip(shares).map(|(measured, share)| {
        let ios = share.lap(measured, &look.devices, is_of);
        MeterRow::new(measured, ios)
    });
    Report {
        time: wall_time::now().seconds(),
        seconds: look.seconds,
        meters: meters.collect(),
        devices: look.devices.iter().map(DeviceRow::new).collect(),
        notes: look.notes,
    }
}
