//! `joulio profiles measure`: a device measured, and its profile.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::{Failure, say};
use crate::output::{Format, print, print_json};
use crate::signals::{cancel, stop_on_signals};
use crate::times::duration;
use joulio_lab::device_measure::{
    DeviceMeasureError, DeviceMeasurement, MeasureOptions, RatePoint,
};
use joulio_lab::output_file::{Existing, OutputFile};
use joulio_lab::{TargetName, machine_profile, printable, profile_text};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::device_fit::FittedRate;
use joulio_units::Nanos;
use joulio_workload::{EngineName, Method, Spoiled, parse_size};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Measures what a profile needs of a device and makes that profile: latency at depth 1 by block
/// size, the rate at saturation over rising depth, and the link with large blocks; by polling, where
/// the device has it. Only reads, unless by --allow-write. A flash drive answers reads of blocks that
/// were never written without its flash: fill it first. Writes the rates beside the profile, for
/// joulio profiles fit.
#[derive(clap::Args)]
pub struct MeasureDeviceArgs {
    /// Device: emulated:PROFILE, pcie:ADDRESS or vfio-user:SOCKET, which joulio drives, or the path of
    /// a block device or file, which the kernel drives
    #[arg(long)]
    device: TargetName,
    /// Write the profile to this file, for --device emulated:./FILE.toml, and the rates to FILE.csv
    /// beside it; they must not be there, or be some to overwrite by --force
    #[arg(short, long = "out", value_name = "FILE.toml")]
    out: PathBuf,
    /// Overwrite the files
    #[arg(long)]
    force: bool,
    /// Write the files though the machine spoiled most runs of a point: other programs, throttling
    #[arg(long)]
    allow_busy: bool,
    /// Data on the device may be lost: measure random writes too. Otherwise what is said of writes is
    /// --base's
    #[arg(long)]
    allow_write: bool,
    /// This machine, whose software is taken off: a name, or a path as of joulio calibrate -o.
    /// Default: the one that fits this processor, or a generic server
    #[arg(long)]
    machine: Option<String>,
    /// The device that is most like it, for what is not measured: a name or a path
    #[arg(long, default_value = "samsung-980-pro")]
    base: String,
    /// nvme, io_uring, libaio or psync. Default: nvme on a device that joulio drives, io_uring on one
    /// that the kernel drives
    #[arg(long = "ioengine", alias = "engine")]
    engine: Option<EngineName>,
    /// Bytes of an I/O: a list. The smallest is also run at depth, the largest for the link. Default:
    /// 4k,16k,64k,128k, as far as the device transfers them at once
    #[arg(long, alias = "blocksize", value_delimiter = ',', value_parser = parse_size)]
    bs: Vec<u64>,
    /// Seconds (or 500ms) of each run
    #[arg(long, default_value = "500ms", value_parser = duration)]
    runtime: Nanos,
    /// Runs of each size and depth, in turn, of which the median counts: 1 to 100
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    loops: u32,
    /// normal or json
    #[arg(long, alias = "output-format", value_enum, default_value = "normal")]
    output: Format,
}

#[derive(Serialize)]
struct Measured<'a> {
    machine: &'a str,
    engine: EngineName,
    completion: String,
    /// Why not by polling, if not.
    not_polled: Option<&'a str>,
    profile: &'a DeviceProfile,
    rates: Vec<MeasuredRow<'a>>,
}

#[derive(Serialize)]
struct MeasuredRow<'a> {
    #[serde(flatten)]
    rate: &'a FittedRate,
    /// Runs.
    runs: usize,
    /// The least and the most I/Os a second of a run that counts.
    range: [f64; 2],
    /// Why the rate is not the device's own, if it is not.
    spoiled: Option<&'a Spoiled>,
}

