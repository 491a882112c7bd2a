//! `joulio stat`: iostat with watts and joules.

mod out;
mod table;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::Output;
use crate::power::{interval, lines};
use crate::signals::{cancel, of_terminal, stop_on_signals};
use joulio_kernel_io::Disks;
use joulio_lab::idle::idle_baseline_if_any;
use joulio_lab::stat::{
    DriveProfile, ListenAddress, MetricsOutputs, Stat, StatModel, counted_with_command,
    metrics_path, run_command,
};
use joulio_lab::{ControllerName, WatchedDisks, meters, pause};
use joulio_units::Nanos;
use out::{Out, TableOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Flags of `stat`.
#[derive(clap::Args)]
#[command(after_help = "\
The columns are iostat's, with its units: r_await and w_await in milliseconds from queueing to completion, \
aqu-sz in I/Os, %util in percent of the time. \
Joules per I/O are all of a meter's joules over all reads and writes of the devices listed; those \
of a storage device's own meter over its own. The figures since boot, with which iostat begins, \
are left out, as by iostat -y: the first ones come after an interval. iostat's -d, -m, -x and -y are accepted: \
tables are so without them.")]
pub struct StatArgs {
    /// Block devices: vda or /dev/vda; for a partition, its disk is shown. Default: all. The interval in seconds and
    /// the number of reports may follow, as with iostat
    #[arg(value_name = "DEVICE")]
    disks: Vec<String>,
    /// A command after --: run it and report what the machine used from its start to its end. Its exit status is
    /// passed on
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["interval", "count", "listen"])]
    command: Vec<OsString>,
    /// Seconds between reports (or 1500ms, 1m); at least 1
    #[arg(short = 'i', long, default_value = "1", value_parser = interval)]
    interval: Nanos,
    /// Print the time of day above each report
    #[arg(short = 't')]
    timestamps: bool,
    /// Leave out devices without reads or writes in the interval
    #[arg(short = 'z')]
    active_alone: bool,
    /// As iostat has it: devices alone, which they always are
    #[arg(short = 'd', hide = true)]
    devices_alone: bool,
    /// As iostat has it: extended figures, which are always there
    #[arg(short = 'x', hide = true)]
    extended: bool,
    /// As iostat has it: MiB a second, which they are without -k
    #[arg(short = 'm', hide = true, conflicts_with = "kilobytes")]
    megabytes: bool,
    /// Show KiB per second instead of MiB
    #[arg(short = 'k')]
    kilobytes: bool,
    /// As iostat has it: without the figures since boot, which are never there
    #[arg(short = 'y', hide = true)]
    without_first: bool,
    /// Number of reports. Default: until interrupted
    #[arg(short = 'n', long, alias = "num_iterations", value_parser = lines)]
    count: Option<u64>,
    /// Meters to read, a list as for joulio power: names, sources, boundaries, all or none
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// Also read the power of this storage device: /dev/nvme0 (as root), or any device that joulio power accepts.
    /// Repeatable
    #[arg(long, value_name = "NVME")]
    device: Vec<ControllerName>,
    /// Where there is no meter, estimate joules of drives and cores from profiles and the kernel's counters. These
    /// are marked as modelled, with the band of the profiles
    #[arg(long)]
    model: bool,
    /// Profile of a drive: vda=optane-900p, a name of joulio profiles or a file. Default: the profile that matches
    /// the drive's model name, or the band over all profiles. Repeatable
    #[arg(long, value_name = "DISK=PROFILE", requires = "model")]
    drive: Vec<DriveProfile>,
    /// Machine profile for the watts of cores. Default: the profile of this processor, or generic-server
    #[arg(long, value_name = "NAME", requires = "model")]
    machine: Option<String>,
    /// File with the watts of the idle machine. Default: where joulio power --idle writes it
    #[arg(long, value_name = "FILE")]
    idle_baseline: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    /// Keep this file up to date for node_exporter's textfile collector: FOLDER/NAME.prom. Only a file that joulio
    /// stat wrote is replaced. Writing the file adds I/O of its own
    #[arg(long, value_name = "FILE", value_parser = metrics_path)]
    textfile: Option<PathBuf>,
    /// Serve the same figures for Prometheus at http://ADDRESS:PORT/metrics, as OpenMetrics if the client accepts it.
    /// Default address: 127.0.0.1, this machine only
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    listen: Option<ListenAddress>,
    /// Save the counters of --textfile and --listen in this file, and continue from it after a restart. It is written
    /// at each interval, before they are
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Read the tree under this folder, captured on another machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true)]
    root: Option<PathBuf>,
}

