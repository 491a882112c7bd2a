//! `joulio profiles measure`: measures a device and makes its profile.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::say;
use crate::output::{Format, Output, print, print_json};
use crate::signals::{cancel, stop_on_signals};
use crate::times::duration;
use joulio_lab::TargetName;
use joulio_lab::device_measure::{
    MeasureOptions, ProfiledRate, Profiling, ProfilingOptions, RatePoint,
};
use joulio_lab::output_file::Existing;
use joulio_units::Nanos;
use joulio_workload::{EngineName, parse_size};
use std::path::PathBuf;

/// Measures what a profile needs of a device and makes that profile: latency at depth 1 by block
/// size, the rate at saturation over rising depth, and the link with large blocks; by polling, where
/// the device has it. Only reads, unless by --allow-write. A flash drive answers reads of blocks that
/// were never written without its flash: fill it first. Writes the rates beside the profile, for
/// joulio profiles fit.
#[derive(clap::Args)]
pub struct MeasureDeviceArgs {
    /// Device. joulio's own driver: emulated:PROFILE, pcie:ADDRESS or vfio-user:SOCKET. The kernel's drivers: the
    /// path of a block device or file
    #[arg(long)]
    device: TargetName,
    /// Write the profile to this file, for --device emulated:./FILE.toml, and the rates to FILE.csv in the same
    /// folder. Existing files are kept unless --force is given
    #[arg(long, value_name = "FILE.toml")]
    write_profile: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
    /// Write the files even if other programs, throttling or the like spoiled most runs of a point
    #[arg(long)]
    allow_busy: bool,
    /// Also measure random writes, which destroys data on the device. Without it the profile has the write figures of
    /// --base
    #[arg(long)]
    allow_write: bool,
    /// Machine profile of this machine; its software time is subtracted: a name, or a path of joulio calibrate
    /// --write-profile. Default: the profile of this processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    /// Profile of a similar device, for everything that is not measured: a name or a path
    #[arg(long, default_value = "samsung-980-pro")]
    base: String,
    /// nvme, io_uring, libaio or psync. Default: nvme on a device that joulio drives, io_uring on one
    /// that the kernel drives
    #[arg(long = "ioengine", alias = "engine")]
    engine: Option<EngineName>,
    /// Block sizes in bytes, a list. The smallest is also run at higher depths, and the largest to measure the link.
    /// Default: 4k,16k,64k,128k, as far as the device transfers them in one command
    #[arg(long, alias = "blocksize", value_delimiter = ',', value_parser = parse_size)]
    bs: Vec<u64>,
    /// Seconds (or 500ms) of each run
    #[arg(long, default_value = "500ms", value_parser = duration)]
    runtime: Nanos,
    /// Runs of each size and depth, interleaved; the median counts: 1 to 100
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    loops: u32,
    #[command(flatten)]
    output: Output,
}

impl MeasureDeviceArgs {
    fn options(&self) -> ProfilingOptions {
        ProfilingOptions {
            measure: MeasureOptions {
                device: self.device.clone(),
                engine: self.engine,
                sizes: self.bs.clone(),
                runtime: self.runtime,
                loops: self.loops,
                allow_write: self.allow_write,
                strict: !self.allow_busy,
                cancel: cancel(),
            },
            machine: self.machine.clone(),
            base: self.base.clone(),
            out: self.write_profile.clone(),
            existing: Existing::forced(self.force),
        }
    }
}

/// Runs `joulio profiles measure`.
pub(super) fn run(args: &MeasureDeviceArgs) -> Outcome {
    let profiling = Profiling::new(args.options())?;
    let stop = stop_on_signals()?;
    let mut progress = Progress::default();
    let profiled = profiling.run(&stop, &mut |point| progress.begun(point));
    progress.end();
    let profiled = profiled?;
    if args.output.format() == Format::Json {
        return print_json(&profiled);
    }
    if let Some(why) = &profiled.not_polled {
        say(&format!("by interrupts, not by polling: {why}"));
    }
    print(&table(&profiled.rates))?;
    let mut spoiled = profiled
        .rates
        .iter()
        .filter_map(|rate| rate.spoiled.as_ref());
    match spoiled.next() {
        Some(spoiled) => print(&format!("!: spoiled: {}\n", spoiled.why)),
        None => Ok(()),
    }
}

/// Formats each rate with the range of its runs, beside the twin's.
fn table(rates: &[ProfiledRate]) -> String {
    let rows = rates.iter().map(|one| {
        let rate = &one.rate;
        let [least, most] = one.range;
        let rw = if rate.write { "randwrite" } else { "randread" };
        let mark = if one.spoiled.is_some() { " !" } else { "" };
        vec![
            rate.place.clone(),
            format!("{rw}{mark}"),
            rate.bytes.to_string(),
            rate.iodepth.to_string(),
            rate.numjobs.to_string(),
            format!("{:.0}", rate.measured),
            format!("{least:.0}"),
            format!("{most:.0}"),
            format!("{:.0}", rate.modelled),
            format!("{:+.1} %", 100.0 * rate.error()),
        ]
    });
    let header = [
        "row", "rw", "bs", "iodepth", "numjobs", "IOPS", "from", "to", "IOPS*", "error",
    ];
    format!("{}*: modelled\n", columns(header, rows, 2))
}

/// Progress of the current run on a terminal.
#[derive(Default)]
struct Progress(Option<indicatif::ProgressBar>);

impl Progress {
    fn begun(&mut self, point: RatePoint) {
        let bar = self
            .0
            .get_or_insert_with(indicatif::ProgressBar::new_spinner);
        bar.inc(1);
        let RatePoint {
            bytes,
            iodepth,
            numjobs,
            ..
        } = point;
        bar.set_message(format!("{bytes} B, iodepth {iodepth}, numjobs {numjobs}"));
    }

    fn end(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}