/// `joulio profiles measure`.
pub(super) fn run(args: &MeasureDeviceArgs) -> Outcome {
    let (toml, csv) = files(args)?;
    let machine = machine_profile(args.machine.as_deref()).map_err(Failure::input)?;
    let base = DeviceProfile::load(&args.base).map_err(Failure::input)?;
    let stop = stop_on_signals()?;
    let options = MeasureOptions {
        device: args.device.clone(),
        engine: args.engine,
        sizes: args.bs.clone(),
        runtime: args.runtime,
        loops: args.loops,
        allow_write: args.allow_write,
        strict: !args.allow_busy,
        cancel: cancel(),
    };
    let mut progress = Progress::default();
    let begun = &mut |point| progress.begun(point);
    let measured = DeviceMeasurement::measure(&options, &machine, &base, &stop, begun);
    progress.end();
    let measured = measured.map_err(|error| match error {
        DeviceMeasureError::Spoiled(spoiled) => not_written(&args.out, &spoiled),
        error => error.into(),
    })?;
    let again = again(args, &machine, measured.method);
    let rates = measured.csv(&[again]);
    // As its file is called, for that is how it is requested.
    let name = args.out.file_stem().unwrap_or_default();
    let named = csv_path(&args.out);
    let named = printable(&named.file_name().unwrap_or_default().to_string_lossy());
    let fitted = measured.profile(
        &name.to_string_lossy(),
        (&rates, &named),
        &machine,
        &base,
        &stop,
    );
    let (profile, beside) = match fitted {
        Ok(fitted) => fitted,
        Err(error @ DeviceMeasureError::Interrupted) => return Err(error.into()),
        Err(error) => {
            // They took a while, and may be fitted on another machine's profile.
            csv.write(&rates).map_err(Failure::run)?;
            let file = csv_path(&args.out);
            return Err(Failure::run(format!(
                "{error}; no profile is written, the rates are in {}",
                file.display()
            )));
        }
    };
    let comment = format!(
        "By joulio profiles measure: what is called a guess is of {}, not of this device.",
        base.name
    );
    let text = profile_text(&profile, &comment).map_err(Failure::run)?;
    if stop.stopped() {
        return Err(DeviceMeasureError::Interrupted.into());
    }
    csv.write(&rates).map_err(Failure::run)?;
    toml.write(&text).map_err(Failure::run)?;
    report(args.output, &machine, &measured, &profile, &beside)
}

/// The files of the profile and of the rates.
fn files(args: &MeasureDeviceArgs) -> Result<(OutputFile, OutputFile), Failure> {
    // Whatever takes a profile takes a file by this ending.
    if args.out.extension().is_none_or(|ending| ending != "toml") {
        return Err(Failure::input(format!(
            "-o {}: must end in .toml, by which a profile in a file is known",
            args.out.display()
        )));
    }
    let open = |path: &Path| {
        let file = OutputFile::open(path, Existing::forced(args.force));
        file.map_err(|error| Failure::input(format!("-o: {error}")))
    };
    Ok((open(&args.out)?, open(&csv_path(&args.out))?))
}

/// The file of the rates beside the profile's.
fn csv_path(out: &Path) -> PathBuf {
    out.with_extension("csv")
}

/// The command that makes the same profile of the rates.
fn again(args: &MeasureDeviceArgs, machine: &MachineProfile, method: Method) -> String {
    format!(
        "Fitted by: joulio profiles fit {} --machine {} --base {} --ioengine {} --completion {} -o {}",
        csv_path(&args.out).display(),
        args.machine.as_ref().unwrap_or(&machine.name),
        args.base,
        method.engine,
        method.mode,
        args.out.display()
    )
}

/// The files are not written.
fn not_written(file: &Path, spoiled: &Spoiled) -> Failure {
    Failure::not_written(file, "the rates are not the device's", spoiled, "measure")
}

fn report(
    output: Format,
    machine: &MachineProfile,
    measured: &DeviceMeasurement,
    profile: &DeviceProfile,
    beside: &[FittedRate],
) -> Outcome {
    let rows = beside.iter().zip(&measured.points);
    match output {
        Format::Json => print_json(&Measured {
            machine: &machine.name,
            engine: measured.method.engine,
            completion: measured.method.mode.to_string(),
            not_polled: measured.not_polled.as_deref(),
            profile,
            rates: rows
                .map(|(rate, runs)| MeasuredRow {
                    rate,
                    runs: runs.runs.len(),
                    range: runs.range(),
                    spoiled: runs.spoiled(),
                })
                .collect(),
        }),
        Format::Normal => {
            if let Some(why) = &measured.not_polled {
                say(&format!("by interrupts, not by polling: {why}"));
            }
            print(&table(measured, beside))?;
            let spoiled = measured.points.iter().filter_map(|runs| runs.spoiled());
            match spoiled.into_iter().next() {
                Some(spoiled) => print(&format!("!: spoiled: {}\n", spoiled.why)),
                None => Ok(()),
            }
        }
    }
}

/// Each rate with the range of its runs, beside the twin's.
fn table(measured: &DeviceMeasurement, beside: &[FittedRate]) -> String {
    let rows = beside.iter().zip(&measured.points).map(|(rate, runs)| {
        let [least, most] = runs.range();
        let rw = if rate.write { "randwrite" } else { "randread" };
        let mark = if runs.spoiled().is_some() { " !" } else { "" };
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
    let header = header.map(str::to_owned).to_vec();
    format!("{}*: modelled\n", columns(header, rows, 2))
}

/// The run that goes on, on a terminal.
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