impl StatArgs {
    /// Returns the devices, the interval and the number of reports; users of iostat write the last two after the
    /// devices.
    fn operands(&self) -> Result<(&[String], Nanos, Option<u64>), Failure> {
        let is_number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let begin = self.disks.iter().position(is_number);
        let begin = begin.unwrap_or(self.disks.len());
        let (disks, numbers) = self.disks.split_at(begin);
        if !numbers.is_empty() && !self.command.is_empty() {
            return Err(Failure::input(
                "a command takes as long as it takes: leave the interval out",
            ));
        }
        let given = |text: &String, problem: String| Failure::input(format!("'{text}': {problem}"));
        let (mut time, mut count) = (self.interval, self.count);
        match numbers {
            [] => {}
            [seconds, more @ ..] if more.len() < 2 => {
                time = interval(seconds).map_err(|why| given(seconds, why))?;
                if let [lines_of] = more {
                    count = Some(lines(lines_of).map_err(|why| given(lines_of, why))?);
                }
            }
            [_, _, more, ..] => {
                let problem = "devices come first, then the interval and the count".into();
                return Err(given(more, problem));
            }
            [more, ..] => return Err(given(more, "devices come first".into())),
        }
        Ok((disks, time, count))
    }
}

/// Runs `joulio stat`.
pub fn run(args: &StatArgs) -> Outcome {
    if args.command.is_empty() && std::env::args_os().any(|word| word == "--") {
        return Err(Failure::input(
            "no command behind --: joulio stat -- COMMAND; without --, joulio stat goes on by itself",
        ));
    }
    let (disks, time, mut left) = args.operands()?;
    let outputs = MetricsOutputs {
        file: args.textfile.as_deref(),
        listen: args.listen,
        state: args.state.as_deref(),
    };
    if outputs.state.is_some() && outputs.file.is_none() && outputs.listen.is_none() {
        return Err(Failure::input(
            "--state is of the counters of --textfile or --listen: say one of them too",
        ));
    }
    let root = meters::root(args.root.as_deref())?;
    let folder = args.root.as_deref().unwrap_or(Path::new("/"));
    let all = Disks::at(folder);
    let watched = WatchedDisks::new(all, disks, root.clock().now())?;
    watched.notes().iter().for_each(|note| say(note));
    let mut discovery = meters::discover_with(&root, &args.meter, &args.device, &cancel())?;
    let machine = args.machine.as_deref();
    let model = match args.model {
        true => Some(StatModel::new(
            &root,
            folder,
            machine,
            &args.drive,
            &watched,
        )),
        false => None,
    };
    let (model, model_notes) = model.transpose().map_err(Failure::input)?.unzip();
    let (baseline, mut notes) = idle_baseline_if_any(&root, args.idle_baseline.as_deref())?;
    notes.extend(model_notes.into_iter().flatten());
    let options = TableOptions {
        timestamps: args.timestamps,
        active_alone: args.active_alone,
        kilobytes: args.kilobytes,
    };
    let mut out = Out::new(args.output.format(), outputs, notes, options)?;
    let stop = stop_on_signals()?;
    let meterless = discovery.meters.is_empty();
    let counted_too = counted_with_command(&discovery.meters.about());
    let baseline = baseline.as_ref();
    let stat = Stat::begin(&root, watched, &mut discovery.meters, baseline, model);
    let mut stat = stat.map_err(Failure::run)?;
    if !args.command.is_empty() {
        let used = run_command(&args.command, &stop, of_terminal()?).map_err(|error| {
            let program = args.command[0].display();
            Failure::input(format!("{program}: {error}"))
        })?;
        let mut report = stat.lap().map_err(Failure::run)?;
        report.notes.extend(counted_too);
        out.show_command(&used, report, meterless)?;
        return match used.status {
            0 => Ok(()),
            status => Err(Failure::Command(status)),
        };
    }
    out.begin(time, meterless, args.model)?;
    while left != Some(0) && pause(time, &stop, |_| {}) {
        out.show(stat.lap().map_err(Failure::run)?)?;
        left = left.map(|left| left - 1);
    }
    Ok(())
}
