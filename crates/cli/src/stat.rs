//! `joulio stat`: iostat with joules.

mod out;
mod table;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::Format;
use crate::power::{interval, lines};
use crate::signals::{cancel, stop_on_signals};
use joulio_kernel_io::Disks;
use joulio_lab::idle::idle_baseline_if_any;
use joulio_lab::stat::{Stat, metrics_path};
use joulio_lab::{ControllerName, WatchedDisks, meters, pause};
use joulio_units::Nanos;
use out::Out;
use std::path::{Path, PathBuf};

/// Flags of `stat`.
#[derive(clap::Args)]
#[command(after_help = "\
Joules per I/O are all of a meter's joules over all reads and writes of the devices listed; those \
of a storage device's own meter over its own. The figures since boot, with which iostat begins, \
are left out, as by iostat -y: the first ones come after an interval.")]
pub struct StatArgs {
    /// Block devices: vda or /dev/vda; of a partition, its disk. Default: all
    #[arg(value_name = "DEVICE")]
    disks: Vec<String>,
    /// Seconds (or 1500ms, 1m) between lines; at least 1
    #[arg(long, default_value = "1", value_parser = interval)]
    interval: Nanos,
    /// How many lines. Default: until it is interrupted
    #[arg(long, value_parser = lines)]
    count: Option<u64>,
    /// Only these meters, a list, as joulio power takes it: names, sources, boundaries, all or none
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// Read the power of this storage device too: /dev/nvme0 (as root), or what else joulio
    /// power takes. Repeatable
    #[arg(long, value_name = "NVME")]
    device: Vec<ControllerName>,
    /// File of the idle machine's watts, as joulio power --idle keeps it. Default: where that keeps
    /// it
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
    /// Keep this file up to date for node_exporter's textfile collector: FOLDER/NAME.prom. One of
    /// an earlier joulio stat is replaced, another is not. Its writes are I/Os like others
    #[arg(long, value_name = "FILE", value_parser = metrics_path)]
    openmetrics: Option<PathBuf>,
    /// Read the tree under this folder, captured on another machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true)]
    root: Option<PathBuf>,
}

/// `joulio stat`.
pub fn run(args: &StatArgs) -> Outcome {
    let root = meters::root(args.root.as_deref())?;
    let disks = Disks::at(args.root.as_deref().unwrap_or(Path::new("/")));
    let watched = WatchedDisks::new(disks, &args.disks, root.clock().now())?;
    watched.notes().iter().for_each(|note| say(note));
    let mut discovery = meters::discover_with(&root, &args.meter, &args.device, &cancel())?;
    let (baseline, notes) = idle_baseline_if_any(&root, args.idle_baseline.as_deref())?;
    let mut out = Out::new(args.output, args.openmetrics.as_deref(), notes)?;
    let stop = stop_on_signals()?;
    out.begin(args.interval, discovery.meters.is_empty())?;
    let baseline = baseline.as_ref();
    let stat = Stat::begin(&root, watched, &mut discovery.meters, baseline);
    let mut stat = stat.map_err(Failure::run)?;
    let mut left = args.count;
    while left != Some(0) && pause(args.interval, &stop, |_| {}) {
        out.show(stat.lap().map_err(Failure::run)?)?;
        left = left.map(|left| left - 1);
    }
    Ok(())
}
